import { invalid } from '../core/errors.ts'
import { isDecimalText } from './decimal.ts'
import { hasTooManyUrls, maxUrls } from './html-media.ts'
import { scalarsIn } from './index-keys.ts'
import { isDeeperThan, problemInJson } from './json.ts'
import { isKeyOfGroup, isMediaKey } from './media-keys.ts'
import { mediaKeysIn } from './media-uses.ts'
import { isDate, isTime, parseDateTime } from './moments.ts'
import {
  type BlocksField,
  type Field,
  isMedia,
  isNested,
  isRecord,
  isVariantMap,
  type LeafField,
  type ListField,
  leafOf,
  type ObjectField,
  type ScalarField,
  type Schema,
  schemaOf,
  schemaOfBlock,
  type VariantField,
} from './schema.ts'
import { memberPath } from './shapes.ts'
import { hasLongMarkRun, isStorableText } from './texts.ts'

/** Scalars in one field of one object, over all its variants. */
const maxValuesPerField = 1000
/** A page of a hundred objects must still fit into an answer. */
export const maxValueCharacters = 1_000_000
/** Objects and the values in them, over all fields of one object. */
export const maxNestedValues = 10_000
const maxJsonCharacters = 100_000
const maxJsonDepth = 20
const maxProblems = 1000
const maxProblemsShown = 20
const maxVariantNameLength = 100
export const colorPattern = /^(#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|(rgb|hsl)a?\([0-9.,%/ deg]{3,40}\))$/
const idPattern = /^[0-9a-f]{24}$/
const slugPattern = /^[a-z0-9]+(?:[-/_.][a-z0-9]+)*$/

function lengthProblem(field: ScalarField, text: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field
  if (text.length < minLength) return `must have at least ${minLength} characters`
  if (text.length > maxLength) return `must have at most ${maxLength} characters`
  return undefined
}

function rangeProblem(field: ScalarField, value: number): string | undefined {
  if (field.min !== undefined && value < field.min) return `must be at least ${field.min}`
  if (field.max !== undefined && value > field.max) return `must be at most ${field.max}`
  return undefined
}

function textProblem(field: ScalarField, text: string): string | undefined {
  if (!isStorableText(text)) return 'contains a character that cannot be stored'
  if (hasLongMarkRun(text)) return 'has more than 30 combining marks on one character'
  switch (field.type) {
    case 'slug':
      return slugPattern.test(text)
        ? lengthProblem(field, text)
        : 'must be lower-case letters, digits and single - _ . or /'
    case 'date':
      return isDate(text) ? undefined : 'must be a date such as 2026-03-01'
    case 'time':
      return isTime(text) ? undefined : 'must be a time such as 09:30'
    case 'dateTime':
      return parseDateTime(text) === undefined ? 'must be a moment such as 2026-03-01T09:30:00Z' : undefined
    case 'enum':
      return field.values?.includes(text) ? undefined : `must be one of ${field.values?.join(', ')}`
    case 'color':
      return colorPattern.test(text) ? undefined : 'must be a colour such as #7c3aed'
    default:
      return lengthProblem(field, text) ?? addressProblem(text)
  }
}

const addressProblem = (html: string): string | undefined =>
  hasTooManyUrls(html) ? `must have at most ${maxUrls} link and picture URLs` : undefined

function scalarProblem(field: ScalarField, value: unknown): string | undefined {
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'integer':
      return Number.isSafeInteger(value) ? rangeProblem(field, value as number) : 'must be a whole number'
    case 'decimal':
      if (typeof value === 'string' && isDecimalText(value)) return rangeProblem(field, Number(value))
      return typeof value === 'number' && Number.isFinite(value)
        ? rangeProblem(field, value)
        : 'must be a decimal number such as "4.50"'
    default:
      return typeof value === 'string' ? textProblem(field, value) : 'must be a text'
  }
}

/** Why a value is not a reference to a file of this media type. Whether the file is the group's is checked elsewhere. */
export function mediaProblem(type: string, value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be a media value with name, key and type'
  for (const part of ['name', 'key', 'type']) {
    const text = value[part]
    if (typeof text !== 'string' || text === '' || !isStorableText(text)) return `must be a media value with a ${part}`
  }
  if (!isMediaKey(value.key as string)) return 'must have a key of plain names separated by single slashes'
  return value.type === type ? undefined : `must be of type ${type}`
}

