import { createBoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import { hashSecret, isApiKey } from '../secrets.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export interface Authorizer<Holder> {
  (secret: string): Promise<Holder | undefined>
  /** The holder of a secret that was looked up within the last second; undefined where it takes a question to know. */
  peek(secret: string, nowMs?: number): Holder | undefined
}

interface Asked<Holder> {
  atMs: number
  answer: Promise<Holder | undefined>
  /** As soon as it is known. */
  holder: Holder | undefined
}

/**
 * Key in, tenant out; undefined for a key that is not valid, for whatever reason. It knows nothing of HTTP and can be
 * deployed alone. The management API's tokens are looked up in the same way. An answer, good or bad, is used for 1 second
 * from the moment the question was asked, so a revoked key or a frozen group is refused at the latest 1 second after the change.
 */
export function createAuthorizer<Holder>(deps: {
  findHolder(secretHash: string): Promise<Holder | undefined>
  clock: Clock
  /** Whether a text can be such a secret at all. */
  isWellFormed?: (secret: string) => boolean
  maxEntries?: number
}): Authorizer<Holder> {
  const { findHolder, clock, isWellFormed = isApiKey, maxEntries = 20_000 } = deps
  /** By the secret itself, which is hashed only to look it up. It is nowhere else, and never shown. */
  const asked = createBoundedMap<string, Asked<Holder>>(maxEntries)

  function ask(secret: string, nowMs: number): Promise<Holder | undefined> {
    const entry: Asked<Holder> = { atMs: nowMs, answer: findHolder(hashSecret(secret)), holder: undefined }
    asked.set(secret, entry)
    entry.answer.then(
      (holder) => {
        entry.holder = holder
      },
      () => {
        if (asked.get(secret) === entry) asked.delete(secret) // a failure is not an answer
      },
    )
    return entry.answer
  }

  function findFresh(secret: string, nowMs: number): Asked<Holder> | undefined {
    const known = asked.get(secret)
    // A clock that was set back must not stretch the second.
    return known && nowMs >= known.atMs && nowMs - known.atMs < cacheMs ? known : undefined
  }

  async function authorize(secret: string): Promise<Holder | undefined> {
    const nowMs = clock()
    const known = findFresh(secret, nowMs)
    if (known) return known.answer
    return isWellFormed(secret) ? ask(secret, nowMs) : undefined
  }

  return Object.assign(authorize, {
    peek: (secret: string, nowMs = clock()) => findFresh(secret, nowMs)?.holder,
  })
}
