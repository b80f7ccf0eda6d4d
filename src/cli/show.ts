import { toTable } from './command.ts'

const maxCellCharacters = 60

/** What others wrote must not move the cursor or change the colours of who reads it. */
const printable = (text: string): string => text.replace(/[^\P{C}\n]/gu, '·')

/** What was bought, as people say it. */
function inWords(value: unknown): string {
  if (typeof value === 'string') return value
  const isLine = (item: unknown): item is { quantity: number; description: string } =>
    typeof item === 'object' && item !== null && 'quantity' in item && 'description' in item
  if (Array.isArray(value) && value.every(isLine))
    return value.map(({ quantity, description }) => `${quantity} × ${description}`).join(', ')
  return JSON.stringify(value)
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = printable(inWords(value)).replace(/\s+/g, ' ')
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

/** The schema of what is shown, as far as we look at it. */
export interface Shape {
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
}

/** What is known of what may be null. */
const knownOf = (shape: Shape | undefined): Shape | undefined =>
  shape?.anyOf?.find(({ properties, items }) => properties ?? items) ?? shape

const isFlat = (value: unknown): boolean => typeof value !== 'object' || value === null
const isFlatRecord = (value: unknown): value is Record<string, unknown> =>
  !isFlat(value) && !Array.isArray(value) && Object.values(value as object).every(isFlat)
const indented = (text: string): string => text.replace(/^/gm, '  ')

/** Where the schema names the parts, part by part; what is open, such as an object's value, as JSON to be used again. */
function showNested(value: unknown, shape: Shape | undefined): string {
  const { properties = {}, items } = knownOf(shape) ?? {}
  const columns = Object.keys(items?.properties ?? {})
  if (Array.isArray(value) && value.length > 0 && columns.length > 0 && value.every(isFlatRecord))
    return indented(showList({ items: value }, columns))
  if (!Array.isArray(value) && Object.keys(properties).length > 0)
    return indented(showRecord(value as Record<string, unknown>, { properties }))
  return printable(JSON.stringify(value, null, 2))
}

/** One thing, a line for each of its parts; what is nested is written out below. */
export function showRecord(data: Record<string, unknown>, shape?: Shape): string {
  const flat = Object.entries(data).filter(([, value]) => isFlat(value))
  const nested = Object.entries(data).filter(([, value]) => !isFlat(value))
  const width = Math.max(0, ...flat.map(([name]) => headOf(name).length))
  const lines = flat.map(
    ([name, value]) => `${headOf(name).padEnd(width)}  ${value === null ? '–' : printable(String(value))}`,
  )
  return [
    ...lines,
    ...nested.map(([name, value]) => `${headOf(name)}\n${showNested(value, shape?.properties?.[name])}`),
  ].join('\n')
}
