/** spec §5.5: for how long a key's access and the revision may be cached. */
const cachedMs = 1000

/**
 * A sequence of states, and the moments of the clock at which each of them was current. A process may cache the state it
 * read for a second of the clock, also after the clock has been set back.
 */
export interface Timeline<State> {
  /** The number of the present state. */
  present(): number
  /** A write was acknowledged at this moment. */
  write(state: State, nowMs: number): void
  /** The clock was set to another moment. */
  arrive(nowMs: number): void
  /** The number of the oldest state that a process may still have cached. */
  oldestCached(nowMs: number): number
  at(number: number): State
  /** For how long a state has been outdated. */
  ageOf(number: number, nowMs: number): number
}

export function createTimeline<State>(first: State, startMs: number): Timeline<State> {
  const states = [{ state: first, sinceMs: startMs }]
  const arrivals = [{ atMs: startMs, number: 0 }]
  const take = (number: number) => {
    const found = states[number]
    if (!found) throw new Error(`There is no state ${number}.`)
    return found
  }
  return {
    present: () => states.length - 1,
    write: (state, nowMs) => void states.push({ state, sinceMs: nowMs }),
    arrive: (nowMs) => void arrivals.push({ atMs: nowMs, number: states.length - 1 }),
    oldestCached(nowMs) {
      const believed = arrivals.filter(({ atMs }) => atMs > nowMs - cachedMs && atMs <= nowMs)
      return Math.min(states.length - 1, ...believed.map(({ number }) => number))
    },
    at: (number) => take(number).state,
    ageOf: (number, nowMs) => nowMs - take(number + 1).sinceMs,
  }
}
