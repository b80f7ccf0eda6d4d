import { AppError } from '../core/errors.ts'

/** Limits by count, or by weight such as bytes: per key, such as a user or a group, and in total. */
export interface SemaphoreOptions {
  maxPerKey?: number
  /** For all keys together. */
  max?: number
  /** Callers that may wait for one key. */
  maxWaitingPerKey?: number
  maxWaitMs?: number
  /** For `acquireOrThrow` when the key is at its limit. */
  keyMessage?: string
  /** When too many callers wait, one has waited too long, or the total is at its limit. */
  busyMessage?: string
  retryAfterSeconds?: number
}

/** Idempotent. */
export type Release = () => void

export interface Semaphore {
  /** Takes `weight` permits, or throws `RateLimited` (limit of the key) or `Unavailable` (total). Never waits. */
  acquireOrThrow(key: string, weight?: number): Release
  /** Waits for a permit, in order within a key, and round robin over the keys. */
  acquire(key: string): Promise<Release>
  /** Holds a permit during the work. Without a key, the work is not limited. */
  run<Result>(key: string | undefined, work: () => Promise<Result>): Promise<Result>
}

interface Key {
  held: number
  /** Callbacks that grant a permit. */
  waiting: (() => void)[]
}

/** Up to this number, idle keys are reused: allocating one for each request would cost more in garbage collection than everything else here. */
const maxIdleKeys = 1000

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const { maxPerKey = Number.POSITIVE_INFINITY, max = Number.POSITIVE_INFINITY } = options
  const { maxWaitingPerKey = Number.POSITIVE_INFINITY, maxWaitMs } = options
  const { retryAfterSeconds = 1, busyMessage = 'The service is busy. Try again in a moment.' } = options
  const { keyMessage = busyMessage } = options
  const keys = new Map<string, Key>()
  /** Keys with waiting callers, in turn; used if the total is limited. */
  const turns = new Set<Key>()
  let total = 0
  let sweepAt = maxIdleKeys

  const busy = (): AppError => new AppError('Unavailable', busyMessage, { retryAfterSeconds })

  function sweep(): void {
    for (const [name, { held, waiting }] of keys) if (held === 0 && waiting.length === 0) keys.delete(name)
    sweepAt = Math.max(maxIdleKeys, 2 * keys.size)
  }

  function find(name: string): Key {
    const known = keys.get(name)
    if (known) return known
    if (keys.size >= sweepAt) sweep()
    const key = { held: 0, waiting: [] }
    keys.set(name, key)
    return key
  }

  function take(key: Key, weight: number): Release {
    key.held += weight
    total += weight
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      key.held -= weight
      total -= weight
      while (admitNext(key)) {}
    }
  }

  function admitNext(released: Key): boolean {
    for (const key of max === Number.POSITIVE_INFINITY ? [released] : turns) {
      const next = key.held < maxPerKey && total < max && key.waiting.shift()
      if (!next) continue
      turns.delete(key)
      if (key.waiting.length > 0) turns.add(key) // behind the others
      next()
      return true
    }
    return false
  }

  function wait(key: Key): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>()
    const timer = maxWaitMs === undefined ? undefined : setTimeout(refuse, maxWaitMs)
    function grant(): void {
      clearTimeout(timer)
      resolve(take(key, 1))
    }
    function refuse(): void {
      key.waiting.splice(key.waiting.indexOf(grant), 1)
      if (key.waiting.length === 0) turns.delete(key)
      reject(busy())
    }
    key.waiting.push(grant)
    turns.add(key)
    return promise
  }

  async function acquire(name: string): Promise<Release> {
    const key = find(name)
    if (key.held < maxPerKey && total < max) return take(key, 1)
    if (key.waiting.length >= maxWaitingPerKey) throw busy()
    return wait(key)
  }

  return {
    acquire,
    acquireOrThrow(name, weight = 1) {
      const key = find(name)
      if (key.held + weight > maxPerKey) throw new AppError('RateLimited', keyMessage, { retryAfterSeconds })
      if (total + weight > max) throw busy()
      return take(key, weight)
    },
    async run(name, work) {
      if (name === undefined) return work()
      const release = await acquire(name)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

/** Half of all requests that may be in flight by default (`MAX_CONCURRENT_REQUESTS`). */
const maxWaitingPerKey = 500
/** The same as for a statement that waits for a lock. */
const maxWaitMs = 15_000

/** Limits the concurrent requests of a group or a caller; the others wait in one queue per key. */
export const createAnswerSemaphore = (maxPerKey: number): Semaphore =>
  createSemaphore({
    maxPerKey,
    maxWaitingPerKey,
    maxWaitMs,
    busyMessage: 'Too many of your requests are being answered. Try again in a moment.',
  })

/**
 * One caller at a time per key. The writers of a group wait here instead of for a lock in the database, and so without
 * holding a connection.
 */
export const createKeyedMutex = (): Semaphore =>
  createSemaphore({
    maxPerKey: 1,
    maxWaitMs,
    busyMessage: 'Too much is being written at once. Try again in a moment.',
  })
