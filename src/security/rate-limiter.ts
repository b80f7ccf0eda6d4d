import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'

export interface RateLimit {
  perSecond: number
  /** How many requests may come at once after a pause. */
  burst: number
}

export interface RateDecision {
  allowed: boolean
  remaining: number
  /** Until the whole burst is there again. */
  resetSeconds: number
  /** Until the next single request is allowed; 0 when this one was. */
  retryAfterSeconds: number
}

interface Bucket {
  /** Thousandths of a request: what a millisecond gives back is a whole number, so nothing is lost to rounding. */
  milliTokens: number
  filledMs: number
}

const perRequest = 1000

/** A token bucket per subject, in bounded memory: when it is full, whoever was quiet longest is forgotten. */
export function createRateLimiter(
  clock: Clock,
  maxSubjects = 50_000,
): (subject: string, limit: RateLimit, nowMs?: number) => RateDecision {
  const buckets = createLruMap<string, Bucket>(maxSubjects)

  function filledBucket(subject: string, limit: RateLimit, nowMs: number): Bucket {
    const full = limit.burst * perRequest
    let bucket = buckets.get(subject)
    if (!bucket) {
      bucket = { milliTokens: full, filledMs: nowMs }
      buckets.set(subject, bucket)
    }
    const elapsedMs = Math.max(0, nowMs - bucket.filledMs)
    bucket.milliTokens = Math.min(full, bucket.milliTokens + elapsedMs * limit.perSecond)
    bucket.filledMs = nowMs
    return bucket
  }

  return (subject, limit, nowMs = clock()) => {
    const bucket = filledBucket(subject, limit, nowMs)
    const allowed = bucket.milliTokens >= perRequest
    if (allowed) bucket.milliTokens -= perRequest
    const tokens = bucket.milliTokens / perRequest
    return {
      allowed,
      remaining: Math.floor(tokens),
      resetSeconds: Math.ceil((limit.burst - tokens) / limit.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - tokens) / limit.perSecond)),
    }
  }
}
