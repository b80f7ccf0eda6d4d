import { AppError } from './errors.ts'

/** How many may do something at once, or how much of something: each holder, such as a user or a group, and all of them together. */
export interface ConcurrencyRule {
  perHolder: number
  inAll: number
  /** What a holder is told who has reached the limit of their own … */
  holderMessage: string
  /** … and anybody, while all places are taken. */
  busyMessage: string
  retryAfterSeconds: number
}

export interface ConcurrencyLimit {
  /** Takes a place, or as many as `weight` says, or throws; what it gives back frees them, however often it is called. */
  take(holder: string, weight?: number): () => void
}

export function createConcurrencyLimit(rule: ConcurrencyRule): ConcurrencyLimit {
  const { perHolder, inAll, holderMessage, busyMessage, retryAfterSeconds } = rule
  const taken = new Map<string, number>()
  let all = 0

  function change(holder: string, by: number): void {
    all += by
    const own = (taken.get(holder) ?? 0) + by
    if (own > 0) taken.set(holder, own)
    else taken.delete(holder)
  }

  return {
    take(holder, weight = 1) {
      if ((taken.get(holder) ?? 0) + weight > perHolder)
        throw new AppError('RateLimited', holderMessage, { retryAfterSeconds })
      if (all + weight > inAll) throw new AppError('Unavailable', busyMessage, { retryAfterSeconds })
      change(holder, weight)
      let isFree = false
      return () => {
        if (!isFree) change(holder, -weight)
        isFree = true
      }
    },
  }
}
