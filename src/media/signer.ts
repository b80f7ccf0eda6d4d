/**
 * Addresses expire at the end of a window, not a lifetime after each request: the same file has the same address for
 * half a lifetime, so that caches work, and every address handed out lives half a lifetime at least.
 */
export interface SigningWindow {
  startSeconds: number
  expiresSeconds: number
}

const lengthOfWindow = (ttlSeconds: number): number => Math.floor(ttlSeconds / 2)

export function signingWindow(nowMs: number, ttlSeconds: number): SigningWindow {
  const windowSeconds = lengthOfWindow(ttlSeconds)
  const startSeconds = Math.floor(nowMs / 1000 / windowSeconds) * windowSeconds
  return { startSeconds, expiresSeconds: startSeconds + ttlSeconds }
}

/** When the window ends in which files have these addresses, and the next one begins. */
export const endOfWindowMs = ({ startSeconds }: SigningWindow, ttlSeconds: number): number =>
  (startSeconds + lengthOfWindow(ttlSeconds)) * 1000

/** Makes addresses of files that work for a limited time. */
export interface MediaSigner {
  /** Throws when it cannot: an unsigned address is never delivered. */
  sign(bucketName: string, key: string, window: SigningWindow): string
  /** The key of the file that one of our own addresses leads to, whatever became of its signature. */
  keyOf(bucketName: string, address: URL): string | undefined
}
