import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16
/** So that another way to seal can be told from this one. */
const form = 'v1.'

/** What a sealed text belongs to. It cannot be opened as anything else's. */
export type Belonging = readonly [groupId: string, subjectId: string, field: string]

const boundTo = (belonging: Belonging): Buffer => Buffer.from(JSON.stringify(belonging))

export function seal(key: Buffer, belonging: Belonging, content: Buffer): string {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv).setAAD(boundTo(belonging))
  const sealed = Buffer.concat([cipher.update(content), cipher.final()])
  return form + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** Undefined where the key is another one, or the text was changed, cut or taken from elsewhere. */
export function unseal(key: Buffer, belonging: Belonging, text: string): Buffer | undefined {
  if (!text.startsWith(form)) return undefined
  const bytes = Buffer.from(text.slice(form.length), 'base64')
  if (bytes.length < ivBytes + tagBytes) return undefined
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(boundTo(belonging)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
  } catch {
    return undefined
  }
}
