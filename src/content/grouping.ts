import type { IntegrationGroup, IntegrationObject } from '../../client/src/wire.ts'
import { invalid } from '../errors.ts'
import { rowsOfField, sortKeyOfText, textOfFilterKey } from './index-keys.ts'
import { type Filter, parseFilter, type RawQuery } from './list-query.ts'
import type { Schema } from './schema.ts'

export const maxGroups = 1000

/** `groupBy[key]` with `groupBy[value]` is one more filter; `groupBy[key]` alone asks for groups. */
export interface GroupBy {
  filter: Filter | undefined
  field: string | undefined
}

const shape = /^groupBy\[(key|value)\]$/

export function parseGroupBy(schema: Schema, raw: RawQuery): GroupBy {
  for (const [name, value] of Object.entries(raw)) {
    if (name !== 'groupBy' && !name.startsWith('groupBy[')) continue
    if (!shape.test(name))
      throw invalid('Grouping is written groupBy[key]=<field>, optionally with groupBy[value]=<value>.')
    if (typeof value !== 'string') throw invalid(`${name} must be given once.`)
  }
  const { 'groupBy[key]': key, 'groupBy[value]': value } = raw as Record<string, string | undefined>
  if (key === undefined && value === undefined) return { filter: undefined, field: undefined }
  if (key === undefined) throw invalid('groupBy[value] needs groupBy[key], the name of the field.')
  const name = key.replace(/^objectValue\./, '')
  const { field } = parseFilter(schema, 'groupBy[key]', name, [])
  if (value === undefined) return { filter: undefined, field }
  return { filter: parseFilter(schema, 'groupBy[value]', name, [value]), field: undefined }
}

/** Puts a page's items into their groups. An item with several values stands in several; one without, in the last. */
export function groupItems(
  schema: Schema,
  fieldName: string,
  counts: ReadonlyMap<string, number>,
  page: readonly { item: IntegrationObject; value: Record<string, unknown> }[],
): IntegrationGroup[] {
  const field = schema.get(fieldName)
  if (!field || counts.size > maxGroups) {
    throw invalid(`groupBy[key] has more than ${maxGroups} different values in this field. Choose a coarser one.`)
  }
  const keyed = page.map(({ item, value }) => ({
    item,
    keys: rowsOfField(fieldName, field, value[fieldName]).map((row) => row.filterKey),
  }))
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
