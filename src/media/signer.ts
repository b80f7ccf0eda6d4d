import { isMediaKey } from '../content/media-keys.ts'

/**
 * URLs expire at the end of a window, not a lifetime after each request: a file has the same URL for half a lifetime, so
 * that caches work, and every URL handed out is valid for half a lifetime at least.
 */
export interface SigningWindow {
  startSeconds: number
  expiresSeconds: number
}

const windowSecondsOf = (ttlSeconds: number): number => Math.floor(ttlSeconds / 2)

export function signingWindow(nowMs: number, ttlSeconds: number): SigningWindow {
  const windowSeconds = windowSecondsOf(ttlSeconds)
  const startSeconds = Math.floor(nowMs / 1000 / windowSeconds) * windowSeconds
  return { startSeconds, expiresSeconds: startSeconds + ttlSeconds }
}

/** When the next window begins, in which files have other URLs. */
export const endOfWindowMs = ({ startSeconds }: SigningWindow, ttlSeconds: number): number =>
  (startSeconds + windowSecondsOf(ttlSeconds)) * 1000

/** Makes URLs of files that are valid for a limited time. */
export interface MediaSigner {
  /** Throws when it cannot: an unsigned URL is never delivered. */
  sign(bucketName: string, key: string, window: SigningWindow): string
  /** The key in a URL of this signer, valid or expired. */
  keyOf(bucketName: string, url: URL): string | undefined
}

/** What follows the base in a URL, when it can be a key. */
export function mediaKeyFromUrl(base: string, url: URL): string | undefined {
  const plain = url.origin + url.pathname
  if (!plain.startsWith(`${base}/`)) return undefined
  try {
    const key = decodeURIComponent(plain.slice(base.length + 1))
    return isMediaKey(key) ? key : undefined
  } catch {
    return undefined // invalid percent encoding
  }
}
