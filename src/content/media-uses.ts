import { mediaKeysInHtml } from './html-media.ts'
import { type Leaf, leavesIn } from './leaves.ts'
import { type Field, isMedia, isRecord, mayHoldHtml, mediaTypes, type Schema, schemaOfValue } from './schema.ts'

/** A reference to a file in content. */
export interface MediaUse {
  key: string
  /** The type stated by a media value; a reference in a text has none. */
  type?: string
}

function usesOfLeaf({ field, value }: Leaf): MediaUse[] {
  if (isMedia(field)) return isMediaValue(value) ? [value] : []
  return mayHoldHtml(field) && typeof value === 'string' ? mediaKeysInHtml(value).map((key) => ({ key })) : []
}

/** Every reference to a file in an object's media fields and texts, at any depth. */
export const mediaUsesIn = (schema: Schema, objectValue: Record<string, unknown>): MediaUse[] => [
  ...leavesIn(schema, objectValue).flatMap(usesOfLeaf),
]

export const mediaKeysIn = (schema: Schema, objectValue: Record<string, unknown>): string[] => [
  ...new Set(mediaUsesIn(schema, objectValue).map(({ key }) => key)),
]

export const mediaKeysOfAll = (schema: Schema, objects: readonly { value: Record<string, unknown> }[]): string[] => [
  ...new Set(objects.flatMap(({ value }) => mediaKeysIn(schema, value))),
]

/** Every media value in a structure of any shape, such as a site's settings. */
export function mediaUsesAnywhere(value: unknown): MediaUse[] {
  const uses: MediaUse[] = []
  mapMedia(value, (media) => uses.push(media))
  return uses
}

/** A `file` field accepts any file; an image or video field accepts only its type. */
export function problemOfUse({ key, type }: MediaUse, stored: { type: string } | undefined): string | undefined {
  if (!stored) return `there is no file with the key "${key}": upload it first, and use the key from the answer`
  if (type === undefined || type === 'file' || type === stored.type) return undefined
  return `the file with the key "${key}" is of the type ${stored.type}, not ${type}`
}

/** How content refers to a file. */
export interface MediaReference {
  name: string
  key: string
  type: string
}

export function isMediaValue(value: unknown): value is MediaReference {
  return (
    isRecord(value) &&
    typeof value.name === 'string' &&
    typeof value.key === 'string' &&
    (mediaTypes as readonly unknown[]).includes(value.type)
  )
}

/** A deep copy with every string replaced. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

/** The same for an `objectValue`, except in its JSON, which is kept as it is. */
export const mapFieldTexts = (schema: Schema, value: Record<string, unknown>, change: (text: string) => string) =>
  Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapFieldText(schema.get(name), item, change)]))

function mapFieldText(field: Field | undefined, value: unknown, change: (text: string) => string): unknown {
  if (!field) return mapTexts(value, change)
  if (Array.isArray(value) && (field.type === 'list' || field.type === 'blocks'))
    return value.map((item) => mapFieldText(field.type === 'list' ? field.of : field, item, change))
  if (field.type === 'json') return value
  const schema = isRecord(value) ? schemaOfValue(field, value) : undefined
  return isRecord(value) && schema ? mapFieldTexts(schema, value, change) : mapTexts(value, change)
}

/** A deep copy with every media value replaced. */
export function mapMedia(value: unknown, replace: (media: MediaReference) => unknown): unknown {
  if (isMediaValue(value)) return replace(value)
  if (Array.isArray(value)) return value.map((item) => mapMedia(item, replace))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapMedia(item, replace)]))
}
