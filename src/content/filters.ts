import { invalid } from '../core/errors.ts'
import { filterKeyOf, missingKey, rangeKeyOf } from './index-keys.ts'
import { unsetPublishMs } from './model.ts'
import { momentOrDateMs } from './moments.ts'
import { type Field, isFilterable, isSortable, leafOf, type Schema } from './schema.ts'

const maxFilterFields = 12
const maxFilterValues = 50

/** The item's own fields, by which every listing can be sorted and filtered with an operator. */
export const itemFields = ['publishDate', 'createdAt', 'updatedAt', '_id'] as const
export type ItemField = (typeof itemFields)[number]

/** A field of the item itself, or of its `objectValue`. */
export type FieldRef = { readonly item: ItemField } | { readonly field: string }

/** The sort key of a value; of the item's own dates, their milliseconds. */
export type SortKey = string | number

/** One field and its keys, any of which may match. */
export interface Filter {
  readonly field: string
  readonly keys: readonly string[]
}

/** One end of a range. */
export interface Bound {
  readonly key: SortKey
  readonly isExclusive: boolean
}

/** A section of a field's order. Where values may be missing it has a beginning, so that it is without them. */
export interface Range {
  readonly by: FieldRef
  readonly from?: Bound
  readonly to?: Bound
}

/** None of these keys: filter keys of a field, sort keys of the item's own. */
export interface Exclusion {
  readonly by: FieldRef
  readonly keys: readonly SortKey[]
}

/** All of them are required. */
export interface Conditions {
  readonly ids: readonly string[] | undefined
  readonly filters: readonly Filter[]
  /** One for each field at most. */
  readonly ranges: readonly Range[]
  readonly exclusions: readonly Exclusion[]
}

export const noConditions: Conditions = { ids: undefined, filters: [], ranges: [], exclusions: [] }

/** Field → values, or `field[operator]` → values. */
export type FilterParameters = Readonly<Record<string, readonly string[]>>

const operators = ['gte', 'gt', 'lte', 'lt', 'ne', 'exists'] as const
type Operator = (typeof operators)[number]

const valuePrefix = 'objectValue.'

/** Field names may be given with or without the prefix `objectValue.`. */
export const withoutPrefix = (name: string): string =>
  name.startsWith(valuePrefix) ? name.slice(valuePrefix.length) : name

/** A bare name means the item's own field first, then the schema's. */
export function refOf(name: string): FieldRef {
  const item = itemFields.find((field) => field === name)
  return item ? { item } : { field: withoutPrefix(name) }
}

export const nameOf = (by: FieldRef): string => ('item' in by ? by.item : valuePrefix + by.field)

export const isSameField = (one: FieldRef, other: FieldRef): boolean => nameOf(one) === nameOf(other)

export const namesWhere = (schema: Schema, test: (field: Field) => boolean): string[] =>
  [...schema].filter(([, field]) => test(field)).map(([name]) => name)

export function unusable(parameter: string, name: string, usable: readonly string[]): Error {
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name
  return invalid(`${parameter} names "${shown}", which cannot be used here. Usable fields: ${usable.join(', ')}.`)
}

const momentForm = 'a date or a moment such as 2026-03-01 or 2026-03-01T09:30:00Z'

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
  alsoUsable: readonly string[] = [],
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

const hasOrder = (field: Field): boolean => isFilterable(field) && isSortable(field)

/** Of an item without a value; before every value. */
export const missingKeyOf = (by: FieldRef): SortKey => ('item' in by && by.item !== '_id' ? unsetPublishMs : missingKey)

function itemKeyOf(parameter: string, item: ItemField, value: string): SortKey {
  if (item === '_id') return value
  const ms = momentOrDateMs(value)
  if (ms === undefined) throw invalid(`${parameter} must be ${momentForm}.`)
  return ms
}

function rangeBound(schema: Schema, parameter: string, by: FieldRef, value: string): SortKey {
  if ('item' in by) return itemKeyOf(parameter, by.item, value)
  const field = schema.get(by.field)
  if (!field || !hasOrder(field)) throw unusable(parameter, by.field, [...itemFields, ...namesWhere(schema, hasOrder)])
  const key = rangeKeyOf(field, value)
  if (key !== undefined) return key
  const { type } = leafOf(field)
  throw invalid(`${parameter} must be ${type === 'dateTime' ? momentForm : (valueForms[type] ?? 'a usable value')}.`)
}

function parseExists(parameter: string, value: string): boolean {
  if (value !== 'true' && value !== 'false') throw invalid(`${parameter} must be true or false.`)
  return value === 'true'
}

