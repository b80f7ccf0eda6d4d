import { toTable } from './command.ts'

const maxCellCharacters = 60

/** Other people's text must not contain terminal control sequences. */
const printable = (text: string): string => text.replace(/[^\P{C}\n]/gu, '·')

/** Order lines as text; anything else as JSON. */
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
  nextCursor?: string | null
}

export const isList = (data: unknown): data is List =>
  typeof data === 'object' && data !== null && 'items' in data && Array.isArray(data.items)

export function showList({ items, totalCount = items.length, nextCursor }: List, columns: readonly string[]): string {
  if (items.length === 0) return totalCount > 0 ? `Done: ${totalCount}.` : 'Nothing yet.'
  const shown = columns.length > 0 ? columns : Object.keys(items[0] ?? {})
  const table = toTable(
    shown.map(headOf),
    items.map((item) => shown.map((column) => cellOf(item[column]))),
  )
  if (nextCursor) return `${table}\n\n${items.length} of ${totalCount}; the next ones: --after ${nextCursor}`
  return totalCount > items.length
    ? `${table}\n\n${items.length} of ${totalCount}; --skip and --limit show others.`
    : table
}

/** The parts of a JSON schema that matter here. */
export interface Shape {
  properties?: Record<string, Shape>
  items?: Shape
  anyOf?: Shape[]
}

/** The schema of a nullable value without the null. */
const nonNullOf = (shape: Shape | undefined): Shape | undefined =>
  shape?.anyOf?.find(({ properties, items }) => properties ?? items) ?? shape

const isFlat = (value: unknown): boolean => typeof value !== 'object' || value === null
const isFlatRecord = (value: unknown): value is Record<string, unknown> =>
  !isFlat(value) && !Array.isArray(value) && Object.values(value as object).every(isFlat)
const indented = (text: string): string => text.replace(/^/gm, '  ')

/** Field by field if the schema names them; open values, such as an object's value, as JSON that can be used as input. */
function showNested(value: unknown, shape: Shape | undefined): string {
  const { properties = {}, items } = nonNullOf(shape) ?? {}
  const columns = Object.keys(items?.properties ?? {})
  if (Array.isArray(value) && value.length > 0 && columns.length > 0 && value.every(isFlatRecord))
    return indented(showList({ items: value }, columns))
  if (!Array.isArray(value) && Object.keys(properties).length > 0)
    return indented(showRecord(value as Record<string, unknown>, { properties }))
  return printable(JSON.stringify(value, null, 2))
}

/** One line per field; nested values follow below. */
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
