/** Milliseconds since 1970. Passed in everywhere, so that a test can stand at any moment. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
