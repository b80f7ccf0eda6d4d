import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createMaxHeap } from '../../src/cache/max-heap.ts'

describe('max-heap', () => {
  it('returns the heaviest item after any sequence of weight changes (property)', () => {
    const change = fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 30 }))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
        const weights = new Map<number, number>()
        const heap = createMaxHeap<number>()
        for (const [item, weight] of changes) {
          heap.setWeight(item, weight)
          if (weight === 0) weights.delete(item)
          else weights.set(item, weight)
          const heaviest = heap.heaviest()
          if (weights.size === 0) assert.equal(heaviest, undefined)
          else assert.equal(weights.get(heaviest ?? -1), Math.max(...weights.values()))
        }
      }),
    )
  })
})
