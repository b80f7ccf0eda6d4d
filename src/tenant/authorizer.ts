import { createBoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { hashSecret, isApiKey } from '../secrets.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export type Authorizer<Holder> = (secret: string) => Promise<Holder | undefined>

/**
 * Key in, tenant out; undefined for a key that is not valid, for whatever reason. It knows nothing of HTTP and can be
 * deployed alone. The management API's tokens are looked up in the same way. An answer, good or bad, is used for 1 second from the moment the question was asked, so a
 * revoked key or a frozen group is refused at the latest 1 second after the change.
 */
export function createAuthorizer<Holder>(deps: {
  findHolder(secretHash: string): Promise<Holder | undefined>
  clock: Clock
  /** Whether a text can be such a secret at all. */
  isWellFormed?: (secret: string) => boolean
  maxEntries?: number
}): Authorizer<Holder> {
  const { findHolder, clock, isWellFormed = isApiKey, maxEntries = 20_000 } = deps
  const asked = createBoundedMap<string, { atMs: number; answer: Promise<Holder | undefined> }>(maxEntries)

  function ask(secretHash: string, nowMs: number): Promise<Holder | undefined> {
    const entry = { atMs: nowMs, answer: findHolder(secretHash) }
    asked.set(secretHash, entry)
    entry.answer.catch(() => {
      if (asked.get(secretHash) === entry) asked.delete(secretHash) // a failure is not an answer
    })
    return entry.answer
  }

  return async (secret) => {
    if (!isWellFormed(secret)) return undefined
    const nowMs = clock()
    const secretHash = hashSecret(secret)
    const known = asked.get(secretHash)
    // A clock that was set back must not stretch the second.
    const isFresh = known !== undefined && nowMs >= known.atMs && nowMs - known.atMs < cacheMs
    return isFresh ? known.answer : ask(secretHash, nowMs)
  }
}
