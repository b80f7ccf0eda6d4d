import { createHmac } from 'node:crypto'
import { encodeMediaKey, isMediaKey } from '../content/media-keys.ts'
import { isSameSecret } from '../security/tokens.ts'
import { type MediaSigner, mediaKeyFromUrl } from './signer.ts'

/** Signs URLs of files that the service delivers itself. */
export interface LocalMediaSigner extends MediaSigner {
  /** Seconds until it expires, or undefined when it is expired, altered or not ours. */
  verify(bucketName: string, key: string, expires: string, signature: string, nowMs: number): number | undefined
}

const signatureOf = (secret: Buffer, bucketName: string, key: string, expires: string): string =>
  createHmac('sha256', secret).update(`${bucketName}\n${key}\n${expires}`).digest('base64url')

export function createLocalSigner(options: {
  /** The first one signs; all are accepted. */
  secrets: readonly [Buffer, ...Buffer[]]
  /** A function, as it is known only once the server listens. */
  baseUrl: () => string
}): LocalMediaSigner {
  const { secrets, baseUrl } = options
  const pathOf = (bucketName: string): string => `/media/${bucketName}`
  return {
    sign(bucketName, key, { expiresSeconds }) {
      if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be signed.`)
      const signature = signatureOf(secrets[0], bucketName, key, String(expiresSeconds))
      const path = `${pathOf(bucketName)}/${encodeMediaKey(key)}`
      return `${baseUrl()}${path}?expires=${expiresSeconds}&signature=${signature}`
    },

    verify(bucketName, key, expires, signature, nowMs) {
      if (!/^\d{1,12}$/.test(expires) || !isMediaKey(key)) return undefined
      const genuine = secrets.some((secret) => isSameSecret(signature, signatureOf(secret, bucketName, key, expires)))
      const secondsLeft = Number(expires) - nowMs / 1000
      return genuine && secondsLeft > 0 ? secondsLeft : undefined
    },

    keyOf(bucketName, url) {
      return mediaKeyFromUrl(baseUrl() + pathOf(bucketName), url)
    },
  }
}
