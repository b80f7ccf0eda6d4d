import type { Field, ScalarType } from '../../content/schema.ts'
import { problemsOf } from '../../content/validate.ts'
import { type Draft, fitValue } from './draft.ts'

const maxTextLength = 300
const htmlTag = /<\/?[a-z][a-z0-9-]*(\s[^<>]*)?\/?>/i

/** The narrower before the wider: every integer is a decimal, every date a moment. */
const exactTypes: readonly ScalarType[] = ['boolean', 'integer', 'decimal', 'date', 'dateTime']

/** What is known of a field after any number of values: never the values themselves. */
interface Impression {
  /** The types that every value so far fits. */
  possible: ScalarType[]
  hasValue: boolean
  hasList: boolean
  hasLongText: boolean
}

function firstImpression(name: string): Impression {
  const possible = name === 'slug' ? (['slug'] as const) : name === 'body' ? [] : exactTypes
  return { possible: [...possible], hasValue: false, hasList: false, hasLongText: name === 'body' }
}

/** A type is possible when an import would accept the value: by the same rules, so that they cannot disagree. */
function fits(type: ScalarType, value: unknown): boolean {
  // Digits after a leading zero are a code or a telephone number, not an amount.
  if (type === 'decimal' && /^\s*-?0\d/.test(String(value))) return false
  const field = { type }
  return problemsOf(new Map([['value', field]]), { value: fitValue(field, value) }).length === 0
}

function isLongText(value: unknown): boolean {
  return typeof value === 'string' && (value.length > maxTextLength || value.includes('\n') || htmlTag.test(value))
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

function addValue(impression: Impression, value: unknown): void {
  if (isBlank(value)) return
  impression.hasValue = true
  impression.hasList ||= Array.isArray(value)
  impression.hasLongText ||= isLongText(value)
  impression.possible = impression.possible.filter((type) => fits(type, value))
}

function toField({ possible, hasValue, hasList, hasLongText }: Impression): Field {
  if (hasList) return { type: 'list', of: { type: 'text' } }
  const [exact] = possible
  if (hasValue && exact !== undefined) return { type: exact }
  return { type: hasLongText ? 'longText' : 'text' }
}

/**
 * A schema, as it is written, that accepts what the drafts hold: for a collection that does not exist yet. Drafts with
 * problems will not be imported, and have no say in it.
 */
export async function inferSchema(drafts: AsyncIterable<Draft> | Iterable<Draft>): Promise<Record<string, Field>> {
  const impressions = new Map<string, Impression>()
  for await (const { value, problems } of drafts) {
    if (problems.length > 0) continue
    for (const [name, item] of Object.entries(value)) {
      const impression = impressions.get(name) ?? firstImpression(name)
      impressions.set(name, impression)
      addValue(impression, item)
    }
  }
  return Object.fromEntries(Array.from(impressions, ([name, impression]) => [name, toField(impression)]))
}
