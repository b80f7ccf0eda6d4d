import { isRecord, mediaTypes } from './schema.ts'

/** A file as content refers to it: told from any other object by its three parts. */
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

/** A copy of a structure of any shape in which every text is changed. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]))
}

/** A copy of a structure of any shape in which every media value, wherever it sits, is replaced. */
export function mapMedia(value: unknown, replace: (media: MediaReference) => unknown): unknown {
  if (isMediaValue(value)) return replace(value)
  if (Array.isArray(value)) return value.map((item) => mapMedia(item, replace))
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapMedia(item, replace)]))
}
