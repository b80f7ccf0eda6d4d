import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { SignMedia } from '../content/delivery.ts'
import { encodeMediaKey, isKeyOfGroup, isMediaKey } from '../content/media-keys.ts'
import { toIso } from '../content/moments.ts'
import type { Tenant } from '../store/groups.ts'

/** Makes addresses of files that work for a limited time. The first of several kinds to come. */
export interface MediaSigner {
  sign(bucketName: string, key: string): ReturnType<SignMedia>
}

export interface LocalMediaSigner extends MediaSigner {
  /** Seconds the address still lives, or undefined when it is expired, altered or not ours. */
  verify(bucketName: string, key: string, expires: string, signature: string): number | undefined
}

/**
 * Addresses expire at the end of a window, not a lifetime after each request: the same file has the same address for
 * half a lifetime, so that caches work, and every address handed out lives half a lifetime at least.
 */
export function windowedExpirySeconds(nowMs: number, ttlSeconds: number): number {
  const windowSeconds = Math.floor(ttlSeconds / 2)
  return Math.floor(nowMs / 1000 / windowSeconds) * windowSeconds + ttlSeconds
}

export function createLocalSigner(options: {
  key: Buffer
  /** Known only when the server listens, hence a function. */
  baseUrl: () => string
  ttlSeconds: number
  clock: Clock
}): LocalMediaSigner {
  const { key: secret, baseUrl, ttlSeconds, clock } = options

  function signatureOf(bucketName: string, key: string, expires: string): Buffer {
    return createHmac('sha256', secret).update(`${bucketName}\n${key}\n${expires}`).digest()
  }

  return {
    sign(bucketName, key) {
      if (!isMediaKey(key)) throw new Error(`The media key ${JSON.stringify(key)} cannot be signed.`)
      const expires = windowedExpirySeconds(clock(), ttlSeconds)
      const signature = signatureOf(bucketName, key, String(expires)).toString('base64url')
      return {
        source: `${baseUrl()}/media/${bucketName}/${encodeMediaKey(key)}?expires=${expires}&signature=${signature}`,
        expiresAt: toIso(expires * 1000),
      }
    },

    verify(bucketName, key, expires, signature) {
      if (!/^\d{1,12}$/.test(expires) || !isMediaKey(key)) return undefined
      const given = Buffer.from(signature, 'base64url')
      const expected = signatureOf(bucketName, key, expires)
      // The text is compared too: several spellings of base64url decode to the same bytes.
      const genuine =
        given.length === expected.length &&
        timingSafeEqual(given, expected) &&
        signature === expected.toString('base64url')
      const secondsLeft = Number(expires) - clock() / 1000
      return genuine && secondsLeft > 0 ? secondsLeft : undefined
    },
  }
}

/** Signs for one tenant: its own files only, even where groups share a bucket. */
export function signFor(signer: MediaSigner, { groupID, bucketName }: Tenant): SignMedia {
  return (key) => {
    if (!isKeyOfGroup(groupID, key))
      throw new Error(`The media key ${JSON.stringify(key)} is not one of group ${groupID}.`)
    return signer.sign(bucketName, key)
  }
}
