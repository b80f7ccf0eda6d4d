import { mediaKeysInHtml } from './html-media.ts'
import { scalarsIn } from './index-keys.ts'
import { isMediaValue, mapMedia } from './media-values.ts'
import { type Field, isMedia, leafOf, mayHoldHtml, type Schema } from './schema.ts'

/** A place where content shows a file. */
export interface MediaUse {
  key: string
  /** What a media field says that the file is; a text that refers to it says nothing. */
  type?: string
}

function usesOfField(field: Field, value: unknown): MediaUse[] {
  if (isMedia(leafOf(field))) return scalarsIn(field, value).filter(isMediaValue)
  if (!mayHoldHtml(field)) return []
  return scalarsIn(field, value).flatMap((text) =>
    typeof text === 'string' ? mediaKeysInHtml(text).map((key) => ({ key })) : [],
  )
}

/** Every file that an object shows, in its media fields and in its texts. */
export function mediaUsesIn(schema: Schema, objectValue: Record<string, unknown>): MediaUse[] {
  return [...schema].flatMap(([name, field]) => usesOfField(field, objectValue[name]))
}

/** The keys of these files, each once. */
export function mediaKeysIn(schema: Schema, objectValue: Record<string, unknown>): string[] {
  return [...new Set(mediaUsesIn(schema, objectValue).map(({ key }) => key))]
}

/** And of all that are shown on a page. */
export function mediaKeysOfAll(schema: Schema, objects: readonly { value: Record<string, unknown> }[]): string[] {
  return [...new Set(objects.flatMap(({ value }) => mediaKeysIn(schema, value)))]
}

/** Every file in a structure of any shape, such as a site's settings. */
export function mediaUsesAnywhere(value: unknown): MediaUse[] {
  const uses: MediaUse[] = []
  mapMedia(value, (media) => uses.push(media))
  return uses
}

/** A media field for files takes any; one for pictures or videos takes these only. */
export function problemOfUse({ key, type }: MediaUse, stored: { type: string } | undefined): string | undefined {
  if (!stored) return `there is no file with the key "${key}": upload it first, and use the key that you are told`
  if (type === undefined || type === 'file' || type === stored.type) return undefined
  return `the file with the key "${key}" is of the type ${stored.type}, not ${type}`
}
