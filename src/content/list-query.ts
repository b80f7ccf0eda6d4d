import { invalid } from '../errors.ts'
import { filterKeyOf } from './index-keys.ts'
import { isFilterable, isSortable, leafOf, type Schema } from './schema.ts'
import { searchWordsOf } from './search-text.ts'

const maxFilterFields = 12
const maxFilterValues = 50
const maxSortFields = 5
export const maxLimit = 100

/** The item's own fields, which every listing can sort by. */
export const itemSortFields = ['publishDate', 'createdAt', 'updatedAt', '_id'] as const
export type ItemSortField = (typeof itemSortFields)[number]

export interface SortTerm {
  /** A field of the item itself, or of its `objectValue`. */
  by: { item: ItemSortField } | { field: string }
  descending: boolean
}

/** One field and the keys of which any may match. */
export interface Filter {
  field: string
  keys: string[]
}

/** What a listing is asked for, checked against the schema: nothing after this point meets a caller's field name. */
export interface ListQuery {
  ids: string[] | undefined
  filters: Filter[]
  words: string[]
  sort: SortTerm[]
  limit: number
  skip: number
}

/** The query string as parsed: flat keys, and a list where a key was repeated. */
export type RawQuery = Readonly<Record<string, unknown>>

const filterKeyPattern = /^filters\[([^[\]]+)\]$/
const valuePrefix = 'objectValue.'

const withoutPrefix = (name: string): string => (name.startsWith(valuePrefix) ? name.slice(valuePrefix.length) : name)

function namesWhere(schema: Schema, test: (field: NonNullable<ReturnType<Schema['get']>>) => boolean): string[] {
  return [...schema].filter(([, field]) => test(field)).map(([name]) => name)
}

function unusable(parameter: string, usable: readonly string[]): Error {
  return invalid(`${parameter} names a field that cannot be used here. Usable fields: ${usable.join(', ')}.`)
}

/** `filters[<field>]` parameters as field → values, still as text. */
function rawFiltersOf(raw: RawQuery): Map<string, string[]> {
  const filters = new Map<string, string[]>()
  for (const [key, value] of Object.entries(raw)) {
    if (key !== 'filters' && !key.startsWith('filters[')) continue
    const name = filterKeyPattern.exec(key)?.[1]
    if (name === undefined)
      throw invalid('Filters are written filters[<field>]=<value>, one field in one pair of brackets.')
    const field = withoutPrefix(name)
    filters.set(field, [...(filters.get(field) ?? []), ...(Array.isArray(value) ? value : [value]).map(String)])
  }
  if (filters.size > maxFilterFields) throw invalid(`At most ${maxFilterFields} fields can be filtered at once.`)
  if ([...filters.values()].flat().length > maxFilterValues) {
    throw invalid(`At most ${maxFilterValues} filter values can be given at once.`)
  }
  return filters
}

/** How a value of a type that not every text can be is written. */
const valueForms: Partial<Record<string, string>> = {
  integer: 'a number',
  decimal: 'a number',
  boolean: 'true or false',
  date: 'a date such as 2026-03-01',
  dateTime: 'a moment such as 2026-03-01T09:30:00Z',
  time: 'a time such as 09:30',
}

/** One field's filter. Also what `groupBy[key]` and `groupBy[value]` come down to. */
export function parseFilter(
  schema: Schema,
  parameter: string,
  name: string,
  values: string[],
  alsoUsable: string[] = [],
): Filter {
  const field = schema.get(name)
  if (!field || !isFilterable(field)) throw unusable(parameter, [...alsoUsable, ...namesWhere(schema, isFilterable)])
  const keys = values.map((value) => {
    const key = filterKeyOf(field, value)
    if (key === undefined) throw invalid(`${parameter} must be ${valueForms[leafOf(field).type] ?? 'a usable value'}.`)
    return key
  })
  return { field: name, keys: [...new Set(keys)] }
}

function parseSortTerm(schema: Schema, text: string): SortTerm {
  const match = /^([^:]+):(asc|desc)$/.exec(text)
  if (!match?.[1])
    throw invalid('sort is written <field>:asc or <field>:desc, several separated by commas without spaces.')
  const [, name, direction] = match
  const descending = direction === 'desc'
  const item = itemSortFields.find((field) => field === name)
  if (item) return { by: { item }, descending }
  const fieldName = withoutPrefix(name)
  const field = schema.get(fieldName)
  if (!field || !isSortable(field)) throw unusable('sort', [...itemSortFields, ...namesWhere(schema, isSortable)])
  return { by: { field: fieldName }, descending }
}

const sortName = ({ by }: SortTerm): string => ('item' in by ? by.item : valuePrefix + by.field)

function parseSort(schema: Schema, sort: string | undefined): SortTerm[] {
  if (sort === undefined) {
    const order = schema.get('order')
    return order && isSortable(order) ? [{ by: { field: 'order' }, descending: false }] : []
  }
  const parts = sort.split(',')
  if (parts.length > maxSortFields) throw invalid(`sort takes at most ${maxSortFields} fields.`)
  const terms = parts.map((part) => parseSortTerm(schema, part))
  if (new Set(terms.map(sortName)).size < terms.length) throw invalid('sort names a field twice.')
  return terms
}

/** The parameters that all listings share; `limit`, `skip`, `sort` and `search` are checked for their form already. */
export function parseListQuery(
  schema: Schema,
  raw: RawQuery,
  { limit = maxLimit, skip = 0, sort, search }: { limit?: number; skip?: number; sort?: string; search?: string },
): ListQuery {
  const filters = rawFiltersOf(raw)
  const ids = filters.get('_id')
  filters.delete('_id')
  return {
    ids,
    filters: [...filters].map(([name, values]) => parseFilter(schema, `filters[${name}]`, name, values, ['_id'])),
    words: search === undefined ? [] : searchWordsOf(search),
    sort: parseSort(schema, sort),
    limit,
    skip,
  }
}
