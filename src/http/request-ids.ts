import { randomBytes } from 'node:crypto'

/** Every number from first to last has eight hex digits. */
const [first, last] = [0x1000_0000, 0xffff_ffff]

/**
 * Request ids: 24 hex digits. 64 random bits per process, then a counter, because random bits for each request would cost more
 * than everything else a cached answer needs.
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
