import { invalid } from '../core/errors.ts'
import { isDecimalText } from './decimal.ts'
import { hasTooManyUrls, maxUrls } from './html-media.ts'
import { scalarsIn } from './index-keys.ts'
import { isKeyOfGroup, isMediaKey } from './media-keys.ts'
import { mediaKeysIn } from './media-uses.ts'
import { isDate, isTime, parseDateTime } from './moments.ts'
import {
  type Field,
  isMedia,
  isRecord,
  isVariantMap,
  type ListField,
  type ScalarField,
  type Schema,
  type VariantField,
} from './schema.ts'
import { hasLongMarkRun, isStorableText } from './texts.ts'

/** Scalars in one field of one object, over all its variants. */
const maxValuesPerField = 1000
/** A page of a hundred objects must still fit into an answer. */
const maxValueCharacters = 1_000_000
const maxProblemsShown = 20
const maxVariantNameLength = 100
export const colorPattern = /^(#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|(rgb|hsl)a?\([0-9.,%/ deg]{3,40}\))$/
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

function listProblems(path: string, field: ListField, value: unknown): string[] {
  if (!Array.isArray(value)) return [`${path} must be a list`]
  if (field.maxItems !== undefined && value.length > field.maxItems)
    return [`${path} must have at most ${field.maxItems} entries`]
  return value.flatMap((item, position) => fieldProblems(`${path}[${position}]`, field.of, item))
}

export const isVariantName = (name: string): boolean =>
  name !== '' && name !== '__proto__' && name.length <= maxVariantNameLength && isStorableText(name)

function variantProblems(path: string, field: VariantField, value: unknown): string[] {
  if (!isVariantMap(field, value)) return fieldProblems(path, field.of, value)
  const names = Object.keys(value)
  if (names.length === 0) return [`${path} must name at least one variant`]
  return names.flatMap((name) =>
    isVariantName(name)
      ? fieldProblems(`${path}.${name}`, field.of, value[name])
      : [`${path} has an invalid variant name`],
  )
}

function fieldProblems(path: string, field: Field, value: unknown): string[] {
  if (field.type === 'list') return listProblems(path, field, value)
  if (field.type === 'variant') return variantProblems(path, field, value)
  const problem = isMedia(field)
    ? (mediaProblem(field.type, value) ?? deliveredProblem(value as object))
    : scalarProblem(field, value)
  return problem === undefined ? [] : [`${path} ${problem}`]
}

/** What violates the schema, as messages. */
export function problemsOf(schema: Schema, objectValue: unknown): string[] {
  if (!isRecord(objectValue)) return ['objectValue must be an object']
  if (JSON.stringify(objectValue).length > maxValueCharacters)
    return [`objectValue must have at most ${maxValueCharacters} characters as JSON`]
  const unknown = Object.keys(objectValue).filter((name) => !schema.has(name))
  const problems = unknown.map((name) => `objectValue.${name} is not a field of this collection`)
  for (const [name, field] of schema) {
    const value = objectValue[name]
    if (value === undefined || value === null) {
      if (field.required) problems.push(`objectValue.${name} is required`)
    } else if (scalarsIn(field, value).length > maxValuesPerField) {
      problems.push(`objectValue.${name} must have at most ${maxValuesPerField} values`)
    } else {
      problems.push(...fieldProblems(`objectValue.${name}`, field, value))
    }
  }
  return problems
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
