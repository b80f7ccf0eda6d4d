import { SluiceError } from './errors.ts'

export interface CallOptions {
  /** Aborting it ends the call at once, with the code `Aborted`. */
  signal?: AbortSignal | undefined
}

export interface ObjectPreviewOptions extends CallOptions {
  /** As in lists. */
  expand?: readonly string[] | undefined
}

export interface SendOptions extends CallOptions {
  /** Requests with the same key within 24 hours take effect once. Default: a new key for each call. */
  idempotencyKey?: string | undefined
}

export type CheckoutOptions = SendOptions

export type FilterValue = string | number | boolean

/**
 * What a field must satisfy, all of it. `gte`, `gt`, `lte` and `lt` compare in the order of `sort`; `ne` excludes one value or
 * several; `exists` is whether there is a value.
 */
export interface FilterOperators {
  gte?: FilterValue
  gt?: FilterValue
  lte?: FilterValue
  lt?: FilterValue
  ne?: FilterValue | readonly FilterValue[]
  exists?: boolean
}

/**
 * Field → value, or operators: `{ price: { gte: 5, lt: 10 } }`. A list matches any of its values; several fields must all match.
 * Operators also take `publishDate`, `createdAt`, `updatedAt` and `_id`.
 */
export interface Filters {
  [field: string]: FilterValue | readonly FilterValue[] | FilterOperators
}

export type SortTerm = `${string}:${'asc' | 'desc'}`

/** Terms in order of priority, `['publishDate:desc', 'name:asc']`, or the whole expression as one string; with a search also `relevance`. */
export type Sort = readonly SortTerm[] | string

export interface GroupBy {
  key: string
  /** With a value, only items with this value; without one, `groups` beside the items. */
  value?: FilterValue | undefined
}

export interface PreviewOptions extends CallOptions {
  /** The token of a preview of the whole site: working copies in place of live values, drafts and scheduled items included. */
  preview?: string | undefined
}

interface Criteria extends PreviewOptions {
  filters?: Filters | undefined
  search?: string | undefined
  sort?: Sort | undefined
  /** Only these fields of `objectValue`, besides `_id` and `mediaFields`. */
  fields?: readonly string[] | undefined
  /** References whose objects are added as `expanded`: `['author', 'related.author']`. */
  expand?: readonly string[] | undefined
}

interface ProductCriteria extends Criteria {
  /** The integration's type, such as `stripe`. */
  type: string
  accountHandle?: string | undefined
  groupBy?: GroupBy | undefined
}

interface OnePage {
  /** 1–100; the service's default is 100. */
  limit?: number | undefined
  skip?: number | undefined
  /** Instead of `skip`: `nextCursor` of the page before, or the empty text for the first page. */
  after?: string | undefined
}

interface EveryPage {
  /** Items per request: 1–100, default 100. */
  pageSize?: number | undefined
}

export interface ListOptions extends Criteria, OnePage {}
export interface AllOptions extends Criteria, EveryPage {}
export interface ListProductsOptions extends ProductCriteria, OnePage {}
export interface AllProductsOptions extends ProductCriteria, EveryPage {}

const plainNames = [
  'siteId', 'token', 'collectionId', 'type', 'accountHandle', 'search', 'limit', 'skip', 'after', 'preview',
] as const // biome-ignore format: two lines read better

/** All parameters of the GET endpoints. */
export type Query = { [Name in (typeof plainNames)[number]]?: string | number | undefined } & {
  sort?: Sort | undefined
  fields?: readonly string[] | undefined
  expand?: readonly string[] | undefined
  filters?: Filters | undefined
  groupBy?: GroupBy | undefined
}

/** Values are not validated here, because the service has the rules and the better messages. */
export function writeQuery({ sort, fields, expand, filters = {}, groupBy, ...plain }: Query): URLSearchParams {
  const written = new URLSearchParams()
  const write = (name: string, value: FilterValue | undefined) => {
    if (value !== undefined) written.append(name, String(value))
  }
  for (const name of plainNames) write(name, plain[name])
  write('sort', typeof sort === 'string' ? sort : sort?.join(',') || undefined)
  write('fields', fields?.join(','))
  write('expand', expand?.join(','))
  for (const [field, filter] of Object.entries(filters)) {
    for (const [operator, value] of operatorsOf(field, filter))
      for (const one of valuesOf(field, value)) write(`filters[${field}]${operator}`, one)
  }
  write('groupBy[key]', groupBy?.key)
  write('groupBy[value]', groupBy?.value)
  return written
}

/** Each operator in brackets, with its values; of a plain filter the empty text. */
function operatorsOf(field: string, filter: Filters[string]): [operator: string, values: unknown][] {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) return [['', filter]]
  const operators = Object.entries(filter).map(([operator, value]): [string, unknown] => [`[${operator}]`, value])
  return operators.length > 0 ? operators : [['', valuesOf(field, undefined)]]
}

/** A filter without a value is refused: without the filter, the list would contain too much. */
function valuesOf(field: string, value: unknown): readonly FilterValue[] {
  const values = Array.isArray(value) ? value : [value]
  if (values.length > 0 && values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))) return values
  throw new SluiceError(
    `filters.${field} must be a string, number or boolean, a non-empty list of them, or operators`,
    {
      code: 'InvalidArgument',
    },
  )
}
