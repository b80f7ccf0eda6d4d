import { AppError } from '../errors.ts'

/** An upload may last an hour: who holds many places must leave some to others. */
const mostOfUser = 8
const mostOfAll = 64
const retryAfterSeconds = 5

/** Lets a user send a file, as long as there is a place, which is free again when the work has ended in whatever way. */
export type UploadPlaces = <Result>(userId: string, work: () => Promise<Result>) => Promise<Result>

export function createUploadPlaces(): UploadPlaces {
  const taken = new Map<string, number>()
  let all = 0

  function change(userId: string, by: 1 | -1): void {
    all += by
    const own = (taken.get(userId) ?? 0) + by
    if (own > 0) taken.set(userId, own)
    else taken.delete(userId)
  }

  return async (userId, work) => {
    if ((taken.get(userId) ?? 0) >= mostOfUser) {
      const message = `You are sending ${mostOfUser} files already. Try again when one of them has arrived.`
      throw new AppError('RateLimited', message, { retryAfterSeconds })
    }
    if (all >= mostOfAll) {
      const message = 'Many files are coming in from others. Try again in a moment.'
      throw new AppError('Unavailable', message, { retryAfterSeconds })
    }
    change(userId, 1)
    try {
      return await work()
    } finally {
      change(userId, -1)
    }
  }
}
