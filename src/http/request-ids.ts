import { randomBytes } from 'node:crypto'

const mostInRow = 2 ** 32

/**
 * Ids of requests: 24 hex digits. 64 random bits that no other process has, then a counter, because random bits for each
 * request would cost more than all else that is done for a short answer.
 */
export function createRequestIds(): () => string {
  let prefix = ''
  let count = mostInRow
  return () => {
    if (count === mostInRow) {
      prefix = randomBytes(8).toString('hex')
      count = 0
    }
    const digits = count.toString(16)
    count += 1
    return prefix + '00000000'.slice(digits.length) + digits
  }
}
