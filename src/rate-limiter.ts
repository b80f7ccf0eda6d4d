import type { Clock } from './clock.ts'

export interface RateLimit {
  perSecond: number
  /** How many requests may come at once after a pause. */
  burst: number
}

export interface RateDecision {
  allowed: boolean
  limit: RateLimit
  remaining: number
  /** Until the whole burst is there again. */
  resetSeconds: number
  /** Until the next single request is allowed; 0 when this one was. */
  retryAfterSeconds: number
}

interface Bucket {
  tokens: number
  filledMs: number
}

/** A token bucket per subject, in bounded memory: when it is full, whoever was quiet longest is forgotten. */
export function createRateLimiter(
  clock: Clock,
  maxSubjects = 50_000,
): (subject: string, limit: RateLimit) => RateDecision {
  const buckets = new Map<string, Bucket>()

  function filledBucket(subject: string, limit: RateLimit, nowMs: number): Bucket {
    const bucket = buckets.get(subject) ?? { tokens: limit.burst, filledMs: nowMs }
    const elapsedSeconds = Math.max(0, nowMs - bucket.filledMs) / 1000
    bucket.tokens = Math.min(limit.burst, bucket.tokens + elapsedSeconds * limit.perSecond)
    bucket.filledMs = nowMs
    return bucket
  }

  return (subject, limit) => {
    const bucket = filledBucket(subject, limit, clock())
    const allowed = bucket.tokens >= 1
    if (allowed) bucket.tokens -= 1
    buckets.delete(subject) // and back in at the end: the map's order is the order of last use
    buckets.set(subject, bucket)
    if (buckets.size > maxSubjects) buckets.delete(buckets.keys().next().value ?? '')
    return {
      allowed,
      limit,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: Math.ceil((limit.burst - bucket.tokens) / limit.perSecond),
      retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / limit.perSecond)),
    }
  }
}
