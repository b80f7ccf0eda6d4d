import { toTable } from './command.ts'

const maxCellCharacters = 60

/** What others wrote must not move the cursor or change the colours of who reads it. */
const printable = (text: string): string => text.replace(/[^\P{C}\n]/gu, '·')

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = printable(typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' ')
  return text.length > maxCellCharacters ? `${text.slice(0, maxCellCharacters - 1)}…` : text
}

const headOf = (column: string): string =>
  column
    .replace(/^_id$/, 'id')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()

interface List {
  items: Record<string, unknown>[]
  totalCount?: number
}

export const isList = (data: unknown): data is List =>
  typeof data === 'object' && data !== null && 'items' in data && Array.isArray(data.items)

/** A list as a table of the parts that people look for. */
export function showList({ items, totalCount = items.length }: List, columns: readonly string[]): string {
  if (items.length === 0) return totalCount > 0 ? `Done: ${totalCount}.` : 'Nothing yet.'
  const shown = columns.length > 0 ? columns : Object.keys(items[0] ?? {})
  const table = toTable(
    shown.map(headOf),
    items.map((item) => shown.map((column) => cellOf(item[column]))),
  )
  return totalCount > items.length
    ? `${table}\n\n${items.length} of ${totalCount}; --skip and --limit show others.`
    : table
}

/** One thing, a line for each of its parts; what is nested is written out below. */
export function showRecord(data: Record<string, unknown>): string {
  const isFlat = (value: unknown): boolean => typeof value !== 'object' || value === null
  const flat = Object.entries(data).filter(([, value]) => isFlat(value))
  const nested = Object.entries(data).filter(([, value]) => !isFlat(value))
  const width = Math.max(0, ...flat.map(([name]) => headOf(name).length))
  const lines = flat.map(
    ([name, value]) => `${headOf(name).padEnd(width)}  ${value === null ? '–' : printable(String(value))}`,
  )
  return [
    ...lines,
    ...nested.map(([name, value]) => `${headOf(name)}\n${printable(JSON.stringify(value, null, 2))}`),
  ].join('\n')
}
