import { type Document, parseDocument, visit } from 'yaml'
import { isRecord } from '../../content/schema.ts'
import { invalid } from '../../core/errors.ts'

/** Much more than an author writes, and little enough to bound what a parser can be made to do. */
const maxLength = 64 * 1024
/** How often an anchor may be used, all that it holds multiplied in. */
const maxAliasCount = 100

interface Page {
  fields: Record<string, unknown>
  body: string
}

/**
 * A number that would print in another way stays text, with its digits: a version 1.10, a code 007, a commit 1e10, an
 * id beyond 2^53. Code that knows the type of the field decides what they mean.
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
  // The empty line stands for the opening one, so that errors name the lines of the file.
  const document = parseDocument(`\n${yaml}`, { schema: 'core', resolveKnownTags: false, stringKeys: true })
  // A tag that is not of the core schema is only a warning to the parser, which would drop it.
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
    JSON.stringify(fields) // throws where an anchor holds itself
    return fields
  } catch (error) {
    throw invalid(`the front matter is not valid: ${error instanceof Error ? error.message : error}`)
  }
}

/** Parts a page into its front matter and its body. Throws a `ValidationError` that says what is wrong with it. */
export function parsePage(text: string): Page {
  if (/^\+\+\+[ \t]*(\n|$)/.test(text)) {
    throw invalid('the front matter is TOML (+++), which is not read; write it as YAML between --- lines')
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
