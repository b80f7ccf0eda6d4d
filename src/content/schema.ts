import { invalid } from '../core/errors.ts'

/**
 * A schema defines the fields of a collection's objects or an integration's products: what is accepted on write, what is
 * delivered, and what a client may filter, sort and search by.
 */
export const mediaTypes = ['image', 'video', 'file'] as const
export const scalarTypes = [
  'text', 'longText', 'slug', 'integer', 'decimal', 'boolean', 'date', 'dateTime', 'time', 'enum', 'color',
] as const // biome-ignore format: one line reads better

export type MediaType = (typeof mediaTypes)[number]
export type ScalarType = (typeof scalarTypes)[number]

interface FieldRules {
  required?: boolean
  /** Never delivered, filtered, sorted or searched; a reviewer's e-mail, for example. */
  private?: boolean
  filterable?: boolean
  sortable?: boolean
  searchable?: boolean
  /** Whether no two objects of the container may have the same value. */
  unique?: boolean
}

export interface ScalarField extends FieldRules {
  type: ScalarType
  minLength?: number
  maxLength?: number
  min?: number
  max?: number
  /** The allowed values of an `enum`. */
  values?: string[]
}

export interface MediaField extends FieldRules {
  type: MediaType
}

export interface ListField extends FieldRules {
  type: 'list'
  of: ScalarField | MediaField
  maxItems?: number
}

/** One value for all, or a map of one value per variant. */
export interface VariantField extends FieldRules {
  type: 'variant'
  of: ScalarField | MediaField | ListField
}

export type Field = ScalarField | MediaField | ListField | VariantField
export type Schema = ReadonlyMap<string, Field>

/** Names that the service writes into `objectValue`. */
export const reservedFieldNames = ['_id', 'mediaFields']
const fieldNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const maxFields = 200
const maxEnumValues = 1000
const maxLabelLength = 200

const indexable: ReadonlySet<string> = new Set([
  'text', 'slug', 'integer', 'decimal', 'boolean', 'date', 'dateTime', 'time', 'enum', 'color',
]) // biome-ignore format: one line reads better
/** Types with more than a few values, of which an object has one. */
export const uniqueTypes: readonly string[] = [
  'text', 'slug', 'integer', 'decimal', 'date', 'dateTime', 'time', 'color', 'enum',
] // biome-ignore format: one line reads better
const searchable: ReadonlySet<string> = new Set(['text', 'longText', 'slug', 'enum'])

/** The scalar or media field inside lists and variants. */
export const leafOf = (field: Field): ScalarField | MediaField =>
  field.type === 'variant' || field.type === 'list' ? leafOf(field.of) : field

export const isMedia = (field: Field): field is MediaField => (mediaTypes as readonly string[]).includes(field.type)

/** Whether its text may be HTML that refers to files. */
export function mayHoldHtml(field: Field): boolean {
  const { type } = leafOf(field)
  return type === 'text' || type === 'longText'
}

export const isFilterable = (field: Field): boolean =>
  !field.private && (field.filterable ?? true) && indexable.has(leafOf(field).type)

export function isSortable(field: Field): boolean {
  const holdsList = field.type === 'list' || (field.type === 'variant' && field.of.type === 'list')
  return !field.private && !holdsList && (field.sortable ?? true) && indexable.has(leafOf(field).type)
}

export const isSearchable = (field: Field): boolean =>
  !field.private && (field.searchable ?? true) && searchable.has(leafOf(field).type)

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a variant field has one value per variant. A media value is an object too, recognised by its key. */
export const isVariantMap = (field: VariantField, value: unknown): value is Record<string, unknown> =>
  isRecord(value) && !(isMedia(field.of) && typeof value.key === 'string')

export const booleanRules = ['required', 'private', 'filterable', 'sortable', 'searchable']
const fieldRules = [...booleanRules, 'unique']
export const limitRules: Record<string, readonly string[]> = {
  minLength: ['text', 'longText', 'slug'],
  maxLength: ['text', 'longText', 'slug'],
  min: ['integer', 'decimal'],
  max: ['integer', 'decimal'],
  maxItems: ['list'],
}
const countRules = ['minLength', 'maxLength', 'maxItems']
const limitPairs = [
  ['min', 'max'],
  ['minLength', 'maxLength'],
] as const

