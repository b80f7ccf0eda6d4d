import { setTimeout as sleep } from 'node:timers/promises'

const minAttempts = 3
/** A store that restarts is back by then. Meanwhile an upload waits in the inbox. */
const defaultRetryForMs = 30_000
/** After this long without any success, requests get the minimum of attempts. */
const maxOutageMs = 60_000
const firstDelayMs = 200
const maxDelayMs = 5000

/** Whether the same request may succeed a moment later. */
export const isTransientStatus = (status: number): boolean => status === 429 || (status >= 500 && status !== 501)

/** Exponential backoff with jitter: between half and all of a delay that doubles each time. */
const backoffMs = (attempt: number): number =>
  Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2)

/** Retries transient failures, at least three times and for 30 seconds. */
export function createRetry(options: {
  isTransient: (error: unknown) => boolean
  retryForMs?: number | undefined
}): <Value>(attempt: () => Promise<Value>) => Promise<Value> {
  const { isTransient, retryForMs = defaultRetryForMs } = options
  let failingSinceMs: number | undefined
  return async (attempt) => {
    const startMs = performance.now()
    for (let count = 1; ; count++) {
      try {
        const value = await attempt()
        failingSinceMs = undefined
        return value
      } catch (error) {
        if (!isTransient(error)) throw error
        failingSinceMs ??= performance.now()
        const isOutage = performance.now() - failingSinceMs > maxOutageMs
        const forMs = isOutage ? 0 : retryForMs
        if (count >= minAttempts && performance.now() - startMs >= forMs) throw error
        await sleep(backoffMs(count))
      }
    }
  }
}
