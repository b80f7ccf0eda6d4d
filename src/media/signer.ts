/**
 * Addresses expire at the end of a window, not a lifetime after each request: the same file has the same address for
 * half a lifetime, so that caches work, and every address handed out lives half a lifetime at least.
 */
export interface SigningWindow {
  startSeconds: number
  expiresSeconds: number
}

export function signingWindow(nowMs: number, ttlSeconds: number): SigningWindow {
  const windowSeconds = Math.floor(ttlSeconds / 2)
  const startSeconds = Math.floor(nowMs / 1000 / windowSeconds) * windowSeconds
  return { startSeconds, expiresSeconds: startSeconds + ttlSeconds }
}

/** Makes addresses of files that work for a limited time. */
export interface MediaSigner {
  /** Throws when it cannot: an unsigned address is never delivered. */
  sign(bucketName: string, key: string, window: SigningWindow): string
  /** The key of the file that one of our own addresses leads to, whatever became of its signature. */
  keyOf(bucketName: string, address: URL): string | undefined
}
