import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createIdMaker, idPattern, makeId } from '../../src/core/ids.ts'

const startMs = Date.UTC(2026, 2, 1, 12)
const secondsOf = (id: string): number => Number.parseInt(id.slice(0, 8), 16)

function assertAscending(ids: readonly string[]): void {
  ids.forEach((id, position) => {
    assert.match(id, /^[0-9a-f]{24}$/)
    if (position > 0) assert.ok(id > (ids[position - 1] ?? ''), `${id} does not follow ${ids[position - 1]}`)
  })
}

describe('an id', () => {
  it('is 24 lower-case hex characters that begin with the second of its creation', () => {
    const before = Math.floor(Date.now() / 1000)
    const id = makeId()
    assert.match(id, /^[0-9a-f]{24}$/)
    assert.match(id, idPattern)
    assert.ok(secondsOf(id) >= before && secondsOf(id) <= Date.now() / 1000)
    assert.equal(secondsOf(createIdMaker(() => startMs)()), startMs / 1000)
  })

  it('sorts after all ids generated before it, even within one second', () => {
    const make = createIdMaker(() => startMs)
    assertAscending(Array.from({ length: 100_000 }, make))
  })

  it('sorts after the previous one whatever the clock does', () => {
    const jumps = fc.array(fc.integer({ min: -100_000_000, max: 100_000_000 }), { minLength: 2, maxLength: 50 })
    fc.assert(
      fc.property(jumps, (steps) => {
        let now = startMs
        const make = createIdMaker(() => now)
        assertAscending(
          steps.map((step) => {
            now += step
            return make()
          }),
        )
      }),
    )
  })

  it('keeps increasing for ten thousand ids when the clock is set back by a day, then follows the clock again', () => {
    let now = startMs
    const make = createIdMaker(() => now)
    const ids = [make()]
    now -= 86_400_000
    for (let count = 0; count < 10_000; count += 1) ids.push(make())
    now = startMs + 5000
    ids.push(make())
    assertAscending(ids)
    assert.equal(secondsOf(ids.at(-1) ?? ''), now / 1000)
  })

  it('does not reveal the next one: ids of one second are not consecutive', () => {
    const make = createIdMaker(() => startMs)
    const tails = Array.from({ length: 1000 }, () => BigInt(`0x${make().slice(8)}`))
    const gaps = tails.slice(1).map((tail, position) => tail - (tails[position] ?? 0n))
    assert.ok(new Set(gaps).size > 990)
  })

  it('is unique to its process', () => {
    const ids = Array.from({ length: 1000 }, () => createIdMaker(() => startMs)())
    assert.equal(new Set(ids).size, 1000)
  })
})
