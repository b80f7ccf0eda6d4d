import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43 // 256 bits in base 62
const checksumLength = 6 // 32 bits in base 62
const apiKeyPrefix = 'slc_live_'
const previewTokenPrefix = 'slc_preview_'
const adminTokenPrefix = 'slc_admin_'
const invitationPrefix = 'slc_invite_'

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = base62[Number(rest % 62n)] + text
  return text
}

const checksum = (text: string): string => toBase62(BigInt(crc32(text)), checksumLength)

function makeSecret(prefix: string): string {
  const body = prefix + toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return `${body}_${checksum(body)}`
}

const secretShape = new RegExp(`^[0-9A-Za-z]{${secretLength}}_[0-9A-Za-z]{${checksumLength}}$`)

/** Checks the form and the checksum, so that a typing error or a random guess costs no database query. */
function isWellFormed(secret: string, prefix: string): boolean {
  if (!secret.startsWith(prefix) || !secretShape.test(secret.slice(prefix.length))) return false
  const start = secret.length - checksumLength
  return secret.slice(start) === checksum(secret.slice(0, start - 1))
}

export const makeApiKey = (): string => makeSecret(apiKeyPrefix)
export const isApiKey = (text: string): boolean => isWellFormed(text, apiKeyPrefix)
export const makePreviewToken = (): string => makeSecret(previewTokenPrefix)
export const isPreviewToken = (text: string): boolean => isWellFormed(text, previewTokenPrefix)
export const makeAdminToken = (): string => makeSecret(adminTokenPrefix)
export const isAdminToken = (text: string): boolean => isWellFormed(text, adminTokenPrefix)
export const makeInvitation = (): string => makeSecret(invitationPrefix)
export const isInvitation = (text: string): boolean => isWellFormed(text, invitationPrefix)

/** In constant time, and as text: several spellings of base64url decode to the same bytes. */
export function isSameSecret(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The stored form. 256 random bits need neither salt nor a slow hash. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'hex')

/** Enough to recognise a key in a list. */
export function displayPrefix(secret: string): string {
  const shownCharacters = 4
  return secret.slice(0, -(secretLength + 1 + checksumLength) + shownCharacters)
}
