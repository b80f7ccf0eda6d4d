import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16
const formatPrefix = 'v1.'

/** Identifies a secret. It is authenticated with the ciphertext, which therefore cannot be opened as another secret. */
export type SecretId = readonly [groupId: string, subjectId: string, field: string]

const associatedData = (id: SecretId): Buffer => Buffer.from(JSON.stringify(id))

export function seal(key: Buffer, id: SecretId, content: Buffer): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv).setAAD(associatedData(id))
  const sealed = Buffer.concat([cipher.update(content), cipher.final()])
  return formatPrefix + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** Undefined for a wrong key, and for a text that was changed, truncated or sealed as another secret. */
export function unseal(key: Buffer, id: SecretId, text: string): Buffer | undefined {
  if (!text.startsWith(formatPrefix)) return undefined
  const bytes = Buffer.from(text.slice(formatPrefix.length), 'base64')
  if (bytes.length < ivBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(associatedData(id)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