/** A delivered value sent back unchanged would store a URL that expires. */
const deliveredProblem = (media: object): string | undefined =>
  Object.hasOwn(media, 'currentFile') ? 'must not have currentFile, which is added on delivery' : undefined

export const isVariantName = (name: string): boolean =>
  name !== '' && name !== '__proto__' && name.length <= maxVariantNameLength && isStorableText(name)

/** `sections.2` for an item with fields of its own, as in the paths of fields; `tags[2]` for any other. */
export const pathOfItem = (path: string, { of }: ListField, position: number): string =>
  isNested(of) ? `${path}.${position}` : `${path}[${position}]`

function* problemsOfList(path: string, field: ListField, value: unknown): Generator<string> {
  const items = itemsOf(path, field, value)
  if (typeof items === 'string') return yield items
  for (const [position, item] of items.entries())
    yield* problemsOfField(pathOfItem(path, field, position), field.of, item)
}

/** The items, or the problem with the list as a whole. */
function itemsOf(path: string, { maxItems }: { maxItems?: number }, value: unknown): unknown[] | string {
  if (!Array.isArray(value)) return `${path} must be a list`
  return maxItems !== undefined && value.length > maxItems ? `${path} must have at most ${maxItems} entries` : value
}

function* problemsOfBlocks(path: string, field: BlocksField, value: unknown): Generator<string> {
  const items = itemsOf(path, field, value)
  if (typeof items === 'string') return yield items
  for (const [position, item] of items.entries()) {
    const itemPath = `${path}.${position}`
    const schema = isRecord(item) ? schemaOfBlock(field, item.type) : undefined
    if (isRecord(item) && schema) yield* problemsOfMembers(itemPath, schema, item)
    else if (isRecord(item)) yield `${itemPath}.type must be one of ${Object.keys(field.blocks).join(', ')}`
    else yield `${itemPath} must be an object with a type`
  }
}

function* problemsOfObject(path: string, { fields }: ObjectField, value: unknown): Generator<string> {
  if (isRecord(value)) yield* problemsOfMembers(path, schemaOf(fields), value)
  else yield `${path} must be an object`
}

const isMissing = (value: unknown): boolean => value === undefined || value === null

const requiredBySchema = new WeakMap<Schema, readonly string[]>()

function requiredNames(schema: Schema): readonly string[] {
  const names = requiredBySchema.get(schema) ?? [...schema].flatMap(([name, { required }]) => (required ? [name] : []))
  requiredBySchema.set(schema, names)
  return names
}

function* problemsOfMembers(path: string, schema: Schema, value: Record<string, unknown>): Generator<string> {
  for (const name of requiredNames(schema)) if (isMissing(value[name])) yield `${path}.${name} is required`
  // Not the schema's fields: a list may have thousands of objects with few of them.
  for (const [name, item] of Object.entries(value)) {
    const field = schema.get(name)
    if (!field) yield `${memberPath(path, name)} is not in the schema`
    else if (!isMissing(item)) yield* problemsOfField(`${path}.${name}`, field, item)
  }
}

function* problemsOfVariant(path: string, field: VariantField, value: unknown): Generator<string> {
  if (!isVariantMap(field, value)) return yield* problemsOfField(path, field.of, value)
  const entries = Object.entries(value)
  if (entries.length === 0) yield `${path} must name at least one variant`
  for (const [name, item] of entries) {
    if (isVariantName(name)) yield* problemsOfField(`${path}.${name}`, field.of, item)
    else yield `${path} has an invalid variant name`
  }
}

/** Any JSON that every program can read again. */
function jsonProblem(value: unknown): string | undefined {
  if (isDeeperThan(maxJsonDepth, value)) return `must be nested at most ${maxJsonDepth} deep`
  if (JSON.stringify(value).length > maxJsonCharacters)
    return `must have at most ${maxJsonCharacters} characters as JSON`
  return problemInJson(value)
}

