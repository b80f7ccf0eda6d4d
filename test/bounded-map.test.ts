import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBoundedMap } from '../src/bounded-map.ts'

describe('a bounded map', () => {
  it('forgets what was untouched longest when it is full', () => {
    const map = createBoundedMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    assert.equal(map.get('a'), 1) // touched, so b is the older one now
    map.set('c', 3)
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [1, undefined, 3])
  })

  it('keeps its place for a key that is set again or deleted', () => {
    const map = createBoundedMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    map.set('a', 3)
    map.set('c', 4)
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [3, undefined, 4])
    map.delete('a')
    map.set('d', 5)
    assert.deepEqual([map.get('a'), map.get('c'), map.get('d')], [undefined, 4, 5])
  })

  it('tells what it forgets for want of place, once, and not what is replaced or deleted', () => {
    const forgotten: number[] = []
    const map = createBoundedMap<string, number>(2, (value) => forgotten.push(value))
    map.set('a', 1)
    map.set('b', 2)
    map.set('a', 3)
    map.delete('b')
    map.set('c', 4)
    assert.deepEqual(forgotten, [])
    map.set('d', 5)
    assert.deepEqual(forgotten, [3])
  })

  it('gives all that it keeps, and asking for all of it touches nothing', () => {
    const map = createBoundedMap<string, number>(2)
    assert.deepEqual([...map.values()], [])
    map.set('a', 1)
    map.set('b', 2)
    assert.deepEqual([...map.values()], [1, 2])
    map.set('c', 3)
    assert.deepEqual([...map.values()], [2, 3])
  })
})
