import { canonicalDecimal, isDecimalText, parseDecimal } from './decimal.ts'
import { parseDateTime, toIso } from './moments.ts'
import {
  type Field,
  isMedia,
  isVariantMap,
  type ListField,
  type ScalarField,
  type ScalarType,
  type VariantField,
} from './schema.ts'
import { problemsOf } from './validate.ts'

/** What became of a value: itself under its new type, or the sentences that say why it cannot be had there. */
export interface Conversion {
  /** `undefined` where there is nothing to have: the value could not be converted, or it was an empty list. */
  value: unknown
  problems: string[]
}

const dayMs = 24 * 60 * 60 * 1000
/** A problem is to be read: it shows enough of a value to find it, not all of a long text. */
const maxCharactersShown = 60

/** A type in words: "text", "list of text", "variant of list of text". */
export function typeInWords(field: Field): string {
  return field.type === 'list' || field.type === 'variant' ? `${field.type} of ${typeInWords(field.of)}` : field.type
}

/** Carries a value from one type to another when that is exact. Rules such as `max` are not looked at here. */
export function convertValue(path: string, from: Field, to: Field, value: unknown): Conversion {
  if (value === undefined || value === null || typeInWords(from) === typeInWords(to)) return converted(value)
  if (from.type === 'variant') {
    if (!isVariantMap(from, value)) return convertValue(path, from.of, to, value)
    return to.type === 'variant' ? convertVariants(path, from, to, value) : mergeVariants(path, from, to, value)
  }
  if (to.type === 'variant') return convertValue(path, from, to.of, value)
  if (from.type === 'list') return convertList(path, from, to, value)
  if (to.type === 'list') return combine([convertValue(path, from, to.of, value)], (items) => items)
  // A file stays the kind of file it is, and has no text that would stand for it.
  const result = isMedia(from) || isMedia(to) ? undefined : convertScalar(from.type, to, value)
  return result === undefined ? refused(path, to, value) : converted(result)
}

function converted(value: unknown): Conversion {
  return { value, problems: [] }
}

function refused(path: string, to: Field, value: unknown): Conversion {
  return { value: undefined, problems: [`${path} cannot become ${oneOfType(to)}: ${shorten(JSON.stringify(value))}`] }
}

function oneOfType(field: Field): string {
  if (field.type === 'enum') return `one of ${field.values?.join(', ')}`
  const type = typeInWords(field)
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function shorten(text: string): string {
  // The cut may go through a character pair; half a pair could not be stored or sent.
  return text.length > maxCharactersShown ? `${text.slice(0, maxCharactersShown).toWellFormed()}…` : text
}

/** One value made of several, or everything that is wrong with them. */
function combine(parts: Conversion[], build: (values: unknown[]) => unknown): Conversion {
  const problems = parts.flatMap((part) => part.problems)
  return problems.length > 0 ? { value: undefined, problems } : converted(build(parts.map((part) => part.value)))
}

function convertList(path: string, from: ListField, to: Exclude<Field, VariantField>, value: unknown): Conversion {
  if (!Array.isArray(value)) return refused(path, to, value)
  if (to.type === 'list') {
    const items = value.map((item, position) => convertValue(`${path}[${position}]`, from.of, to.of, item))
    return combine(items, (values) => values)
  }
  return value.length > 1 ? refused(path, to, value) : convertValue(path, from.of, to, value[0])
}

function convertVariants(path: string, from: VariantField, to: VariantField, map: Record<string, unknown>): Conversion {
  const names = Object.keys(map)
  const parts = Object.entries(map).map(([name, item]) => {
    const part = convertValue(`${path}.${name}`, from.of, to.of, item)
    // An empty list leaves nothing, and to drop the variant would lose its name.
    return part.value === undefined && part.problems.length === 0 ? refused(`${path}.${name}`, to.of, item) : part
  })
  return combine(parts, (values) => Object.fromEntries(names.map((name, position) => [name, values[position]])))
}

/** One value for all variants, which they must agree on. */
function mergeVariants(path: string, from: VariantField, to: Field, map: Record<string, unknown>): Conversion {
  const parts = Object.entries(map).map(([name, item]) => convertValue(`${path}.${name}`, from.of, to, item))
  const merged = combine(parts, ([first]) => first)
  const differ = new Set(parts.map((part) => JSON.stringify(part.value))).size > 1
  return differ && merged.problems.length === 0 ? refused(path, to, map) : merged
}

/** The value of the new type that a scalar exactly is, if it is one: found by what it prints. */
function convertScalar(from: ScalarType, to: ScalarField, value: unknown): unknown {
  const text = printScalar(value)
  if (text === undefined) return undefined
  const result = to.type === 'decimal' && typeof value === 'number' ? value : readScalar(from, to.type, text)
  const typeAlone: ScalarField = { type: to.type, ...(to.values && { values: to.values }) }
  return problemsOf(new Map([['it', typeAlone]]), { it: result }).length === 0 ? result : undefined
}

/** Numbers are printed without an exponent, so that the text can become a decimal again. */
function printScalar(value: unknown): string | undefined {
  if (typeof value === 'number') return canonicalDecimal(parseDecimal(String(value)))
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined
}

/** What a text may stand for in a type; the caller looks whether it fits there. */
function readScalar(from: ScalarType, to: ScalarType, text: string): unknown {
  switch (to) {
    case 'integer':
      return readInteger(from === 'decimal' && isDecimalText(text) ? canonicalDecimal(parseDecimal(text)) : text)
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined
    case 'date':
      return from === 'dateTime' ? readMidnight(text) : text
    case 'dateTime':
      return from === 'date' ? `${text}T00:00:00.000Z` : text
    default:
      return text
  }
}

/** Only what prints the same again: "007" is a code rather than a 7, and more digits than a number holds stay text. */
function readInteger(text: string): number | undefined {
  const number = Number(text)
  return String(number) === text ? number : undefined
}

/** The day that begins at a moment. Fractions are looked at in the text, which may be finer than milliseconds. */
function readMidnight(text: string): string | undefined {
  const ms = parseDateTime(text)
  const isMidnight = ms !== undefined && ms % dayMs === 0 && !/\.\d*[1-9]/.test(text)
  return isMidnight ? toIso(ms).slice(0, 10) : undefined
}
