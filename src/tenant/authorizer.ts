import type { Clock } from '../clock.ts'
import { hashSecret, isApiKey } from '../secrets.ts'
import type { AuthorizedTenant } from '../store/api-keys.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export type Authorizer = (apiKey: string) => Promise<AuthorizedTenant | undefined>

interface Entry {
  askedMs: number
  answer: Promise<AuthorizedTenant | undefined>
}

/**
 * Key in, tenant out; undefined for a key that is not valid, for whatever reason. It knows nothing of HTTP and can be
 * deployed alone. An answer, good or bad, is used for 1 second from the moment the question was asked, so a
 * revoked key or a frozen group is refused at the latest 1 second after the change.
 */
export function createAuthorizer(deps: {
  findTenant(secretHash: string): Promise<AuthorizedTenant | undefined>
  clock: Clock
  maxEntries?: number
}): Authorizer {
  const { findTenant, clock, maxEntries = 20_000 } = deps
  const entries = new Map<string, Entry>()

  function ask(secretHash: string, nowMs: number): Entry {
    const entry = { askedMs: nowMs, answer: findTenant(secretHash) }
    entries.delete(secretHash)
    entries.set(secretHash, entry)
    if (entries.size > maxEntries) entries.delete(entries.keys().next().value ?? '')
    entry.answer.catch(() => {
      if (entries.get(secretHash) === entry) entries.delete(secretHash) // a failure is not an answer
    })
    return entry
  }

  return async (apiKey) => {
    if (!isApiKey(apiKey)) return undefined
    const nowMs = clock()
    const secretHash = hashSecret(apiKey)
    const known = entries.get(secretHash)
    // A clock that was set back must not stretch the second.
    const isFresh = known !== undefined && nowMs >= known.askedMs && nowMs - known.askedMs < cacheMs
    return (isFresh ? known : ask(secretHash, nowMs)).answer
  }
}
