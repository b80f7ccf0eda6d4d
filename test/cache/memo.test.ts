import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoizeByPair } from '../../src/cache/memo.ts'

describe('a memo by pair', () => {
  it('computes once for each pair of objects, also where the result is undefined', () => {
    const calls: string[] = []
    const pair = memoizeByPair((a: { name: string }, b: { name: string }): string | undefined => {
      calls.push(`${a.name}${b.name}`)
      return a === b ? undefined : `${a.name} and ${b.name}`
    })
    const [x, y] = [{ name: 'x' }, { name: 'y' }]
    assert.deepEqual([pair(x, y), pair(y, x), pair(x, x)], ['x and y', 'y and x', undefined])
    assert.deepEqual([pair(x, y), pair(y, x), pair(x, x)], ['x and y', 'y and x', undefined])
    assert.deepEqual(calls, ['xy', 'yx', 'xx'])
  })

  it('computes again for another object with equal fields', () => {
    let calls = 0
    const count = memoizeByPair((_a: object, _b: object) => ++calls)
    const [a, b] = [{}, {}]
    assert.deepEqual([count(a, b), count({}, b), count(a, {}), count(a, b)], [1, 2, 3, 1])
  })

  it('does not memoize a failure', () => {
    let isBroken = true
    const compute = memoizeByPair(() => {
      if (isBroken) throw new Error('broken')
      return 'mended'
    })
    const [a, b] = [{}, {}]
    assert.throws(() => compute(a, b), /broken/)
    isBroken = false
    assert.equal(compute(a, b), 'mended')
  })
})
