import { AppError } from '../errors.ts'

/** A provider that hangs must not hold all of us, and one group's must not hold the others'. */
const defaults = { mostOfGroup: 8, mostOfAll: 32, waitMs: 2000 }
const retryAfterSeconds = 1

/** Works in a place, which is free again when the work has ended in whatever way. Who finds none waits for a moment. */
export type ProviderPlaces = <Result>(groupId: string, work: () => Promise<Result>) => Promise<Result>

export function createProviderPlaces({ mostOfGroup, mostOfAll, waitMs } = defaults): ProviderPlaces {
  const taken = new Map<string, number>()
  const waiting = new Set<{ groupId: string; enter(): void }>()
  let all = 0

  const hasRoom = (groupId: string): boolean => all < mostOfAll && (taken.get(groupId) ?? 0) < mostOfGroup

  function change(groupId: string, by: 1 | -1): void {
    all += by
    const own = (taken.get(groupId) ?? 0) + by
    if (own > 0) taken.set(groupId, own)
    else taken.delete(groupId)
  }

  function take(groupId: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(giveUp, waitMs)
    const one = { groupId, enter }
    function enter(): void {
      clearTimeout(timer)
      waiting.delete(one)
      change(groupId, 1)
      resolve()
    }
    function giveUp(): void {
      waiting.delete(one)
      const message = 'Many checkouts are being made at this moment. Try again in a moment.'
      reject(new AppError('Unavailable', message, { retryAfterSeconds }))
    }
    if (hasRoom(groupId)) enter()
    else waiting.add(one)
    return promise
  }

  /** The place goes to whoever has waited longest and may have it. */
  function release(groupId: string): void {
    change(groupId, -1)
    for (const one of waiting) {
      if (!hasRoom(one.groupId)) continue
      one.enter()
      return
    }
  }

  return async (groupId, work) => {
    await take(groupId)
    try {
      return await work()
    } finally {
      release(groupId)
    }
  }
}
