import { SluiceError } from './errors.ts'

const retriedStatuses = [429, 502, 503, 504]
const retriedCodes = ['NetworkError', 'Timeout']
const firstDelayMs = 200
const maxDelayMs = 5_000
const maxRetryAfterSeconds = 30

/** The delay before the next attempt; undefined if a retry is pointless. `attempt` counts from 0. */
export function retryDelayMs(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof SluiceError)) return undefined
  if (!retriedStatuses.includes(error.status) && !retriedCodes.includes(error.code)) return undefined
  if (error.retryAfterSeconds !== undefined) {
    // An earlier retry only adds load, and a longer wait blocks a page, so the caller decides.
    return error.retryAfterSeconds <= maxRetryAfterSeconds ? error.retryAfterSeconds * 1000 : undefined
  }
  const delayMs = Math.min(firstDelayMs * 2 ** attempt, maxDelayMs)
  return delayMs * (0.5 + Math.random() / 2) // jitter, so that clients that failed together do not retry together
}

/** `Retry-After` contains seconds or a date. */
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
