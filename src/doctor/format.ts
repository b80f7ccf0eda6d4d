import { dayMs, hourMs, minuteMs } from '../core/clock.ts'
export const maxExamples = 5

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB']

export function inBytes(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  const amount = bytes / 1000 ** power
  return `${amount.toFixed(power === 0 || amount >= 100 ? 0 : 1)} ${byteUnits[power]}`
}

const timeUnits: [ms: number, name: string][] = [
  [dayMs, 'day'],
  [hourMs, 'hour'],
  [minuteMs, 'minute'],
  [1000, 'second'],
]

export function inTime(ms: number): string {
  const [unitMs, name] = timeUnits.find(([each]) => ms >= 2 * each) ?? [1000, 'second']
  return counted(Math.round(ms / unitMs), name)
}

/** Quoted for a shell where necessary. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** Counts findings and retains the first few. */
export interface Tally<Item = string> {
  readonly count: number
  readonly first: Item[]
  add(item: Item): void
  addAll(other: Tally<Item>): void
}

export function createTally<Item = string>(): Tally<Item> {
  let count = 0
  const first: Item[] = []
  const retain = (items: readonly Item[]) => void first.push(...items.slice(0, maxExamples - first.length))
  return {
    get count() {
      return count
    },
    first,
    add(item) {
      count += 1
      retain([item])
    },
    addAll(other) {
      count += other.count
      retain(other.first)
    },
  }
}

/** An AggregateError of the system has a code and no message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message || ('code' in error ? String(error.code) : error.name)
}
