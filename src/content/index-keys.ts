import { hash } from 'node:crypto'
import { canonicalDecimal, isDecimalText, parseDecimal, sortableDecimal } from './decimal.ts'
import { leavesIn } from './leaves.ts'
import { canonicalTime, isDate, isTime, momentOrDateMs, parseDateTime, toIso } from './moments.ts'
import {
  type Field,
  isFilterable,
  isSearchable,
  isSearched,
  isSortable,
  isVariantMap,
  leafOf,
  type ScalarField,
  type Schema,
} from './schema.ts'
import { normalise } from './texts.ts'

/**
 * Clients filter and sort by an index of keys, not by the stored JSON. Equal values have equal filter keys; a sort key is
 * text whose byte order is the order of the values, the same in every database.
 */
export interface IndexRow {
  field: string
  filterKey: string
  /** `null` for all but the first value of a list or variant map: an object sorts by its first value. */
  sortKey: string | null
}

/** The key of a field that has no value. Real keys are never empty. */
export const missingKey = ''
export const isPresentKey = (filterKey: string): boolean => filterKey !== missingKey
/** An index entry must stay below a third of a PostgreSQL page: longer texts are found by their hash … */
const maxKeyBytes = 200
/** … and sorted by their beginning. */
const maxSortCharacters = 200

export const normaliseText = (text: string): string => normalise(text, 'NFC').toLowerCase()

export const filterKeyOfText = (text: string): string =>
  Buffer.byteLength(text) <= maxKeyBytes ? `=${text}` : `#${hash('sha256', text)}`

/** The canonical form of a filter's text, or of a stored value printed as text; equal values have the same. */
function canonicalText(field: ScalarField, text: string): string | undefined {
  switch (field.type) {
    case 'integer':
    case 'decimal':
      return isDecimalText(text) ? canonicalDecimal(parseDecimal(text)) : undefined
    case 'boolean':
      return text === 'true' || text === 'false' ? text : undefined
    case 'date':
      return isDate(text) ? text : undefined
    case 'dateTime': {
      const ms = parseDateTime(text)
      return ms === undefined ? undefined : toIso(ms)
    }
    case 'time':
      return isTime(text) ? canonicalTime(text) : undefined
    case 'color':
      return text.toLowerCase()
    default:
      return text
  }
}

/** The key of a filter value; undefined if the field cannot have such a value. */
export function filterKeyOf(field: Field, text: string): string | undefined {
  const leaf = leafOf(field) as ScalarField
  const canonical = canonicalText(leaf, text)
  return canonical === undefined ? undefined : filterKeyOfText(canonical)
}

/** The text behind a filter key: null for no value, undefined for one that was hashed. */
export function textOfFilterKey(key: string): string | null | undefined {
  if (key === missingKey) return null
  return key.startsWith('=') ? key.slice(1) : undefined
}

/** Decimal numbers, including those stored as text, sort numerically and before all other text. */
export function sortKeyOfText(text: string): string {
  if (isDecimalText(text)) return `n${sortableDecimal(parseDecimal(text))}`
  return `t${[...normaliseText(text)].slice(0, maxSortCharacters).join('')}`
}

/** The sort key of a range's end; undefined if the field cannot have such a value. A date stands for its first moment. */
export function rangeKeyOf(field: Field, text: string): string | undefined {
  const leaf = leafOf(field) as ScalarField
  const ms = leaf.type === 'dateTime' ? momentOrDateMs(text) : undefined
  const canonical = canonicalText(leaf, ms === undefined ? text : toIso(ms))
  return canonical === undefined ? undefined : sortKeyOfText(canonical)
}

