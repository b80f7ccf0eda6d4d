import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'
import { hashSecret, isApiKey } from '../security/tokens.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export interface Authorizer<Holder> {
  (secret: string): Promise<Holder | undefined>
  /** The holder of a secret that was looked up within the last second; undefined when it has to be looked up. */
  peek(secret: string, nowMs?: number): Holder | undefined
  /** Holders that depend on one of these subjects are looked up again: something about them has changed. */
  forget(subjects: readonly string[]): void
}

interface Lookup<Holder> {
  atMs: number
  answer: Promise<Holder | undefined>
  /** Once it is known. */
  holder: Holder | undefined
  /** The number of changes that were known when it was looked up. */
  changes: number
}

/**
 * Key in, tenant out; undefined for a key that is not valid, for whatever reason. It knows nothing of HTTP and can be
 * deployed alone. The management API's tokens are looked up in the same way. An answer, good or bad, is used for 1 second
 * from the moment of the lookup, so a revoked key or a frozen group is refused at the latest 1 second after the change;
 * by the process that made the change, at once.
 */
export function createAuthorizer<Holder>(deps: {
  findHolder(secretHash: string): Promise<Holder | undefined>
  clock: Clock
  /** Whether a text can be such a secret at all. */
  isWellFormed?: (secret: string) => boolean
  /** What a holder depends on: its group, or its user and token. */
  subjectsOf?: (holder: Holder) => readonly string[]
  maxEntries?: number
}): Authorizer<Holder> {
  const { findHolder, clock, isWellFormed = isApiKey, subjectsOf = () => [], maxEntries = 20_000 } = deps
  /** By the secret itself, which is hashed only to look it up. It is nowhere else, and never shown. */
  const lookups = createLruMap<string, Lookup<Holder>>(maxEntries)

  /** The latest change of each, by its number. */
  const changed = createLruMap<string, number>(maxEntries)
  let changes = 0

  function lookUp(secret: string, nowMs: number): Promise<Holder | undefined> {
    const entry: Lookup<Holder> = { atMs: nowMs, answer: findHolder(hashSecret(secret)), holder: undefined, changes }
    lookups.set(secret, entry)
    entry.answer.then(
      (holder) => {
        entry.holder = holder
      },
      () => {
        if (lookups.get(secret) === entry) lookups.delete(secret) // a failure is not an answer
      },
    )
    return entry.answer
  }

  /** While a lookup is pending, it is unknown whether a change since then concerns its holder. */
  function isOutdated(entry: Lookup<Holder>): boolean {
    if (entry.changes === changes) return false
    const { holder } = entry
    if (holder === undefined) return true
    if (subjectsOf(holder).some((subject) => (changed.get(subject) ?? 0) > entry.changes)) return true
    entry.changes = changes // none of them so far
    return false
  }

  function findFresh(secret: string, nowMs: number): Lookup<Holder> | undefined {
    const known = lookups.get(secret)
    // A clock that was set back must not stretch the second.
    const isFresh = known !== undefined && nowMs >= known.atMs && nowMs - known.atMs < cacheMs
    return isFresh && !isOutdated(known) ? known : undefined
  }

  function forget(subjects: readonly string[]): void {
    changes += 1
    for (const subject of subjects) changed.set(subject, changes)
  }

  async function authorize(secret: string): Promise<Holder | undefined> {
    const nowMs = clock()
    const known = findFresh(secret, nowMs)
    if (known) return known.answer
    return isWellFormed(secret) ? lookUp(secret, nowMs) : undefined
  }

  return Object.assign(authorize, {
    peek: (secret: string, nowMs = clock()) => findFresh(secret, nowMs)?.holder,
    forget,
  })
}