function* problemsOfRule(path: string, type: string, rule: string, value: unknown): Generator<string> {
  if (booleanRules.includes(rule) || (rule === 'unique' && uniqueTypes.includes(type))) {
    if (typeof value !== 'boolean') yield `${path}.${rule} must be true or false.`
  } else if (Object.hasOwn(limitRules, rule) && limitRules[rule]?.includes(type)) {
    if (typeof value !== 'number' || !Number.isFinite(value)) yield `${path}.${rule} must be a number.`
    else if (countRules.includes(rule) && !(Number.isSafeInteger(value) && value >= 0))
      yield `${path}.${rule} must be a whole number, 0 or more.`
  } else if (rule === 'values' && type === 'enum') {
    const ok =
      Array.isArray(value) &&
      value.length > 0 &&
      value.length <= maxEnumValues &&
      value.every((item) => typeof item === 'string')
    if (!ok) return yield `${path}.values must be a list of 1 to ${maxEnumValues} texts.`
    const repeated = value.toSorted().find((item, position, sorted) => item === sorted[position - 1])
    if (repeated !== undefined) yield `${path}.values has "${repeated}" more than once.`
  } else if (rule === 'label') {
    if (typeof value !== 'string' || value.length > maxLabelLength)
      yield `${path}.label must be a text of at most ${maxLabelLength} characters.`
  } else {
    yield `${path} has the rule "${rule}", which the type "${type}" does not have.`
  }
}

/** No value could satisfy contradictory limits. */
function* problemsOfLimits(path: string, rules: Record<string, unknown>): Generator<string> {
  const contradiction = limitPairs.find(([least, most]) => Number(rules[least]) > Number(rules[most]))
  if (contradiction) yield `${path}.${contradiction[0]} must not be greater than ${path}.${contradiction[1]}.`
}

function* problemsOfField(path: string, input: unknown, allowedTypes: readonly string[]): Generator<string> {
  if (!isRecord(input)) return yield `${path} must be an object with a "type".`
  const { type, of, ...rules } = input
  if (typeof type !== 'string' || !allowedTypes.includes(type)) {
    return yield `${path}.type must be one of ${allowedTypes.join(', ')}.`
  }
  for (const [rule, value] of Object.entries(rules)) yield* problemsOfRule(path, type, rule, value)
  yield* problemsOfLimits(path, rules)
  if (type === 'enum' && rules.values === undefined) yield `${path} is an enum and needs "values".`
  const leaves = [...scalarTypes, ...mediaTypes]
  if (type === 'list') yield* problemsOfInnerField(`${path}.of`, of, leaves)
  else if (type === 'variant') yield* problemsOfInnerField(`${path}.of`, of, [...leaves, 'list'])
  else if (of !== undefined) yield `${path} has "of", which only list and variant have.`
}

/** "private" inside a list would have no effect and the values would be delivered: refused, not ignored. */
function* problemsOfInnerField(path: string, input: unknown, allowedTypes: readonly string[]): Generator<string> {
  const misplaced = isRecord(input) ? fieldRules.find((rule) => Object.hasOwn(input, rule)) : undefined
  if (misplaced) yield `${path} has the rule "${misplaced}", which belongs to the field itself.`
  yield* problemsOfField(path, input, allowedTypes)
}

export function fieldNameProblem(name: string): string | undefined {
  if (!fieldNamePattern.test(name))
    return `"${name}" cannot be a field name: a letter, then up to 63 letters, digits, _ or -`
  // Every object inherits names like "constructor": a missing value would look present.
  if (reservedFieldNames.includes(name) || name in Object.prototype)
    return `"${name}" is reserved and cannot be a field name`
  return undefined
}

const maxProblems = 20
const maxProblemLength = 300

function* problemsOfFields(entries: readonly [string, unknown][]): Generator<string> {
  for (const [name, field] of entries) {
    const problem = fieldNameProblem(name)
    if (problem !== undefined) yield `${problem}.`
    else yield* problemsOfField(name, field, [...scalarTypes, ...mediaTypes, 'list', 'variant'])
  }
}

/** Parses an object of field name → field. Throws a `ValidationError` that names every problem, up to a limit. */
export function parseSchema(input: unknown): Schema {
  if (!isRecord(input)) throw invalid('A schema must be an object of field name → field.')
  const entries = Object.entries(input)
  if (entries.length > maxFields) throw invalid(`A schema has at most ${maxFields} fields.`)
  const problems = [...problemsOfFields(entries).take(maxProblems + 1)]
  if (problems.length > 0) {
    const shown = problems.slice(0, maxProblems).map((problem) => problem.slice(0, maxProblemLength).toWellFormed())
    throw invalid([...shown, ...(problems.length > maxProblems ? ['There is more.'] : [])].join(' '))
  }
  return new Map(entries as [string, Field][])
}
