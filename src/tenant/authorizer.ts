import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'
import { hashSecret, isApiKey } from '../security/tokens.ts'

/** spec §5.5: authorization results are cached for 1 second. */
const cacheMs = 1000

export interface Authorizer<Holder> {
  (secret: string): Promise<Holder | undefined>
  /** The cached holder of a secret; undefined if it has to be looked up. */
  peek(secret: string, nowMs?: number): Holder | undefined
  /** Invalidates the holders that depend on one of these subjects. */
  forget(subjects: readonly string[]): void
}

interface Lookup<Holder> {
  atMs: number
  answer: Promise<Holder | undefined>
  /** Set once the lookup has resolved. */
  holder: Holder | undefined
  /** The number of the latest change at the time of the lookup. */
  changes: number
}

/**
 * Returns the tenant of a key; undefined for any invalid key. Independent of HTTP, so that it can be deployed
 * alone. The management API's tokens are looked up in the same way. A result, positive or negative, is cached for 1 second
 * from the lookup, so a revoked key or a frozen group is refused within 1 second; immediately by the process that made the
 * change.
 */
export function createAuthorizer<Holder>(deps: {
  findHolder(secretHash: string): Promise<Holder | undefined>
  clock: Clock
  /** A syntax check before the lookup. */
  isWellFormed?: (secret: string) => boolean
  /** What a holder depends on: its group, or its user and token. */
  subjectsOf?: (holder: Holder) => readonly string[]
  maxEntries?: number
}): Authorizer<Holder> {
  const { findHolder, clock, isWellFormed = isApiKey, subjectsOf = () => [], maxEntries = 20_000 } = deps
  /** By the plain secret, which is hashed only for a lookup. It is stored nowhere else, and never shown. */
  const lookups = createLruMap<string, Lookup<Holder>>(maxEntries)
  /** Subject → the number of its latest change. */
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
        if (lookups.get(secret) === entry) lookups.delete(secret) // failures are not cached
      },
    )
    return entry.answer
  }

  /** A pending lookup counts as outdated after any change, since its subjects are not known yet. */
  function isOutdated(entry: Lookup<Holder>): boolean {
    if (entry.changes === changes) return false
    const { holder } = entry
    if (holder === undefined) return true
    if (subjectsOf(holder).some((subject) => (changed.get(subject) ?? 0) > entry.changes)) return true
    entry.changes = changes // none of these changes concerns it
    return false
  }

  function findFresh(secret: string, nowMs: number): Lookup<Holder> | undefined {
    const known = lookups.get(secret)
    // A clock that was set back must not extend the second.
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
