import { createTurns, type Turns } from '../store/turns.ts'
import type { Asked, MakeContent } from './content-maker.ts'

/** What one group is answered at once. There are ten connections to PostgreSQL: some are left to everybody else. */
const maxAtOnce = 8
/** Half of all requests that may be in work by default (`MAX_CONCURRENT_REQUESTS`). */
const maxWaiting = 500
const maxWaitMs = 15_000

/** A search waits for other long reads of its group, and must not keep its plain pages waiting meanwhile. */
const isSearch = ({ query }: Asked): boolean => 'search' in query && query.search !== undefined

/** So many requests of one group, or of another caller, are answered at once; the rest wait, each caller's in a queue of its own. */
export const createAnswerTurns = (atOnce: number): Turns =>
  createTurns({
    atOnce,
    maxWaiting,
    maxWaitMs,
    refusal: 'Too many of your requests are being answered. Try again in a moment.',
  })

/** However many pages one group asks for at once, another one’s do not wait behind all of them. */
export function createFairMaker(make: MakeContent): MakeContent {
  const inTurn = createAnswerTurns(maxAtOnce)
  return (asked, nowMs, timing) =>
    inTurn(isSearch(asked) ? undefined : asked.tenant.groupID, () => make(asked, nowMs, timing))
}