function leafProblem(field: LeafField, value: unknown): string | undefined {
  if (isMedia(field)) return mediaProblem(field.type, value) ?? deliveredProblem(value as object)
  if (field.type === 'json') return jsonProblem(value)
  if (field.type !== 'reference') return scalarProblem(field, value)
  return typeof value === 'string' && idPattern.test(value) ? undefined : 'must be the id of an object'
}

/** What violates a field's rules, except that it is required. The value must not be missing. */
export function* problemsOfField(path: string, field: Field, value: unknown): Generator<string> {
  if (field.type === 'list') return yield* problemsOfList(path, field, value)
  if (field.type === 'variant') return yield* problemsOfVariant(path, field, value)
  if (field.type === 'object') return yield* problemsOfObject(path, field, value)
  if (field.type === 'blocks') return yield* problemsOfBlocks(path, field, value)
  const problem = leafProblem(field, value)
  if (problem !== undefined) yield `${path} ${problem}`
}

/** Objects and the values in them; a `json` value counts as one. Nested at most as deep as the schema. */
function countNested(field: Field, value: unknown): number {
  if (field.type === 'list' && Array.isArray(value))
    return value.reduce((sum: number, item) => sum + countNested(field.of, item), 0)
  if (field.type === 'object') return countMembers(schemaOf(field.fields), value)
  if (field.type === 'blocks' && Array.isArray(value))
    return value.reduce(
      (sum: number, item) => sum + countMembers(isRecord(item) ? schemaOfBlock(field, item.type) : undefined, item),
      0,
    )
  return 1
}

function countMembers(schema: Schema | undefined, value: unknown): number {
  if (!isRecord(value)) return 1
  const members = Object.entries(value).map(([name, item]) => {
    const field = schema?.get(name)
    return field ? countNested(field, item) : 1
  })
  return members.reduce((sum, count) => sum + count, 1)
}

const isNestedField = (field: Field): boolean => isNested(leafOf(field))

function hasTooManyNested(schema: Schema, objectValue: Record<string, unknown>): boolean {
  const counts = schema
    .entries()
    .map(([name, field]) => (isNestedField(field) ? countNested(field, objectValue[name]) : 0))
  return counts.reduce((sum, count) => sum + count, 0) > maxNestedValues
}

function* everyProblem(schema: Schema, objectValue: Record<string, unknown>): Generator<string> {
  for (const name of Object.keys(objectValue))
    if (!schema.has(name)) yield `objectValue.${name} is not a field of this collection`
  for (const [name, field] of schema) {
    const value = objectValue[name]
    if (value === undefined || value === null) {
      if (field.required) yield `objectValue.${name} is required`
    } else if (!isNestedField(field) && scalarsIn(field, value).length > maxValuesPerField) {
      yield `objectValue.${name} must have at most ${maxValuesPerField} values`
    } else {
      yield* problemsOfField(`objectValue.${name}`, field, value)
    }
  }
}

/** What violates the schema, as messages: the first of very many. */
export function problemsOf(schema: Schema, objectValue: unknown): string[] {
  if (!isRecord(objectValue)) return ['objectValue must be an object']
  if (JSON.stringify(objectValue).length > maxValueCharacters)
    return [`objectValue must have at most ${maxValueCharacters} characters as JSON`]
  if (hasTooManyNested(schema, objectValue))
    return [`objectValue must have at most ${maxNestedValues} values inside objects and blocks`]
  return [...everyProblem(schema, objectValue).take(maxProblems)]
}

/** Throws if a group cannot store this value in the container; one error names every problem. */
export function checkObjectValue(schema: Schema, groupId: string, objectValue: unknown): void {
  const problems = problemsOf(schema, objectValue)
  if (problems.length === 0) {
    const foreignKeys = mediaKeysIn(schema, objectValue as Record<string, unknown>).filter(
      (key) => !isKeyOfGroup(groupId, key),
    )
    problems.push(...foreignKeys.map((key) => `the media key "${key}" does not belong to this group`))
  }
  refuse(problems)
}

/** Throws one error with all problems, or with the first of very many. */
export function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return
  const more = problems.length > maxProblemsShown ? `; and ${problems.length - maxProblemsShown} more` : ''
  throw invalid(`${problems.slice(0, maxProblemsShown).join('; ')}${more}.`)
}
