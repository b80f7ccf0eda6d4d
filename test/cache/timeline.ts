/** spec §5.5: what was found out about a key, and the revision with it, is believed for so long. */
const believedMs = 1000

/**
 * What something has been, one state after another, and at which moments of the clock each of them was the present one.
 * Who looked at one moment may believe what he saw for a second of the clock, also of a clock that has been set back.
 */
export interface Timeline<State> {
  /** The number of the present state. */
  present(): number
  /** A write was acknowledged at this moment. */
  write(state: State, nowMs: number): void
  /** The clock stands at another moment. */
  arrive(nowMs: number): void
  /** The number of the oldest state that anybody may believe to be the present one. */
  oldestBelieved(nowMs: number): number
  at(number: number): State
  /** For how long a state has been over. */
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
    oldestBelieved(nowMs) {
      const believed = arrivals.filter(({ atMs }) => atMs > nowMs - believedMs && atMs <= nowMs)
      return Math.min(states.length - 1, ...believed.map(({ number }) => number))
    },
    at: (number) => take(number).state,
    ageOf: (number, nowMs) => nowMs - take(number + 1).sinceMs,
  }
}
