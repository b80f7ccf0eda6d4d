import type { IntegrationGroup } from '../../client/src/wire.ts'
import { invalid } from '../core/errors.ts'
import { type Filter, parseFilter, withoutPrefix } from './filters.ts'
import { rowsOfField, sortKeyOfText, textOfFilterKey } from './index-keys.ts'
import type { Schema } from './schema.ts'

export const maxGroups = 1000
/** An item appears in full in the group of each of its values, which would let a page grow without bound. */
const maxEntries = 1000

/** `groupBy[key]` with `groupBy[value]` is one more filter; `groupBy[key]` alone requests groups. */
export interface GroupBy {
  filter: Filter | undefined
  field: string | undefined
}

export interface GroupByParameters {
  key?: string
  value?: string
}

export function parseGroupBy(schema: Schema, { key, value }: GroupByParameters = {}): GroupBy {
  if (key === undefined && value === undefined) return { filter: undefined, field: undefined }
  if (key === undefined) throw invalid('groupBy[value] needs groupBy[key], the name of the field.')
  const { field } = parseFilter(schema, 'groupBy[key]', withoutPrefix(key), [])
  if (value === undefined) return { filter: undefined, field }
  return { filter: parseFilter(schema, 'groupBy[value]', field, [value]), field: undefined }
}

/** Groups a page's items. An item with several values is in several groups; one without a value is in the last. */
export function groupItems<Item>(
  schema: Schema,
  fieldName: string,
  counts: ReadonlyMap<string, number>,
  page: readonly { item: Item; value: Readonly<Record<string, unknown>> }[],
): (Omit<IntegrationGroup, 'items'> & { items: Item[] })[] {
  const field = schema.get(fieldName)
  if (!field) throw new Error(`There is no field "${fieldName}" to group by.`)
  if (counts.size > maxGroups) {
    throw invalid(`groupBy[key] has more than ${maxGroups} different values in this field. Choose a coarser one.`)
  }
  const keyed = page.map(({ item, value }) => ({
    item,
    keys: rowsOfField(fieldName, field, value[fieldName]).map((row) => row.filterKey),
  }))
  if (keyed.flatMap(({ keys }) => keys).length > maxEntries)
    throw invalid(`groupBy[key] gives more than ${maxEntries} entries for this page. Request fewer items with limit.`)
  const groups = [...counts].map(([key, count]) => {
    const value = textOfFilterKey(key)
    if (value === undefined) throw invalid('groupBy[key] names a field whose values are too long to group by.')
    return { value, count, items: keyed.filter(({ keys }) => keys.includes(key)).map(({ item }) => item) }
  })
  return groups.sort((a, b) => compareValues(a.value, b.value))
}

function compareValues(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [keyA, keyB] = [sortKeyOfText(a), sortKeyOfText(b)]
  return keyA === keyB ? Number(a > b) - Number(a < b) : Number(keyA > keyB) - Number(keyA < keyB)
}
