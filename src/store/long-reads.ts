import { AppError } from '../errors.ts'
import { createTurns, type Turns } from './turns.ts'

/** A long read of a group waits for those before it, and so many may wait; one more is refused at once. */
const maxWaiting = 50
const maxWaitMs = 10_000

/** For a read that had to be ended. It is not tried again: the same would happen. */
export const tooMuchToRead = (): AppError =>
  new AppError(
    'Unavailable',
    'There is too much to look through to answer this in time. Narrow it down with filters, or try again later.',
    { retryAfterSeconds: 10 },
  )

/** One long read of each group at a time: so groups take turns, whatever one of them asks for. */
export const createLongTurns = (): Turns =>
  createTurns({
    maxWaiting,
    maxWaitMs,
    refusal: 'Too many long searches of this group are being answered. Try again in a moment.',
  })
