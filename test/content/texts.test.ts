import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { findText } from '../../src/content/texts.ts'
import { assertLinear } from '../helpers/growth.ts'

describe('a substring search', () => {
  it('agrees with `indexOf`', () => {
    const few = fc.string({ unit: fc.constantFrom('a', 'b', '🥐'), maxLength: 30 })
    fc.assert(
      fc.property(few, few, fc.nat(30), fc.nat(5), (whole, other, from, length) => {
        for (const part of [other, whole.slice(from, from + length)])
          assert.equal(findText(whole, part), whole.indexOf(part))
      }),
      { numRuns: 5000 },
    )
  })

  it('takes time linear in both lengths', async () => {
    await assertLinear(
      (length) => 'a'.repeat(length),
      (text) => {
        const half = text.slice(0, text.length / 20)
        findText(text, `${half}b${half}`)
        findText(text, `${half}b`)
        findText(text, `b${half}`)
      },
    )
  })
})
