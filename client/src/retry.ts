import { SluiceError } from './errors.ts'

const retriedStatuses = [429, 502, 503, 504]
const retriedCodes = ['NetworkError', 'Timeout']
const firstDelayMs = 200
const maxDelayMs = 5_000
const maxRetryAfterSeconds = 30

/** How long to wait before the next attempt; undefined when another one is pointless. `attempt` counts from 0. */
export function retryDelayMs(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof SluiceError)) return undefined
  if (!retriedStatuses.includes(error.status) && !retriedCodes.includes(error.code)) return undefined
  if (error.retryAfterSeconds !== undefined) {
    // Coming back sooner than asked only adds load, and waiting longer than this holds up a page: the caller decides.
    return error.retryAfterSeconds <= maxRetryAfterSeconds ? error.retryAfterSeconds * 1000 : undefined
  }
  const delayMs = Math.min(firstDelayMs * 2 ** attempt, maxDelayMs)
  return delayMs * (0.5 + Math.random() / 2) // spread, so that callers who failed together do not return together
}

/** `Retry-After` holds seconds or a date. */
export function readRetryAfterSeconds(header: string | null): number | undefined {
  if (!header) return undefined
  if (/^\d+$/.test(header)) return Number(header)
  const seconds = Math.ceil((Date.parse(header) - Date.now()) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Returns early when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
