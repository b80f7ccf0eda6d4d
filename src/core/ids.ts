import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from './clock.ts'

export const idPattern = /^[0-9a-f]{24}$/

/**
 * Ids are 4 bytes of seconds and 8 random bytes, as hex. Within a second the random part only grows, so that the ids of one
 * process sort by creation.
 */
export function createIdMaker(clock: Clock = systemClock): () => string {
  let lastSeconds = -1
  let lastTail = 0n
  return () => {
    const seconds = Math.max(Math.floor(clock() / 1000), lastSeconds)
    // The top bit of the first tail stays 0, which leaves room for far more ids than one second can need.
    const tail =
      seconds === lastSeconds
        ? lastTail + 1n + BigInt(randomBytes(4).readUInt32BE())
        : randomBytes(8).readBigUInt64BE() >> 1n
    lastSeconds = seconds
    lastTail = tail
    return seconds.toString(16).padStart(8, '0') + tail.toString(16).padStart(16, '0')
  }
}

export const makeId = createIdMaker()