function scalarRow(name: string, field: ScalarField, value: unknown): IndexRow {
  if (typeof value === 'number') {
    // It may print with an exponent, or with more digits than text that counts as a decimal.
    const decimal = parseDecimal(String(value))
    return {
      field: name,
      filterKey: filterKeyOfText(canonicalDecimal(decimal)),
      sortKey: `n${sortableDecimal(decimal)}`,
    }
  }
  const printed = String(value)
  const text = canonicalText(field, printed) ?? printed
  return { field: name, filterKey: filterKeyOfText(text), sortKey: sortKeyOfText(text) }
}

/** The scalars in a stored value, in order: one, those of a list, or those of every variant. */
export function scalarsIn(field: Field, value: unknown): unknown[] {
  if (value === null || value === undefined) return []
  if (field.type === 'list') return Array.isArray(value) ? value.flatMap((item) => scalarsIn(field.of, item)) : []
  if (field.type === 'variant' && isVariantMap(field, value))
    return Object.values(value).flatMap((item) => scalarsIn(field.of, item))
  if (field.type === 'variant') return scalarsIn(field.of, value)
  return [value]
}

/** One row for each distinct value of a field; the first has the sort key. */
export function rowsOfField(name: string, field: Field, value: unknown): IndexRow[] {
  const leaf = leafOf(field) as ScalarField
  const rows = scalarsIn(field, value).map((scalar) => scalarRow(name, leaf, scalar))
  if (rows.length === 0) return [{ field: name, filterKey: missingKey, sortKey: missingKey }]
  const distinct = new Map(rows.map((row) => [row.filterKey, row]))
  return [...distinct.values()].map((row, position) => (position === 0 ? row : { ...row, sortKey: null }))
}

/** At least one row for every field that is filterable, sortable or unique, even without a value. */
export function indexRowsOf(schema: Schema, objectValue: Record<string, unknown>): IndexRow[] {
  return [...schema]
    .filter(([, field]) => isFilterable(field) || isSortable(field) || field.unique)
    .flatMap(([name, field]) => rowsOfField(name, field, objectValue[name]))
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: ' ' }

/** The readable part of HTML. `<[^<>]*>` because `<[^>]*>` takes quadratic time on a run of `<`. */
function withoutMarkup(html: string): string {
  return html
    .replace(/<[^<>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => entities[name] ?? ' ')
}

/** The field whose words rank highest: `title`, else `name`, else the first plain text. */
function titleFieldOf(schema: Schema): string | undefined {
  const isTitle = (field: Field | undefined): boolean =>
    field !== undefined && isSearched(field) && leafOf(field).type === 'text'
  const named = ['title', 'name'].find((name) => isTitle(schema.get(name)))
  return named ?? [...schema].find(([, field]) => isTitle(field))?.[0]
}

/** The distinct words of a text, which is all that matters to a search: none of its words contains a space. */
export const distinctWords = (text: string): Set<string> => new Set(text.split(/\s+/u).filter((word) => word !== ''))

/**
 * The text that searches match, prepared when the object is written: each word once, those of the title on the first line, the
 * others on the second.
 */
export function searchTextOf(schema: Schema, objectValue: Record<string, unknown>): string {
  const titleField = titleFieldOf(schema)
  const titles: string[] = []
  const others: string[] = []
  for (const { path, field, value } of leavesIn(schema, objectValue, isSearched)) {
    if (!isSearchable(field)) continue
    const text = field.type === 'longText' ? withoutMarkup(String(value)) : String(value)
    if (path.split('.', 1)[0] === titleField) titles.push(text)
    else others.push(text)
  }
  const ofTitle = distinctWords(normaliseText(titles.join('\n')))
  const rest = distinctWords(normaliseText(others.join('\n'))).difference(ofTitle)
  return [ofTitle, rest]
    .map((words) => [...words].join(' '))
    .join('\n')
    .trimEnd()
}

/** The words of a search, longest first: all must occur in an item, and the longest is the most selective. */
export function searchWordsOf(search: string): string[] {
  const words = normaliseText(search).split(/\s+/u)
  return [...new Set(words)].filter((word) => word !== '').sort((a, b) => b.length - a.length)
}
