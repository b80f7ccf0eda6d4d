/** Milliseconds since 1970. Injected everywhere, so that a test can choose the time. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
