import { invalid } from '../core/errors.ts'
import { filterKeyOf, searchWordsOf } from './index-keys.ts'
import { type Field, isFilterable, isSortable, leafOf, type Schema } from './schema.ts'

const maxFilterFields = 12
const maxFilterValues = 50
const maxSortFields = 5
export const maxLimit = 100

/** The item's own fields, by which every listing can be sorted. */
const itemSortFields = ['publishDate', 'createdAt', 'updatedAt', '_id'] as const

export interface SortTerm {
  /** A field of the item itself, or of its `objectValue`. */
  readonly by: { readonly item: (typeof itemSortFields)[number] } | { readonly field: string }
  readonly descending: boolean
}

/** One field and its keys, any of which may match. */
export interface Filter {
  readonly field: string
  readonly keys: readonly string[]
}

/** A listing's parameters, checked against the schema: no caller's field name passes beyond this point. */
export interface ListQuery {
  readonly ids: readonly string[] | undefined
  readonly filters: readonly Filter[]
  readonly words: readonly string[]
  readonly sort: readonly SortTerm[]
  readonly limit: number
  readonly skip: number
}

/** The parameters shared by all listings, already checked for their types. */
export interface ListParameters {
  filters?: Readonly<Record<string, readonly string[]>> | undefined
  search?: string | undefined
  sort?: string | undefined
  limit?: number | undefined
  skip?: number | undefined
}

const valuePrefix = 'objectValue.'

/** Field names may be given with or without the prefix `objectValue.`. */
export const withoutPrefix = (name: string): string =>
  name.startsWith(valuePrefix) ? name.slice(valuePrefix.length) : name

const namesWhere = (schema: Schema, test: (field: Field) => boolean): string[] =>
  [...schema].filter(([, field]) => test(field)).map(([name]) => name)

function unusable(parameter: string, name: string, usable: readonly string[]): Error {
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return invalid(`${parameter} names "${shown}", which cannot be used here. Usable fields: ${usable.join(', ')}.`)
}

/** For error messages: the form of types that not every text can be parsed as. */
const valueForms: Partial<Record<string, string>> = {
  integer: 'a number',
  decimal: 'a number',
  boolean: 'true or false',
  date: 'a date such as 2026-03-01',
  dateTime: 'a moment such as 2026-03-01T09:30:00Z',
  time: 'a time such as 09:30',
}

/** One field's filter; also used for `groupBy[key]` and `groupBy[value]`. */
export function parseFilter(
  schema: Schema,
  parameter: string,
  name: string,
  values: readonly string[],
  alsoUsable: string[] = [],
): Filter {
  const field = schema.get(name)
  if (!field || !isFilterable(field))
    throw unusable(parameter, name, [...alsoUsable, ...namesWhere(schema, isFilterable)])
  const keys = values.map((value) => {
    const key = filterKeyOf(field, value)
    if (key === undefined) throw invalid(`${parameter} must be ${valueForms[leafOf(field).type] ?? 'a usable value'}.`)
    return key
  })
  return { field: name, keys: [...new Set(keys)] }
}

/** Field → values, with the two spellings of a field merged. */
function collectFilters(filters: ListParameters['filters'] = {}): Map<string, string[]> {
  const collected = new Map<string, string[]>()
  for (const [name, values] of Object.entries(filters)) {
    const field = withoutPrefix(name)
    collected.set(field, [...(collected.get(field) ?? []), ...values])
  }
  if (collected.size > maxFilterFields) throw invalid(`At most ${maxFilterFields} fields can be filtered at once.`)
  if ([...collected.values()].flat().length > maxFilterValues) {
    throw invalid(`At most ${maxFilterValues} filter values can be given at once.`)
  }
  return collected
}

function parseSortTerm(schema: Schema, text: string): SortTerm {
  const match = /^([^:]+):(asc|desc)$/.exec(text)
  if (!match?.[1]) {
    throw invalid('sort is written <field>:asc or <field>:desc, several separated by commas without spaces.')
  }
  const [, name, direction] = match
  const descending = direction === 'desc'
  const item = itemSortFields.find((field) => field === name)
  if (item) return { by: { item }, descending }
  const fieldName = withoutPrefix(name)
  const field = schema.get(fieldName)
  if (!field || !isSortable(field)) throw unusable('sort', name, [...itemSortFields, ...namesWhere(schema, isSortable)])
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

export function parseListQuery(schema: Schema, parameters: ListParameters): ListQuery {
  const { search = '', sort, limit = maxLimit, skip = 0 } = parameters
  const filters = collectFilters(parameters.filters)
  const ids = filters.get('_id')
  filters.delete('_id')
  return {
    ids,
    filters: [...filters].map(([name, values]) => parseFilter(schema, `filters[${name}]`, name, values, ['_id'])),
    words: searchWordsOf(search),
    sort: parseSort(schema, sort),
    limit,
    skip,
  }
}
