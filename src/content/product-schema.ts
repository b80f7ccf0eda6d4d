import { AppError } from '../core/errors.ts'
import { quoted } from './catalogue.ts'
import { isDecimalText } from './decimal.ts'
import { type Field, isRecord, isScalar, type ScalarField, type Schema } from './schema.ts'
import { checkObjectValue, problemsOf } from './validate.ts'

export const maxNameCharacters = 250
export const maxMetadataFields = 100

/** Customers search names and descriptions, not ids and codes. */
export const productSchema: Schema = new Map<string, Field>([
  ['name', { type: 'variant', of: { type: 'text', maxLength: maxNameCharacters }, required: true }],
  ['price', { type: 'variant', of: { type: 'decimal', min: 0 }, required: true, searchable: false }],
  ['description', { type: 'variant', of: { type: 'longText' } }],
  ['productImage', { type: 'variant', of: { type: 'image' }, searchable: false }],
  ['default_price', { type: 'variant', of: { type: 'text', maxLength: 255 }, required: true, searchable: false }],
  ['productType', { type: 'text', maxLength: 500, searchable: false }],
  ['currency', { type: 'variant', of: { type: 'text', maxLength: 3 }, searchable: false }],
  ['interval', { type: 'variant', of: { type: 'text', maxLength: 40 }, searchable: false }],
  ['variantName', { type: 'text', maxLength: 500, searchable: false }],
])

export const metadataField: Field = { type: 'variant', of: { type: 'text', maxLength: 500 }, searchable: false }

type Value = Record<string, unknown>

const fits = (name: string, field: Field, value: Value): boolean =>
  problemsOf(new Map([[name, field]]), { [name]: value[name] }).length === 0

/** The schema extended so that it accepts these values; what it accepted before, it still accepts. */
export function widenSchema(current: Schema, values: readonly Value[]): Schema {
  const wide = new Map(current)
  for (const [name, field] of productSchema) {
    const existing = wide.get(name)
    // Existing products may lack it.
    if (!existing || isTooNarrow(name, existing, values))
      wide.set(name, { ...field, required: existing?.required ?? false })
  }
  const maxSize = wide.size + maxMetadataFields - [...wide.keys()].filter((name) => !productSchema.has(name)).length
  for (const name of values.flatMap((value) => Object.keys(value)))
    if (wide.size < maxSize && !wide.has(name)) wide.set(name, metadataField)
  return wide
}

/** Whether a field rejects a value that ours would accept, or hides what must be delivered. */
function isTooNarrow(name: string, existing: Field, values: readonly Value[]): boolean {
  const ours = productSchema.get(name)
  if (!ours) return false
  if (name === 'variantName' && existing.private) return true
  return values.some((value) => Object.hasOwn(value, name) && !fits(name, existing, value) && fits(name, ours, value))
}

/** The part of a value that can be stored under a schema; undefined if a required field is missing. */
export function fitValue(
  schema: Schema,
  groupId: string,
  written: Value,
  /** The product that the problems name. */
  key = '',
): { value: Value | undefined; problems: string[] } {
  const problems: string[] = []
  const value = Object.fromEntries(Object.entries(written).map(([name, item]) => [name, readField(schema, name, item)]))
  const fitting = Object.entries(value).filter(([name, item]) => {
    const field = schema.get(name)
    const problem = field
      ? problemOfField(name, field, groupId, item, key)
      : `metadata.${name} is left out: products have at most ${maxMetadataFields} such fields.`
    if (problem !== undefined) problems.push(problem)
    return problem === undefined
  })
  const fitted = Object.fromEntries(fitting)
  const isWhole = [...productSchema].every(([name, { required }]) => !required || Object.hasOwn(fitted, name))
  const problem = problemWith(schema, groupId, fitted)
  if (problem !== undefined) problems.push(problem)
  return { value: isWhole && problem === undefined ? fitted : undefined, problems }
}

function readField(schema: Schema, name: string, item: unknown): unknown {
  const field = productSchema.has(name) ? undefined : schema.get(name)
  return field ? readMetadata(field, item) : item
}

function problemOfField(name: string, field: Field, groupId: string, item: unknown, key: string): string | undefined {
  const problem = problemWith(new Map([[name, field]]), groupId, { [name]: item })
  if (problem === undefined || productSchema.has(name)) return problem
  const reason =
    isRecord(item) && field.type !== 'variant'
      ? 'it differs between variants, and the schema declares one value for all.'
      : problem
  return `metadata.${name} of the product ${quoted(key)} is left out: ${reason}`
}

function problemWith(schema: Schema, groupId: string, value: Value): string | undefined {
  try {
    checkObjectValue(schema, groupId, value)
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** Digits beyond a number's precision stay text, which then does not fit. */
const maxDigits = 15

function readScalar({ type }: ScalarField, text: string): unknown {
  const digits = text.replace(/\D/g, '').length
  if (type === 'integer' && /^-?\d+$/.test(text) && digits <= maxDigits) return Number(text)
  if (type === 'decimal' && isDecimalText(text) && digits <= maxDigits) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Metadata is text: converts it, or one text per variant, to the field's type. Unreadable text stays, and does not fit. */
export function readMetadata(field: Field, item: unknown): unknown {
  if (isRecord(item) && field.type === 'variant')
    return Object.fromEntries(Object.entries(item).map(([variant, text]) => [variant, readMetadata(field.of, text)]))
  if (field.type === 'variant') return readMetadata(field.of, item)
  if (typeof item !== 'string') return item
  if (field.type !== 'list') return isScalar(field) ? readScalar(field, item) : item
  const { of } = field
  return isScalar(of) ? partsOf(item).map((part) => readScalar(of, part)) : item
}
