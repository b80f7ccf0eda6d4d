import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLruMap } from '../../src/cache/lru-map.ts'

describe('LRU map', () => {
  it('evicts the least recently used entry when it is full', () => {
    const map = createLruMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    assert.equal(map.get('a'), 1) // touched, so b is the older one now
    map.set('c', 3)
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [1, undefined, 3])
  })

  it('does not grow when a key is overwritten, and shrinks when one is deleted', () => {
    const map = createLruMap<string, number>(2)
    map.set('a', 1)
    map.set('b', 2)
    map.set('a', 3)
    map.set('c', 4)
    assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [3, undefined, 4])
    map.delete('a')
    map.set('d', 5)
    assert.deepEqual([map.get('a'), map.get('c'), map.get('d')], [undefined, 4, 5])
  })

  it('reports each evicted value once, and no replaced or deleted one', () => {
    const evicted: number[] = []
    const map = createLruMap<string, number>(2, (value) => evicted.push(value))
    map.set('a', 1)
    map.set('b', 2)
    map.set('a', 3)
    map.delete('b')
    map.set('c', 4)
    assert.deepEqual(evicted, [])
    map.set('d', 5)
    assert.deepEqual(evicted, [3])
  })

  it('iterates over all values without changing the order of eviction', () => {
    const map = createLruMap<string, number>(2)
    assert.deepEqual([...map.values()], [])
    map.set('a', 1)
    map.set('b', 2)
    assert.deepEqual([...map.values()], [1, 2])
    map.set('c', 3)
    assert.deepEqual([...map.values()], [2, 3])
  })
})
