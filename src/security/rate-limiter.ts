import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'

export interface RateLimit {
  perSecond: number
  /** Capacity of the bucket: the requests that may come at once after a pause. */
  burst: number
}

export interface RateDecision {
  allowed: boolean
  remaining: number
  /** Until the bucket is full again. */
  resetSeconds: number
  /** Until the next single request is allowed; 0 when this one was. */
  retryAfterSeconds: number
}

interface Bucket {
  /** Thousandths of a request: the refill of a millisecond is an integer, so nothing is lost to rounding. */
  milliTokens: number
  refilledMs: number
}

const milliTokensPerRequest = 1000

/** A token bucket for each subject; beyond `maxSubjects`, the least recently used one is evicted. */
export function createRateLimiter(
  clock: Clock,
  maxSubjects = 50_000,
): (subject: string, limit: RateLimit, nowMs?: number) => RateDecision {
  const buckets = createLruMap<string, Bucket>(maxSubjects)

  function refill(subject: string, limit: RateLimit, nowMs: number): Bucket {
    const full = limit.burst * milliTokensPerRequest
    let bucket = buckets.get(subject)
    if (!bucket) {
      bucket = { milliTokens: full, refilledMs: nowMs }
      buckets.set(subject, bucket)
    }
    const elapsedMs = Math.max(0, nowMs - bucket.refilledMs)
    bucket.milliTokens = Math.min(full, bucket.milliTokens + elapsedMs * limit.perSecond)
    bucket.refilledMs = nowMs
    return bucket
  }

  return (subject, limit, nowMs = clock()) => {
    const bucket = refill(subject, limit, nowMs)
    const allowed = bucket.milliTokens >= milliTokensPerRequest
    if (allowed) bucket.milliTokens -= milliTokensPerRequest
    const tokens = bucket.milliTokens / milliTokensPerRequest
    return {
      allowed,
      remaining: Math.floor(tokens),
      resetSeconds: Math.ceil((limit.burst - tokens) / limit.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / limit.perSecond)),
    }
  }
}
