import { randomBytes } from 'node:crypto'

/** All of eight hex digits. */
const [first, last] = [0x1000_0000, 0xffff_ffff]

/**
 * Ids of requests: 24 hex digits. 64 random bits that no other process has, then a counter, because random bits for each
 * request would cost more than all else that is done for a short answer.
 */
export function createRequestIds(): () => string {
  let prefix = ''
  let count = last
  return () => {
    if (count === last) {
      prefix = randomBytes(8).toString('hex')
      count = first
    }
    count += 1
    return prefix + count.toString(16)
  }
}
