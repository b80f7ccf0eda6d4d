import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createFairQueue } from '../../src/concurrency/fair-queue.ts'

describe('a fair queue', () => {
  it('serves keys in turn, however much is queued for one of them, each in its own order', () => {
    const queue = createFairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item)
    queue.push('b', 'b1')
    queue.push('c', 'c1')
    assert.equal(queue.shift(), 'a1')
    queue.push('b', 'b2')
    queue.unshift('a', 'a0')
    assert.equal(queue.size, 7)
    const rest = Array.from({ length: 8 }, () => queue.shift())
    assert.deepEqual(rest, ['b1', 'c1', 'a0', 'b2', 'a2', 'a3', 'a4', undefined])
    assert.equal(queue.size, 0)
  })

  it('accepts any number of keys, and loses no queued item', () => {
    const queue = createFairQueue<number>()
    queue.push('first', -1)
    for (let name = 0; name < 5000; name += 1) {
      queue.push(`name ${name}`, name)
      if (name % 2 === 0) queue.shift()
    }
    const rest = Array.from({ length: queue.size }, () => queue.shift())
    assert.deepEqual(
      rest,
      Array.from({ length: 2501 }, (_, at) => 2499 + at),
    )
  })
})
