import { hash } from 'node:crypto'
import { invalid } from '../core/errors.ts'
import { compareSortKeys, type FieldRef, isSameField, type SortKey } from './filters.ts'
import type { ListQuery, SortTerm } from './list-query.ts'
import { isStorableText } from './texts.ts'

/**
 * A cursor names a position in a list by the sort keys of an item and its id, so that the next page begins behind it, however deep
 * and whatever has been written meanwhile. To callers it is opaque.
 */
export interface Position {
  /** One for each sort term. */
  readonly keys: readonly SortKey[]
  readonly id: string
}

/** Another version's cursors are refused; they are needed for as long as somebody pages. */
const version = 1

const fingerprintLength = 16

const inOneOrder = <Value>(values: readonly Value[]): string[] => values.map((value) => JSON.stringify(value)).sort()

/** The same for all spellings of the query, and different if the list or its order is. `scope` is what else selects it. */
function fingerprintOf(scope: readonly unknown[], query: ListQuery): string {
  const { ids, filters, ranges, exclusions, words, sort } = query
  const all = [
    scope,
    ids && inOneOrder(ids),
    inOneOrder(filters.map(({ field, keys }) => [field, inOneOrder(keys)])),
    inOneOrder(ranges),
    inOneOrder(exclusions),
    inOneOrder(words),
    sort,
  ]
  return hash('sha256', JSON.stringify(all), 'base64url').slice(0, fingerprintLength)
}

export function writeCursor(scope: readonly unknown[], query: ListQuery, { keys, id }: Position): string {
  return Buffer.from(JSON.stringify([version, fingerprintOf(scope, query), ...keys, id])).toString('base64url')
}

function parseArray(text: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && isStorableText(value)

const isKeyOf = ({ by }: SortTerm, key: unknown): key is SortKey =>
  'item' in by && by.item !== '_id' ? Number.isSafeInteger(key) : isText(key)

/** A walk begins at the cursor, which must be inside of its range. */
function isInRange({ ranges, sort: [first] }: ListQuery, { keys, id }: Position): boolean {
  const by: FieldRef = first?.by ?? { item: '_id' }
  const range = ranges.find((each) => isSameField(each.by, by))
  const { from, to } = range ?? {}
  const key = keys[0] ?? id
  return (!from || compareSortKeys(key, from.key) >= 0) && (!to || compareSortKeys(key, to.key) <= 0)
}

/** The position that the query's cursor names; undefined for the first page. */
export function readCursor(scope: readonly unknown[], query: ListQuery): Position | undefined {
  const { after = '', sort } = query
  if (after === '') return undefined
  const [itsVersion, fingerprint, ...rest] = parseArray(after)
  const [keys, id] = [rest.slice(0, -1), rest.at(-1)]
  const isOfThisList = itsVersion === version && fingerprint === fingerprintOf(scope, query)
  const areKeys = (values: unknown[]): values is SortKey[] =>
    values.length === sort.length && sort.every((term, at) => isKeyOf(term, values[at]))
  if (isOfThisList && areKeys(keys) && isText(id) && isInRange(query, { keys, id })) return { keys, id }
  throw invalid(
    'after is not a cursor of this list. Send nextCursor of the page before, with the same filters, search and sort; or nothing, for the first page.',
  )
}
