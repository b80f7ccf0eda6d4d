import { setImmediate as nextTurn } from 'node:timers/promises'

/** Takes note of work that was done on the main thread, and waits for everybody else's turn after so much of it. */
export type Pacer = (amount: number) => Promise<void>

export function createPacer(mostPerTurn: number): Pacer {
  let done = 0
  return async (amount) => {
    done += amount
    if (done < mostPerTurn) return
    done = 0
    await nextTurn()
  }
}
