import { parseDateTime } from '../../content/moments.ts'
import {
  type Field,
  isMedia,
  isVariantMap,
  type ListField,
  type ScalarField,
  type Schema,
} from '../../content/schema.ts'
import type { Publishing } from './publishing.ts'
import { readBoolean, readInteger, readMoment } from './read-text.ts'

/** One object as a foreign file describes it, before it is checked against a collection's schema. */
export interface Draft extends Publishing {
  /** `posts/hello.md`, or `reviews.csv line 12`. */
  source: string
  value: Record<string, unknown>
  /** Fields of the schema that the file names and gives no value, as an empty cell does. */
  emptied?: readonly string[]
  /** What makes the object unfit to be imported, in words; empty when there is nothing. */
  problems: string[]
  /** Fields of `value` that the reader made up, and no author wrote. */
  derived?: readonly string[]
  /** The body with the heading that became a derived title still in it. */
  bodyWithTitle?: string
  /** What parts the items of a list, in a format that has no lists. */
  listSeparator?: string
}

const numberTypes: ReadonlySet<string> = new Set(['integer', 'decimal', 'boolean'])

function fitText(field: ScalarField, text: string): unknown {
  if (field.type === 'text' || field.type === 'longText') return text
  const bare = text.trim()
  if (bare === '') return undefined
  switch (field.type) {
    case 'boolean':
      return readBoolean(bare) ?? text
    case 'integer':
      return readInteger(bare) ?? text
    case 'dateTime':
      // What is valid as it stands keeps its offset and all its digits.
      return parseDateTime(bare) === undefined ? (readMoment(bare) ?? text) : bare
    default:
      return bare
  }
}

function fitList(field: ListField, value: unknown, listSeparator: string | undefined): unknown {
  if (value === '') return undefined
  if (Array.isArray(value)) return value.map((item) => fitValue(field.of, item))
  if (typeof value !== 'string' || listSeparator === undefined) return [fitValue(field.of, value)]
  const items = value.split(listSeparator).map((item) => item.trim())
  return items.filter((item) => item !== '').map((item) => fitValue(field.of, item))
}

/** YAML has one type for both; a plain date is read as a midnight. */
function printDate(date: Date): string {
  if (Number.isNaN(date.getTime())) return String(date)
  const iso = date.toISOString()
  return iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : iso
}

/**
 * Fits a value to a field where that is exact and obvious; undefined means no value. What does not fit stays as it is:
 * validation will name it.
 */
export function fitValue(field: Field, value: unknown, listSeparator?: string): unknown {
  if (value === undefined || value === null) return value
  if (value instanceof Date) return fitValue(field, printDate(value), listSeparator)
  if (field.type === 'list') return fitList(field, value, listSeparator)
  if (field.type === 'variant') {
    if (!isVariantMap(field, value)) return fitValue(field.of, value, listSeparator)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fitValue(field.of, item)]))
  }
  if (isMedia(field)) return value === '' ? undefined : value
  if (typeof value === 'number') return numberTypes.has(field.type) ? value : String(value)
  return typeof value === 'string' ? fitText(field, value) : value
}

/** The schema's name of each field that is written in another case, where only one of each can be meant. */
function namesInSchema(schema: Schema, written: readonly string[]): Map<string, string> {
  const namesLike = Map.groupBy(schema.keys(), (name) => name.toLowerCase())
  const writtenLike = Map.groupBy(written, (name) => name.toLowerCase())
  const names = new Map<string, string>()
  for (const [lower, [name, ...others]] of writtenLike) {
    const meant = namesLike.get(lower)
    if (name !== undefined && others.length === 0 && meant?.length === 1) names.set(name, meant[0] ?? name)
  }
  return names
}

/** Fits what a file describes to a collection's schema. Fields that the schema does not know stay, to be named. */
export function fitDraft(schema: Schema, draft: Draft): Draft {
  const { derived = [], bodyWithTitle, listSeparator, ...known } = draft
  const names = namesInSchema(schema, Object.keys(draft.value))
  const fieldOf = (name: string): Field | undefined => schema.get(names.get(name) ?? name)
  // A heading that finds no field as a title goes back to where it stood.
  const titleIsLost = derived.includes('title') && fieldOf('title') === undefined

  const lost: string[] = []
  const fitted = Object.entries(draft.value).flatMap(([name, value]): [string, unknown][] => {
    const field = fieldOf(name)
    if (field === undefined && derived.includes(name)) {
      // A slug or a title can be done without; what somebody wrote cannot.
      if (name === 'body' && value !== '') lost.push('the collection has no field "body" for the text')
      return []
    }
    if (field === undefined) return [[name, value]]
    const whole = name === 'body' && titleIsLost ? (bodyWithTitle ?? value) : value
    return [[names.get(name) ?? name, fitValue(field, whole, listSeparator)]]
  })
  const emptied = fitted.filter(([, value]) => value === undefined).map(([name]) => name)
  return {
    ...known,
    problems: [...known.problems, ...lost],
    value: Object.fromEntries(fitted.filter(([, value]) => value !== undefined)),
    ...(emptied.length > 0 && { emptied }),
  }
}
