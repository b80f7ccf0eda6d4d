import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { toIso } from '../../src/content/moments.ts'

describe('a moment as text', () => {
  it('is written as JavaScript itself writes it, in every year there is', () => {
    const most = 8_640_000_000_000_000
    const moments = fc.oneof(
      fc.integer({ min: -most, max: most }),
      fc.integer({ min: -86_400_001, max: 86_400_001 }),
      fc.constantFrom(0, -0, -1, 0.5, -0.5, 1.999, most, -most, Date.UTC(9999, 11, 31, 23, 59, 59, 999)),
    )
    fc.assert(
      fc.property(moments, (ms) => assert.equal(toIso(ms), new Date(ms).toISOString())),
      { numRuns: 5000 },
    )
    assert.throws(() => toIso(Number.NaN), RangeError)
  })
})
