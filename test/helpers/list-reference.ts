import type { NewObject } from '../../src/store/content/objects.ts'

/** The specified behaviour of listings over a plain array, independent of the service's code. */
export type Item = NewObject & { id: string; updatedMs: number }
export type FieldKind = 'text' | 'number' | 'boolean' | 'moment'

export interface Rules {
  filterable: Map<string, FieldKind>
  sortable: Set<string>
  /** Names of fields, or paths into them. */
  searchable: string[]
  moments: string[]
}

export interface Query {
  filters: [field: string, value: string, operator?: string | undefined][]
  sort: [field: string, direction: string][] | undefined
  search: string | undefined
  limit: number | undefined
  skip: number | undefined
}

const bare = (field: string): string => field.replace('objectValue.', '')
const fold = (text: string): string => text.normalize('NFC').toLowerCase()
const isNumeric = (value: unknown): boolean => /^-?\d+(\.\d+)?(e\+\d+)?$/.test(String(value))
const scalars = (value: unknown): unknown[] =>
  value === undefined ? [] : typeof value === 'object' ? Object.values(value as object) : [value]
/** The values at the end of a path through objects, and through the items of lists. */
const valuesAt = (value: unknown, path: string): unknown[] => path.split('.').reduce((found: unknown[], name) => found.flatMap((one) => (one as Record<string, unknown> | undefined)?.[name] ?? []), [value]) // biome-ignore format: one line reads better
const own = new Map<string, (item: Item) => unknown>([['_id', (item) => item.id], ['publishDate', (item) => item.publishMs], ['createdAt', (item) => item.createdMs], ['updatedAt', (item) => item.updatedMs]]) // biome-ignore format: a table
const equal = (kind: FieldKind, stored: unknown, text: string): boolean =>
  kind === 'number'
    ? Number(stored) === Number(text)
    : kind === 'moment'
      ? Date.parse(String(stored)) === Date.parse(text)
      : String(stored) === text

/** Numbers come before texts, which are compared by their first 200 characters. */
type SortKey = number | Buffer

const sortKeyOf = (value: unknown): SortKey =>
  isNumeric(value) ? Number(value) : Buffer.from([...fold(String(value))].slice(0, 200).join(''))

function compare(a: SortKey, b: SortKey): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1
  return typeof b === 'number' ? 1 : Buffer.compare(a, b)
}

function sortValue(item: Item, field: string): unknown {
  const readOwn = own.get(field)
  if (readOwn) return readOwn(item)
  const [first] = scalars(item.value[bare(field)])
  return typeof first === 'string' && /^\d{4}-.*T/.test(first) ? Date.parse(first) : first
}

function sortKey(item: Item, field: string): SortKey | undefined {
  const value = sortValue(item, field)
  return value === undefined ? undefined : sortKeyOf(value)
}

const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** Whether a filter's value can be compared with the values of its field. */
function isComparable(
  { filterable, sortable, moments }: Rules,
  [field, text, operator]: Query['filters'][number],
): boolean {
  const isRange = operator !== undefined && ['gte', 'gt', 'lte', 'lt'].includes(operator)
  const isOwn = operator !== undefined && own.has(field)
  const kind = filterable.get(bare(field))
  if (operator === 'exists') return /^(true|false)$/.test(text) && (isOwn || kind !== undefined)
  if (operator !== undefined && operator !== 'ne' && !isRange) return false
  if (isOwn) return field === '_id' || /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) || isDate(text)
  if (isRange && !sortable.has(bare(field))) return false
  if (kind === 'number') return /^-?\d{1,40}(\.\d{1,40})?$/.test(text)
  if (kind === 'boolean') return /^(true|false)$/.test(text)
  if (kind === 'moment') return moments.includes(text) || (isRange && isDate(text))
  return kind === 'text' || (field === '_id' && operator === undefined)
}

