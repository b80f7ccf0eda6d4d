import { invalid } from '../core/errors.ts'
import { referenceFieldsOf } from './references.ts'
import type { ReferenceField, Schema } from './schema.ts'

const maxDepth = 3
const maxPaths = 20
const maxShownCharacters = 64
const maxShownNames = 50

/** The reference fields to expand, each with those of its targets. */
export interface ExpandTree extends ReadonlyMap<string, ExpandTree> {}

/** Finds the schemas of a field's possible targets. */
export type FindSchemas = (fields: readonly ReferenceField[]) => Promise<Schema[]>

function cannotExpand(path: string, prefix: string, usable: Iterable<string>): Error {
  const shown = path.length > maxShownCharacters ? `${path.slice(0, maxShownCharacters)}…` : path
  const names = [...usable].map((name) => prefix + name)
  const more = names.length > maxShownNames ? ' and others' : ''
  const known = names.length > 0 ? `Usable: ${names.slice(0, maxShownNames).join(', ')}${more}.` : 'There are none.'
  return invalid(`expand names "${shown}", which is not a reference that can be expanded. ${known}`)
}

async function treeOf(
  schemas: readonly Schema[],
  paths: readonly (readonly string[])[],
  findSchemas: FindSchemas,
  before: readonly string[] = [],
): Promise<ExpandTree> {
  const fields = referenceFieldsOf(schemas)
  const prefix = before.map((name) => `${name}.`).join('')
  const inner = new Map<string, (readonly string[])[]>()
  for (const path of paths) {
    const end = path.findLastIndex((_, position) => fields.has(path.slice(0, position + 1).join('.'))) + 1
    if (end === 0) throw cannotExpand(prefix + path.join('.'), prefix, fields.keys())
    const name = path.slice(0, end).join('.')
    const rest = path.slice(end)
    inner.set(name, [...(inner.get(name) ?? []), ...(rest.length > 0 ? [rest] : [])])
  }
  const tree = new Map<string, ExpandTree>()
  for (const [name, rests] of inner) {
    if (rests.length > 0 && before.length + 1 === maxDepth)
      throw invalid(`expand follows at most ${maxDepth} references in a row.`)
    const isLeaf = rests.length === 0
    const targets = isLeaf ? [] : await findSchemas(fields.get(name) ?? [])
    tree.set(name, isLeaf ? new Map() : await treeOf(targets, rests, findSchemas, [...before, name]))
  }
  return tree
}

/** Reads `expand=author,related.author` by the schemas of the listed objects and of their targets. */
export function parseExpand(schema: Schema, text: string, findSchemas: FindSchemas): Promise<ExpandTree> {
  const paths = [...new Set(text.split(','))]
  if (paths.length > maxPaths) throw invalid(`expand takes at most ${maxPaths} paths.`)
  return treeOf(
    [schema],
    paths.map((path) => path.split('.')),
    findSchemas,
  )
}
