import { SluiceError } from './errors.ts'

export interface CallOptions {
  /** Aborting it ends the call at once, with the code `Aborted`. */
  signal?: AbortSignal | undefined
}

export interface SendOptions extends CallOptions {
  /** Requests with the same key within 24 hours take effect once. Default: a new key for each call. */
  idempotencyKey?: string | undefined
}

export type CheckoutOptions = SendOptions

export type FilterValue = string | number | boolean

/** Field → value. A list matches any of its values; several fields must all match. */
export interface Filters {
  [field: string]: FilterValue | readonly FilterValue[]
}

export type SortTerm = `${string}:${'asc' | 'desc'}`

/** Terms in order of priority, `['publishDate:desc', 'name:asc']`, or the whole expression as one string. */
export type Sort = readonly SortTerm[] | string

export interface GroupBy {
  key: string
  /** With a value, only items with this value; without one, `groups` beside the items. */
  value?: FilterValue | undefined
}

interface Criteria extends CallOptions {
  filters?: Filters | undefined
  search?: string | undefined
  sort?: Sort | undefined
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
}

interface EveryPage {
  /** Items per request: 1–100, default 100. */
  pageSize?: number | undefined
}

export interface ListOptions extends Criteria, OnePage {}
export interface AllOptions extends Criteria, EveryPage {}
export interface ListProductsOptions extends ProductCriteria, OnePage {}
export interface AllProductsOptions extends ProductCriteria, EveryPage {}

const plainNames = ['siteId', 'token', 'collectionId', 'type', 'accountHandle', 'search', 'limit', 'skip'] as const

/** All parameters of the GET endpoints. */
export type Query = { [Name in (typeof plainNames)[number]]?: string | number | undefined } & {
  sort?: Sort | undefined
  filters?: Filters | undefined
  groupBy?: GroupBy | undefined
}

/** Values are not validated here, because the service has the rules and the better messages. */
export function writeQuery({ sort, filters = {}, groupBy, ...plain }: Query): URLSearchParams {
  const written = new URLSearchParams()
  const write = (name: string, value: FilterValue | undefined) => {
    if (value !== undefined) written.append(name, String(value))
  }
  for (const name of plainNames) write(name, plain[name])
  write('sort', typeof sort === 'string' ? sort : sort?.join(',') || undefined)
  for (const [field, value] of Object.entries(filters)) {
    for (const one of valuesOf(field, value)) write(`filters[${field}]`, one)
  }
  write('groupBy[key]', groupBy?.key)
  write('groupBy[value]', groupBy?.value)
  return written
}

/** A filter without a value is refused: without the filter, the list would contain too much. */
function valuesOf(field: string, value: Filters[string]): readonly FilterValue[] {
  const values = Array.isArray(value) ? value : [value]
  if (values.length > 0 && values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))) return values
  throw new SluiceError(`filters.${field} must be a string, number or boolean, or a non-empty list of them`, {
    code: 'InvalidArgument',
  })
}
