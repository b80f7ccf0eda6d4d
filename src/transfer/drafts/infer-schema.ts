import { type Field, isRecord, type ScalarType } from '../../content/schema.ts'
import { problemsOf } from '../../content/validate.ts'
import { type Draft, fitValue } from './draft.ts'

const maxTextLength = 300
const htmlTag = /<\/?[a-z][a-z0-9-]*(\s[^<>]*)?\/?>/i

/** Narrow types first: every integer is a decimal, every date a dateTime. */
const exactTypes: readonly ScalarType[] = ['boolean', 'integer', 'decimal', 'date', 'dateTime']

/** The common properties of a field's values so far. */
interface Impression {
  /** The types that all values so far fit. */
  possible: ScalarType[]
  hasValue: boolean
  hasList: boolean
  hasObject: boolean
  hasLongText: boolean
}

function firstImpression(name: string): Impression {
  const possible = name === 'slug' ? (['slug'] as const) : name === 'body' ? [] : exactTypes
  return { possible: [...possible], hasValue: false, hasList: false, hasObject: false, hasLongText: name === 'body' }
}

/** Uses the rules of the import itself, so that both agree. */
function fits(type: ScalarType, value: unknown): boolean {
  // Digits after a leading zero are a code or a telephone number, not an amount.
  if (type === 'decimal' && /^\s*-?0\d/.test(String(value))) return false
  const field = { type }
  return problemsOf(new Map([['value', field]]), { value: fitValue(field, value) }).length === 0
}

const isLongText = (value: unknown): boolean =>
  typeof value === 'string' && (value.length > maxTextLength || value.includes('\n') || htmlTag.test(value))

const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

function addValue(impression: Impression, value: unknown): void {
  if (isBlank(value)) return
  impression.hasValue = true
  impression.hasList ||= Array.isArray(value)
  impression.hasObject ||= [value].flat().some(isRecord)
  impression.hasLongText ||= isLongText(value)
  impression.possible = impression.possible.filter((type) => fits(type, value))
}

function toField({ possible, hasValue, hasList, hasObject, hasLongText }: Impression): Field {
  if (hasObject) return { type: 'json' }
  if (hasList) return { type: 'list', of: { type: 'text' } }
  const [exact] = possible
  if (hasValue && exact !== undefined) return { type: exact }
  return { type: hasLongText ? 'longText' : 'text' }
}

/**
 * Infers the schema of a new collection from the values of the drafts. Drafts with problems, which will not be imported, do
 * not count.
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
