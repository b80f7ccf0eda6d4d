import { type Document, parseDocument, visit } from 'yaml'
import { isRecord } from '../../content/schema.ts'
import { invalid } from '../../core/errors.ts'

/** Far more than an author writes; bounds the work of the parser. */
const maxLength = 64 * 1024
/** How often an anchor may be used, nested uses multiplied. */
const maxAliasCount = 100

interface Page {
  fields: Record<string, unknown>
  body: string
}

/**
 * A number that would print differently stays text: a version 1.10, a code 007, a commit 1e10, an id beyond 2^53. Code with
 * the field's type decides what it means.
 */
function keepDigits(document: Document): void {
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'number' && String(node.value) !== node.source) node.value = node.source
    },
  })
}

function parseFields(yaml: string): Record<string, unknown> {
  if (yaml.length > maxLength) throw invalid(`the front matter is longer than ${maxLength} characters`)
  // The empty line replaces the opening one, so that errors name the lines of the file.
  const document = parseDocument(`\n${yaml}`, { schema: 'core', resolveKnownTags: false, stringKeys: true })
  // For the parser, a tag outside of the core schema is only a warning, and dropped.
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined)
    throw invalid(`the front matter is not valid: ${error.message.split('\n')[0]?.replace(/:$/, '')}`)
  keepDigits(document)
  const fields: unknown = readAliases(document)
  if (fields === null) return {}
  if (!isRecord(fields)) throw invalid('the front matter must be lines of "name: value"')
  return fields
}

function readAliases(document: Document): unknown {
  try {
    const fields: unknown = document.toJS({ maxAliasCount })
    JSON.stringify(fields) // throws if an anchor contains itself
    return fields
  } catch (error) {
    throw invalid(`the front matter is not valid: ${error instanceof Error ? error.message : error}`)
  }
}

/** Splits a page into front matter and body. */
export function parsePage(text: string): Page {
  if (/^\+\+\+[ \t]*(\n|$)/.test(text)) {
    throw invalid('the front matter is TOML (+++), which is not supported; write it as YAML between --- lines')
  }
  const opening = /^---[ \t]*(\n|$)/.exec(text)?.[0]
  if (opening === undefined) return { fields: {}, body: text }
  const rest = text.slice(opening.length)
  const closing = /^---[ \t]*$/m.exec(rest)
  if (closing === null) throw invalid('the first line opens front matter with ---, and no other --- line closes it')
  return {
    fields: parseFields(rest.slice(0, closing.index)),
    body: rest.slice(closing.index + closing[0].length),
  }
}
