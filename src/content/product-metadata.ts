import { maxMetadataFields, metadataField, productSchema, readMetadata } from './product-schema.ts'
import { type Field, isRecord, isScalar, leafOf, type Schema } from './schema.ts'
import { problemsOf, refuse } from './validate.ts'

/** The inverse of `readMetadata`, as closely as possible: the next sync brings the provider's own text. */
function writeMetadata(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(String).join(',')
  if (isRecord(item))
    return Object.fromEntries(Object.entries(item).map(([variant, part]) => [variant, writeMetadata(part)]))
  return item === null || typeof item === 'string' ? item : String(item)
}

function problemOfDeclared(name: string, field: Field, current: Field | undefined): string | undefined {
  if (productSchema.has(name))
    return JSON.stringify(field) === JSON.stringify(current)
      ? undefined
      : `schema.${name} is the provider's own field and cannot be redefined`
  if (!isScalar(leafOf(field)))
    return `schema.${name} must have a type that text can be converted to, not ${leafOf(field).type}`
  if (field.required) return `schema.${name} cannot be required: the provider decides which metadata a product has`
  if (field.unique) return `schema.${name} cannot be unique: the provider decides which values its products have`
  if (field.searchable) return `schema.${name} cannot be searchable: searches only cover names and descriptions`
  return undefined
}

/** The products' schema with types for these metadata fields. All other metadata is text. */
export function declareMetadata(current: Schema, declared: Schema): Schema {
  refuse([...declared].flatMap(([name, field]) => problemOfDeclared(name, field, current.get(name)) ?? []))
  const known = [...current]
    .filter(([name]) => !productSchema.has(name))
    .map(([name]) => [name, metadataField] as const)
  const wanted = [...declared]
    .filter(([name]) => !productSchema.has(name))
    .map(([name, field]) => [name, { ...field, searchable: false }] as const)
  const metadata = new Map<string, Field>([...known, ...wanted])
  if (metadata.size > maxMetadataFields) refuse([`products have at most ${maxMetadataFields} fields of metadata`])
  const own = [...productSchema].map(([name, field]) => [name, current.get(name) ?? field] as const)
  return new Map<string, Field>([...own, ...metadata])
}

/** A product's value under another schema, and the names of the fields that do not fit it. */
export function retypeMetadata(
  before: Schema,
  after: Schema,
  value: Record<string, unknown>,
): { value: Record<string, unknown>; leftOut: string[] } {
  const leftOut: string[] = []
  const entries = Object.entries(value).flatMap(([name, item]): [string, unknown][] => {
    const field = after.get(name)
    if (!field || JSON.stringify(field) === JSON.stringify(before.get(name)) || item === null) return [[name, item]]
    const read = readMetadata(field, writeMetadata(item))
    if (problemsOf(new Map([[name, field]]), { [name]: read }).length === 0) return [[name, read]]
    leftOut.push(name)
    return []
  })
  return { value: Object.fromEntries(entries), leftOut }
}