/** The order of an item's value relative to a filter's; undefined if it has none. */
function orderTo({ filterable }: Rules, item: Item, field: string, text: string): number | undefined {
  const isOwn = own.has(field)
  const key =
    isOwn && field === '_id' ? Buffer.from(item.id) : sortKey(item, isOwn ? field : `objectValue.${bare(field)}`)
  if (key === undefined) return undefined
  if (field === '_id') return compare(key, Buffer.from(text))
  const isMoment = isOwn || filterable.get(bare(field)) === 'moment'
  return compare(key, isMoment ? Date.parse(text) : sortKeyOf(text))
}

/** Whether an item passes a filter with an operator. */
function passesOperator(rules: Rules, item: Item, [field, text, operator]: Query['filters'][number]): boolean {
  const readOwn = own.get(field)
  const stored = readOwn ? scalars(readOwn(item)) : scalars(item.value[bare(field)])
  if (operator === 'exists') return String(stored.length > 0) === text
  if (operator === 'ne' && readOwn) return orderTo(rules, item, field, text) !== 0
  if (operator === 'ne') return !stored.some((value) => equal(rules.filterable.get(bare(field)) ?? 'text', value, text))
  const order = orderTo(rules, item, field, text)
  if (order === undefined) return false
  return operator === 'gte' ? order >= 0 : operator === 'gt' ? order > 0 : operator === 'lte' ? order <= 0 : order < 0
}

export function listByReference(
  rules: Rules,
  items: Item[],
  query: Query,
  nowMs: number,
): { ids: string[]; total: number } | 'refused' {
  const { filters, sort = [], search = '', limit = 100, skip = 0 } = query
  if (JSON.stringify(query).includes('\\u0000')) return 'refused'
  if (!filters.every((filter) => isComparable(rules, filter))) return 'refused'
  const sorts = sort.map(([field]) => (own.has(field) ? field : `objectValue.${bare(field)}`))
  if (!sorts.every((field) => own.has(field) || rules.sortable.has(bare(field))) || new Set(sorts).size < sorts.length)
    return 'refused'
  if (!sort.every(([, direction]) => /^(asc|desc)$/.test(direction))) return 'refused'
  const words = fold(search).split(/\s+/).filter(Boolean)
  const hasWords = (item: Item): boolean => {
    const text = fold(
      rules.searchable
        .flatMap((field) => (field.includes('.') ? valuesAt(item.value, field) : scalars(item.value[field])))
        .join('\n')
        .replace(/<[^>]*>/g, ' ')
        .replaceAll('&amp;', '&'),
    )
    return words.every((word) => text.includes(word))
  }
  const plain = filters.filter(([, , operator]) => operator === undefined)
  const passes = (item: Item, name: string): boolean => plain.some(([field, text]) => bare(field) === name &&
    (name === '_id' ? item.id === text : scalars(item.value[name]).some((stored) => equal(rules.filterable.get(name) ?? 'text', stored, text)))) // biome-ignore format: short
  const matches = items.filter((item) => !item.archived && (item.publishMs ?? Number.NEGATIVE_INFINITY) <= nowMs)
    .filter((item) => filters.every((filter) => (filter[2] === undefined ? passes(item, bare(filter[0])) : passesOperator(rules, item, filter))) && (words.length === 0 || hasWords(item))) // biome-ignore format: short
  const keys = new Map(matches.map((item) => [item, sorts.map((field) => sortKey(item, field))]))
  matches.sort((a, b) => {
    for (const position of sorts.keys()) {
      const [left, right, sign] = [
        keys.get(a)?.[position],
        keys.get(b)?.[position],
        sort[position]?.[1] === 'desc' ? -1 : 1,
      ]
      if (left === undefined && right === undefined) continue
      if (left === undefined || right === undefined) return left === undefined ? 1 : -1
      if (compare(left, right) !== 0) return compare(left, right) * sign
    }
    return (a.id < b.id ? -1 : 1) * (sort.at(-1)?.[1] === 'desc' ? -1 : 1)
  })
  return { ids: matches.slice(skip, skip + limit).map(({ id }) => id), total: matches.length }
}
