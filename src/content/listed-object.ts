import type { Position } from './cursor.ts'
import { compareSortKeys, type FieldRef, type Range, type SortKey } from './filters.ts'
import { type IndexRow, missingKey } from './index-keys.ts'
import type { ListQuery, SortTerm } from './list-query.ts'
import { unsetPublishMs } from './model.ts'

/** What a listing knows of an object when it sorts. */
export interface SortableObject {
  id: string
  publishMs: number
  createdMs: number
  updatedMs: number
  /** By field. */
  sortKeys: ReadonlyMap<string, string>
}

/** What a listing knows of an object: the same as its index, for objects that are not in the database. */
export interface ListedObject extends SortableObject {
  rows: readonly IndexRow[]
  searchText: string
}

const itemKeys = { publishDate: 'publishMs', createdAt: 'createdMs', updatedAt: 'updatedMs', _id: 'id' } as const

const sortKeyIn = (object: SortableObject, by: FieldRef): SortKey =>
  'item' in by ? object[itemKeys[by.item]] : (object.sortKeys.get(by.field) ?? missingKey)

function isWithin(key: SortKey, { from, to }: Range): boolean {
  const fromOrder = from ? compareSortKeys(key, from.key) : 1
  const toOrder = to ? compareSortKeys(key, to.key) : -1
  return (from?.isExclusive ? fromOrder > 0 : fromOrder >= 0) && (to?.isExclusive ? toOrder < 0 : toOrder <= 0)
}

/** The object's position in a list, for a cursor. */
export const positionIn = ({ sort }: ListQuery, object: SortableObject): Position => ({
  keys: sort.map(({ by }) => sortKeyIn(object, by)),
  id: object.id,
})

/** An object that has this position. */
export function objectAt({ sort }: ListQuery, { keys, id }: Position): SortableObject {
  const object = { id, publishMs: 0, createdMs: 0, updatedMs: 0, sortKeys: new Map<string, string>() }
  for (const [at, { by }] of sort.entries()) {
    const key = keys[at] ?? missingKey
    if ('field' in by) object.sortKeys.set(by.field, String(key))
    else if (by.item !== '_id') object[itemKeys[by.item]] = Number(key)
  }
  return object
}

/** Whether an object matches a query, as `list-conditions.ts` tests it in the database. */
export function matchesQuery({ ids, filters, ranges, exclusions, words }: ListQuery, object: ListedObject): boolean {
  const hasKey = (field: string, keys: readonly string[]): boolean =>
    object.rows.some((row) => row.field === field && keys.includes(row.filterKey))
  return (
    (ids === undefined || ids.includes(object.id)) &&
    filters.every(({ field, keys }) => hasKey(field, keys)) &&
    ranges.every((range) => isWithin(sortKeyIn(object, range.by), range)) &&
    exclusions.every(({ by, keys }) =>
      'field' in by ? !hasKey(by.field, keys.map(String)) : !keys.includes(sortKeyIn(object, by)),
    ) &&
    words.every((word) => object.searchText.includes(word))
  )
}

const isMissing = (key: SortKey): boolean => key === missingKey || key === unsetPublishMs

function compareBy({ by, descending }: SortTerm, one: SortableObject, other: SortableObject): number {
  const [first, second] = [sortKeyIn(one, by), sortKeyIn(other, by)]
  if (isMissing(first) || isMissing(second)) return Number(isMissing(first)) - Number(isMissing(second))
  return compareSortKeys(first, second) * (descending ? -1 : 1)
}

/** The order of a listing, as `list-plans.ts` has it in the database: missing values last, and the id as a tie-break. */
export function compareInOrder(sort: readonly SortTerm[], one: SortableObject, other: SortableObject): number {
  for (const term of sort) {
    const order = compareBy(term, one, other)
    if (order !== 0) return order
  }
  const byId = one.id < other.id ? -1 : one.id > other.id ? 1 : 0
  return sort.at(-1)?.descending ? -byId : byId
}
