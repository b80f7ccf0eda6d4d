import { scalarsIn } from './index-keys.ts'
import { isMedia, isRecord, leafOf, type Schema } from './schema.ts'

/** What every S3-compatible store accepts, and what is one plain folder name. */
export const bucketNamePattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

const maxKeyLength = 500
/** File systems take names of 255 bytes; some room is left for the endings of drafts and derivatives. */
const maxPartBytes = 200
/** Letters of any script, digits and a few signs: nothing that a path, a URL or a shell reads as an instruction. */
const segmentPattern = /^[\p{L}\p{N}_+@()=,'!~ -][\p{L}\p{M}\p{N}_.+@()=,'!~ -]*$/u

/** A key is a relative path that cannot leave its bucket: no `..`, no hidden names, no empty parts, no backslash. */
export function isMediaKey(key: string): boolean {
  if (key.length > maxKeyLength || !key.isWellFormed()) return false
  return key.split('/').every((part) => segmentPattern.test(part) && Buffer.byteLength(part) <= maxPartBytes)
}

/** Groups may share a bucket; each has its own folder in it and can name nothing outside. */
export function isKeyOfGroup(groupId: string, key: string): boolean {
  return isMediaKey(key) && key.startsWith(`${groupId}/`)
}

/** A key as a part of a URL. */
export function encodeMediaKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/')
}

/** The keys of all files that an object shows. */
export function mediaKeysIn(schema: Schema, objectValue: Record<string, unknown>): string[] {
  return [...schema]
    .filter(([, field]) => isMedia(leafOf(field)))
    .flatMap(([name, field]) => scalarsIn(field, objectValue[name]))
    .flatMap((media) => (isRecord(media) && typeof media.key === 'string' ? [media.key] : []))
}
