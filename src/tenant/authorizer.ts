import { createBoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { hashSecret, isApiKey } from '../secrets.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export type Authorizer<Tenant> = (apiKey: string) => Promise<Tenant | undefined>

/**
 * Key in, tenant out; undefined for a key that is not valid, for whatever reason. It knows nothing of HTTP and can be
 * deployed alone. An answer, good or bad, is used for 1 second from the moment the question was asked, so a
 * revoked key or a frozen group is refused at the latest 1 second after the change.
 */
export function createAuthorizer<Tenant>(deps: {
  findTenant(secretHash: string): Promise<Tenant | undefined>
  clock: Clock
  maxEntries?: number
}): Authorizer<Tenant> {
  const { findTenant, clock, maxEntries = 20_000 } = deps
  const asked = createBoundedMap<string, { atMs: number; answer: Promise<Tenant | undefined> }>(maxEntries)

  function ask(secretHash: string, nowMs: number): Promise<Tenant | undefined> {
    const entry = { atMs: nowMs, answer: findTenant(secretHash) }
    asked.set(secretHash, entry)
    entry.answer.catch(() => {
      if (asked.get(secretHash) === entry) asked.delete(secretHash) // a failure is not an answer
    })
    return entry.answer
  }

  return async (apiKey) => {
    if (!isApiKey(apiKey)) return undefined
    const nowMs = clock()
    const secretHash = hashSecret(apiKey)
    const known = asked.get(secretHash)
    // A clock that was set back must not stretch the second.
    const isFresh = known !== undefined && nowMs >= known.atMs && nowMs - known.atMs < cacheMs
    return isFresh ? known.answer : ask(secretHash, nowMs)
  }
}
