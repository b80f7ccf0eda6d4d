import { AppError } from '../errors.ts'

/** As long as a statement may wait for a lock. */
const mostWaitMs = 15_000

/** Lets in those who name the same one after the other, in the order in which they came. */
export type Turns = <Result>(whose: string | undefined, work: () => Promise<Result>) => Promise<Result>

export interface TurnsOptions {
  now?: () => number
  /** How many of one name are let in at once. */
  atOnce?: number
  maxWaitMs?: number
  /** How many may wait under one name. */
  maxWaiting?: number
  /** What is said to who cannot wait, or has waited too long. */
  refusal?: string
}

interface Line {
  inside: number
  waiting: (() => void)[]
}

/**
 * Who writes for the same group waits for each other in any case, by a lock in the database. Here they wait without
 * anything in their hands: however many they are, they keep one connection, and others are let in between them.
 */
export function createTurns(options: TurnsOptions = {}): Turns {
  const { now = () => performance.now(), atOnce = 1, maxWaitMs = mostWaitMs } = options
  const { maxWaiting = Number.POSITIVE_INFINITY } = options
  const { refusal = 'More is being written than can be. Try again in a moment.' } = options
  const refused = (): AppError => new AppError('Unavailable', refusal, { retryAfterSeconds: 1 })
  const lines = new Map<string, Line>()

  async function enter(line: Line): Promise<void> {
    if (line.inside < atOnce) {
      line.inside += 1
      return
    }
    if (line.waiting.length >= maxWaiting) throw refused()
    const sinceMs = now()
    await new Promise<void>((resolve) => void line.waiting.push(resolve)) // who leaves hands over the place
    if (now() - sinceMs <= maxWaitMs) return
    leave(line)
    throw refused()
  }

  function leave(line: Line): void {
    const next = line.waiting.shift()
    if (next) next()
    else line.inside -= 1
  }

  return async (whose, work) => {
    if (whose === undefined) return work()
    const line = lines.get(whose) ?? { inside: 0, waiting: [] }
    lines.set(whose, line)
    await enter(line)
    try {
      return await work()
    } finally {
      leave(line)
      if (line.inside === 0) lines.delete(whose)
    }
  }
}
