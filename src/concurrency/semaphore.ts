import { AppError } from '../core/errors.ts'

/** Limits by count, or by weight such as bytes: for each key, such as a user or a group, and in total. */
export interface SemaphoreOptions {
  maxPerKey?: number
  /** Of all keys together. */
  max?: number
  /** How many callers may wait for one key. */
  maxWaitingPerKey?: number
  maxWaitMs?: number
  /** For a caller that does not wait, when its key is at its limit. */
  keyMessage?: string
  /** For a caller that cannot wait or has waited too long, and when the total is reached. */
  busyMessage?: string
  retryAfterSeconds?: number
}

/** Can be called several times, and has an effect once. */
export type Release = () => void

export interface Semaphore {
  /** Never waits: takes as many permits as `weight` says, or throws `RateLimited` (its key) or `Unavailable` (the total). */
  acquireOrThrow(key: string, weight?: number): Release
  /** Waits for a permit: those of one key in order, and the keys in turn. */
  acquire(key: string): Promise<Release>
  /** Holds a permit during the work. Without a key nothing is limited. */
  run<Result>(key: string | undefined, work: () => Promise<Result>): Promise<Result>
}

interface Key {
  held: number
  /** Each takes a permit. */
  waiting: (() => void)[]
}

/** Idle keys are retained up to here: one that comes and goes with each request costs the garbage collector more than all else here. */
const maxIdleKeys = 1000

export function createSemaphore(options: SemaphoreOptions): Semaphore {
  const { maxPerKey = Number.POSITIVE_INFINITY, max = Number.POSITIVE_INFINITY } = options
  const { maxWaitingPerKey = Number.POSITIVE_INFINITY, maxWaitMs } = options
  const { retryAfterSeconds = 1, busyMessage = 'The service is busy. Try again in a moment.' } = options
  const { keyMessage = busyMessage } = options
  const keys = new Map<string, Key>()
  /** Those with waiting callers, where the total is limited: the one whose turn it is comes first. */
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
/** As long as a statement may wait for a lock. */
const maxWaitMs = 15_000

/** Limits how many requests of one group, or of one caller, are answered at once; the rest wait in one queue per group. */
export const createAnswerSemaphore = (maxPerKey: number): Semaphore =>
  createSemaphore({
    maxPerKey,
    maxWaitingPerKey,
    maxWaitMs,
    busyMessage: 'Too many of your requests are being answered. Try again in a moment.',
  })

/**
 * One at a time for each key. Writers of one group would wait for each other by a lock in the database; here they wait
 * without a connection, so that other groups get one.
 */
export const createKeyedMutex = (): Semaphore =>
  createSemaphore({
    maxPerKey: 1,
    maxWaitMs,
    busyMessage: 'Too much is being written at once. Try again in a moment.',
  })
