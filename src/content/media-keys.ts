import { slugify } from './texts.ts'

/** What every S3-compatible store accepts, and what is one plain folder name. */
export const bucketNamePattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

const maxKeyLength = 500
/** File systems take names of 255 bytes; some room is left for the endings of drafts and derivatives. */
const maxPartBytes = 200
const maxStemLength = 80
/** Letters of any script, digits and a few signs: nothing that a path, a URL or a shell reads as an instruction. */
const segmentPattern = /^[\p{L}\p{N}_+@()=,'!~ -][\p{L}\p{M}\p{N}_.+@()=,'!~ -]*$/u

/** A key is a relative path that cannot leave its bucket: no `..`, no hidden names, no empty parts, no backslash. */
export function isMediaKey(key: string): boolean {
  if (key.length > maxKeyLength || !key.isWellFormed()) return false
  return key.split('/').every((part) => segmentPattern.test(part) && Buffer.byteLength(part) <= maxPartBytes)
}

/** What else may lie in a bucket, put there by other programs, and be removed: no `..`, no hidden names, no empty parts. */
export function isForeignKey(key: string): boolean {
  if (key.length > maxKeyLength || !key.isWellFormed() || /[\p{Cc}\\]/u.test(key)) return false
  return key.split('/').every((part) => part !== '' && !part.startsWith('.'))
}

/** Groups may share a bucket; each has its own folder in it and can name nothing outside. */
export function isKeyOfGroup(groupId: string, key: string): boolean {
  return isMediaKey(key) && key.startsWith(`${groupId}/`)
}

/** The id in such a key: of a file, and of all that was made of it. */
export const fileIdIn = (key: string): string | undefined =>
  /^[0-9a-f]{24}\/\d{4}\/\d{2}\/([0-9a-f]{24})-/.exec(key)?.[1]

/** A key as a part of a URL. */
export function encodeMediaKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/')
}

/** A name for a file, which cannot be mistaken for anything else: when it came, which one it is, what it is called. */
export function newMediaKey(groupId: string, nowMs: number, id: string, name: string, extension: string): string {
  const [year = '', month = ''] = new Date(nowMs).toISOString().split('-')
  const stem = slugify(name.replace(/\.[^.]*$/, ''))
    .slice(0, maxStemLength)
    .replace(/[-_.]+$/, '')
  return `${groupId}/${year}/${month}/${id}-${stem || 'file'}.${extension}`
}