/** As UTF-8, in which order the databases compare. */
export function compareSortKeys(one: SortKey, other: SortKey): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
}

/** The narrower of two ends; `direction` is 1 for the beginning. */
function narrower(one: Bound | undefined, other: Bound | undefined, direction: 1 | -1): Bound | undefined {
  if (!one || !other) return one ?? other
  const order = compareSortKeys(one.key, other.key) * direction
  return order > 0 || (order === 0 && one.isExclusive) ? one : other
}

/** The common section of two ranges of one field. */
function intersect(one: Range, other: Range): Range {
  const [from, to] = [narrower(one.from, other.from, 1), narrower(one.to, other.to, -1)]
  return { by: one.by, ...(from && { from }), ...(to && { to }) }
}

/** One operator with one of its values, as what it requires. */
function parseOperator(schema: Schema, by: FieldRef, operator: Operator, value: string): Partial<Conditions> {
  const parameter = `filters[${'item' in by ? by.item : by.field}][${operator}]`
  const missing = missingKeyOf(by)
  const present: Bound = { key: missing, isExclusive: true }
  if (operator === 'ne' || operator === 'exists') {
    if ('item' in by) {
      if (operator === 'ne') return { exclusions: [{ by, keys: [itemKeyOf(parameter, by.item, value)] }] }
      const unset: Bound = { key: missing, isExclusive: false }
      return { ranges: [parseExists(parameter, value) ? { by, from: present } : { by, from: unset, to: unset }] }
    }
    const { field, keys } = parseFilter(schema, parameter, by.field, operator === 'ne' ? [value] : [], itemFields)
    if (operator === 'ne') return { exclusions: [{ by, keys }] }
    if (parseExists(parameter, value)) return { exclusions: [{ by, keys: [missingKey] }] }
    return { filters: [{ field, keys: [missingKey] }] }
  }
  const bound: Bound = { key: rangeBound(schema, parameter, by, value), isExclusive: !operator.endsWith('e') }
  return { ranges: [operator.startsWith('g') ? { by, from: bound } : { by, from: present, to: bound }] }
}

interface Given {
  by: FieldRef
  operator: Operator | undefined
  values: readonly string[]
}

function parseName(name: string, values: readonly string[]): Given {
  const [, written = name, operator] = /^([^[]*)\[(.*)\]$/s.exec(name) ?? []
  if (operator === undefined) return { by: { field: withoutPrefix(written) }, operator, values }
  const known = operators.find((each) => each === operator)
  if (known) return { by: refOf(written), operator: known, values }
  throw invalid(
    `filters[${written.slice(0, 64)}][${operator.slice(0, 64)}] has an unknown operator. Known: ${operators.join(', ')}.`,
  )
}

function checkLimits(given: readonly Given[]): void {
  if (new Set(given.map(({ by }) => nameOf(by))).size > maxFilterFields)
    throw invalid(`At most ${maxFilterFields} fields can be filtered at once.`)
  if (given.flatMap(({ values }) => values).length > maxFilterValues)
    throw invalid(`At most ${maxFilterValues} filter values can be given at once.`)
}

/** Several values of a field are alternatives; so its two spellings are merged. */
function parseEquality(schema: Schema, given: readonly Given[]): Pick<Conditions, 'ids' | 'filters'> {
  const collected = new Map<string, string[]>()
  for (const { by, values } of given) {
    const name = withoutPrefix(nameOf(by))
    collected.set(name, [...(collected.get(name) ?? []), ...values])
  }
  const ids = collected.get('_id')
  collected.delete('_id')
  return {
    ids,
    filters: [...collected].map(([name, values]) => parseFilter(schema, `filters[${name}]`, name, values, ['_id'])),
  }
}

export function parseFilters(schema: Schema, parameters: FilterParameters = {}): Conditions {
  const given = Object.entries(parameters).map(([name, values]) => parseName(name, values))
  checkLimits(given)
  const { ids, filters } = parseEquality(
    schema,
    given.filter(({ operator }) => operator === undefined),
  )
  const required = given.flatMap(({ by, operator, values }) =>
    operator === undefined ? [] : values.map((value) => parseOperator(schema, by, operator, value)),
  )
  const ranges = new Map<string, Range>()
  for (const range of required.flatMap((each) => each.ranges ?? [])) {
    const known = ranges.get(nameOf(range.by))
    ranges.set(nameOf(range.by), known ? intersect(known, range) : range)
  }
  return {
    ids,
    filters: [...filters, ...required.flatMap((each) => each.filters ?? [])],
    ranges: [...ranges.values()],
    exclusions: required.flatMap((each) => each.exclusions ?? []),
  }
}
