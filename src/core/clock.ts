/** Milliseconds since 1970. Injected everywhere, so that a test can choose the time. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** A stored time this far in the future was written by a clock that was ahead. */
export const maxClockSkewMs = hourMs
