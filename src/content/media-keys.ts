import { slugify } from './texts.ts'

/** A name that every S3-compatible store accepts, and that is a single folder name. */
export const bucketNamePattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

const maxKeyLength = 500
/** File systems allow names of 255 bytes; the rest is reserved for suffixes of temporary files and derivatives. */
const maxPartBytes = 200
const maxStemLength = 80
/** Letters of any script, digits and punctuation without a special meaning in paths, URLs or shells. */
const segmentPattern = /^[\p{L}\p{N}_+@()=,'!~ -][\p{L}\p{M}\p{N}_.+@()=,'!~ -]*$/u

/** A key is a relative path that cannot leave its bucket: no `..`, no hidden names, no empty parts, no backslash. */
export function isMediaKey(key: string): boolean {
  if (key.length > maxKeyLength || !key.isWellFormed()) return false
  return key.split('/').every((part) => segmentPattern.test(part) && Buffer.byteLength(part) <= maxPartBytes)
}

/** A key that another program may have written to the bucket, and that may be deleted: no `..`, hidden names or empty parts. */
export function isForeignKey(key: string): boolean {
  if (key.length > maxKeyLength || !key.isWellFormed() || /[\p{Cc}\\]/u.test(key)) return false
  return key.split('/').every((part) => part !== '' && !part.startsWith('.'))
}

/** Groups may share a bucket; each is confined to its own folder. */
export const isKeyOfGroup = (groupId: string, key: string): boolean => isMediaKey(key) && key.startsWith(`${groupId}/`)

/** The id in the key of a file or of its derivatives. */
export const fileIdIn = (key: string): string | undefined =>
  /^[0-9a-f]{24}\/\d{4}\/\d{2}\/([0-9a-f]{24})-/.exec(key)?.[1]

export const encodeMediaKey = (key: string): string => key.split('/').map(encodeURIComponent).join('/')

/** A unique key: upload date, id, readable name. */
export function newMediaKey(groupId: string, nowMs: number, id: string, name: string, extension: string): string {
  const [year = '', month = ''] = new Date(nowMs).toISOString().split('-')
  const stem = slugify(name.replace(/\.[^.]*$/, ''))
    .slice(0, maxStemLength)
    .replace(/[-_.]+$/, '')
  return `${groupId}/${year}/${month}/${id}-${stem || 'file'}.${extension}`
}
