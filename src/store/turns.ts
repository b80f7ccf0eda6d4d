import { AppError } from '../errors.ts'

/** As long as a statement may wait for a lock. */
const mostWaitMs = 15_000

/** Lets in those who name the same one after the other, in the order in which they came. */
export type Turns = <Result>(whose: string | undefined, work: () => Promise<Result>) => Promise<Result>

/**
 * Who writes for the same group waits for each other in any case, by a lock in the database. Here they wait without
 * anything in their hands: however many they are, they keep one connection, and others are let in between them.
 */
export function createTurns(now = () => performance.now()): Turns {
  const last = new Map<string, Promise<void>>()
  return async (whose, work) => {
    if (whose === undefined) return work()
    const before = last.get(whose)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    last.set(whose, ended)
    try {
      const sinceMs = now()
      await before
      if (now() - sinceMs > mostWaitMs) {
        const message = 'More is being written than can be. Try again in a moment.'
        throw new AppError('Unavailable', message, { retryAfterSeconds: 1 })
      }
      return await work()
    } finally {
      if (last.get(whose) === ended) last.delete(whose)
      end()
    }
  }
}
