import { canonicalDecimal, isDecimalText, parseDecimal } from './decimal.ts'
import { parseDateTime, toIso } from './moments.ts'
import {
  type Field,
  isMedia,
  isNested,
  isOrHolds,
  isScalar,
  isVariantMap,
  type ListField,
  leafOf,
  type ReferenceField,
  type ScalarField,
  type VariantField,
} from './schema.ts'
import { pathOfItem, problemsOf } from './validate.ts'

/** A value under its new type, or why it cannot be converted. */
export interface Conversion {
  /** `undefined` if the value could not be converted, or was an empty list. */
  value: unknown
  problems: string[]
}

const dayMs = 24 * 60 * 60 * 1000
/** A problem quotes enough of a value to find it. */
const maxCharactersShown = 60

/** "text", "list of text", "variant of list of text". */
export const typeInWords = (field: Field): string =>
  field.type === 'list' || field.type === 'variant' ? `${field.type} of ${typeInWords(field.of)}` : field.type

/** Converts the fields inside a value; undefined if the two fields have none in common. */
export type ConvertInside = (path: string, from: Field, to: Field, value: unknown) => Conversion | undefined

const convertsNothing: ConvertInside = () => undefined

/** Converts a value if that is exact. Rules such as `max` are not checked here. */
export function convertValue(
  path: string,
  from: Field,
  to: Field,
  value: unknown,
  inside: ConvertInside = convertsNothing,
): Conversion {
  if (value === undefined || value === null || isSameLeaf(from, to)) return converted(value)
  if (from.type === 'json' || to.type === 'json') return convertJson(path, from, to, value)
  if (from.type === 'variant') {
    if (!isVariantMap(from, value)) return convertValue(path, from.of, to, value, inside)
    return to.type === 'variant' ? convertVariants(path, from, to, value) : mergeVariants(path, from, to, value)
  }
  if (to.type === 'variant') return convertValue(path, from, to.of, value, inside)
  if (from.type === 'list') return convertList(path, from, to, value, inside)
  if (to.type === 'list') return combine([convertValue(path, from, to.of, value, inside)], (items) => items)
  const changed = inside(path, from, to, value)
  if (changed) return changed
  // Files do not convert, neither to another kind of file nor to text.
  const result = isText(from) && isText(to) ? convertScalar(from.type, to, value) : undefined
  return result === undefined ? refused(path, to, value) : converted(result)
}

/** Whether a value of one is one of the other, as far as types go. */
const isSameLeaf = (from: Field, to: Field): boolean => typeInWords(from) === typeInWords(to) && !isNested(leafOf(from))

/** A scalar, or an id. */
const isText = (field: Field): field is ScalarField | ReferenceField => isScalar(field) || field.type === 'reference'

/** JSON becomes what it is a valid value of. Files would no longer be delivered if they became JSON. */
function convertJson(path: string, from: Field, to: Field, value: unknown): Conversion {
  const fits = problemsOf(new Map([['it', to]]), { it: value }).length === 0
  return fits && !isOrHolds(from, isMedia) ? converted(value) : refused(path, to, value)
}

const converted = (value: unknown): Conversion => ({ value, problems: [] })

const refused = (path: string, to: Field, value: unknown): Conversion => ({
  value: undefined,
  problems: [`${path} cannot become ${oneOfType(to)}: ${shorten(JSON.stringify(value))}`],
})

function oneOfType(field: Field): string {
  if (field.type === 'enum') return `one of ${field.values?.join(', ')}`
  const type = typeInWords(field)
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function shorten(text: string): string {
  // The cut may split a surrogate pair, and half of one could not be stored or sent.
  return text.length > maxCharactersShown ? `${text.slice(0, maxCharactersShown).toWellFormed()}…` : text
}

/** One value made of several, or all their problems. */
export function combine(parts: Conversion[], build: (values: unknown[]) => unknown): Conversion {
  const problems = parts.flatMap((part) => part.problems)
  return problems.length > 0 ? { value: undefined, problems } : converted(build(parts.map((part) => part.value)))
}

function convertList(
  path: string,
  from: ListField,
  to: Exclude<Field, VariantField>,
  value: unknown,
  inside: ConvertInside,
): Conversion {
  if (!Array.isArray(value)) return refused(path, to, value)
  if (to.type === 'list') {
    const items = value.map((item, position) =>
      convertValue(pathOfItem(path, to, position), from.of, to.of, item, inside),
    )
    return combine(items, (values) => values)
  }
  return value.length > 1 ? refused(path, to, value) : convertValue(path, from.of, to, value[0], inside)
}

function convertVariants(path: string, from: VariantField, to: VariantField, map: Record<string, unknown>): Conversion {
  const names = Object.keys(map)
  const parts = Object.entries(map).map(([name, item]) => {
    const part = convertValue(`${path}.${name}`, from.of, to.of, item)
    // An empty list converts to nothing, and dropping the variant would lose its name.
    return part.value === undefined && part.problems.length === 0 ? refused(`${path}.${name}`, to.of, item) : part
  })
  return combine(parts, (values) => Object.fromEntries(names.map((name, position) => [name, values[position]])))
}

/** One value for all variants, which must all have it. */
function mergeVariants(path: string, from: VariantField, to: Field, map: Record<string, unknown>): Conversion {
  const parts = Object.entries(map).map(([name, item]) => convertValue(`${path}.${name}`, from.of, to, item))
  const merged = combine(parts, ([first]) => first)
  const differ = new Set(parts.map((part) => JSON.stringify(part.value))).size > 1
  return differ && merged.problems.length === 0 ? refused(path, to, map) : merged
}

type TextType = ScalarField['type'] | 'reference'

/** The value of the new type that prints the same, if there is one. */
function convertScalar(from: TextType, to: ScalarField | ReferenceField, value: unknown): unknown {
  const text = printScalar(value)
  if (text === undefined) return undefined
  const result = to.type === 'decimal' && typeof value === 'number' ? value : readScalar(from, to.type, text)
  const typeAlone = (to.type === 'enum' ? { type: to.type, values: to.values } : { type: to.type }) as Field
  return problemsOf(new Map([['it', typeAlone]]), { it: result }).length === 0 ? result : undefined
}

/** Numbers are printed without an exponent, so that the text can become a decimal again. */
function printScalar(value: unknown): string | undefined {
  if (typeof value === 'number') return canonicalDecimal(parseDecimal(String(value)))
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined
}

/** The value that a text would be in a type; the caller validates it. */
function readScalar(from: TextType, to: TextType, text: string): unknown {
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

/** Only what prints the same again: "007" is a code rather than a 7, and digits beyond a number's precision stay text. */
function readInteger(text: string): number | undefined {
  const number = Number(text)
  return String(number) === text ? number : undefined
}

/** The day that begins at this time. Fractions are checked in the text, which may be finer than milliseconds. */
function readMidnight(text: string): string | undefined {
  const ms = parseDateTime(text)
  const isMidnight = ms !== undefined && ms % dayMs === 0 && !/\.\d*[1-9]/.test(text)
  return isMidnight ? toIso(ms).slice(0, 10) : undefined
}
