import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Container } from '../../../src/content/model.ts'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { createContentCache } from '../../../src/store/lists/content-cache.ts'

const always = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY }

describe('the content cache', () => {
  it('returns what was read at a revision until another one is observed, higher or lower', () => {
    const cache = createContentCache()
    const { totals } = cache
    totals.set('a', 5, 'all', 10, always)
    totals.set('b', 5, 'all', 20, always)
    assert.equal(totals.get('a', 5, 'all', 0), 10)
    assert.equal(totals.get('a', 6, 'all', 0), undefined)
    cache.observe('a', 4)
    assert.equal(cache.revisionOf('a'), 4)
    cache.observe('a', 5) // the same number with other content: a backup was restored
    assert.equal(totals.get('a', 5, 'all', 0), undefined)
    assert.equal(totals.get('b', 5, 'all', 0), 20)
  })

  it('returns it from the moment at which it was read until it ends', () => {
    const { totals } = createContentCache()
    totals.set('a', 1, 'all', 10, { fromMs: 100, untilMs: 200 })
    const at = (nowMs: number) => totals.get('a', 1, 'all', nowMs)
    assert.deepEqual([at(99), at(100), at(199), at(200)], [undefined, 10, 10, undefined])
  })

  it('stays within its bound, and evicts the least recently used entry', () => {
    const { orders } = createContentCache(100_000)
    const entries = Array.from({ length: 200 }, (_, n) => ({ id: String(n), row: undefined }))
    for (let n = 0; n < 50; n++) {
      orders.set('a', 1, `list ${n}`, entries, always)
      assert.ok(orders.get('a', 1, 'list 0', 0), `the first one is in use at ${n}`)
    }
    const known = Array.from({ length: 50 }, (_, n) => orders.get('a', 1, `list ${n}`, 0) !== undefined)
    assert.ok(known.filter((is) => is).length < 7)
    assert.ok(known[0] && known[49] && !known[1])
  })

  it('does not evict the entries of a group that holds less than another', () => {
    const { totals } = createContentCache(100_000)
    totals.set('quiet', 1, 'all', 10, always)
    for (let n = 0; n < 1000; n++) totals.set('busy', 1, `filter ${n}`, n, always)
    assert.equal(totals.get('quiet', 1, 'all', 0), 10)
    assert.equal(totals.get('busy', 1, 'filter 999', 0), 999)
    assert.equal(totals.get('busy', 1, 'filter 0', 0), undefined)
  })

  it('keeps containers and totals when lists of ids fill it', () => {
    const { totals, orders } = createContentCache(100_000)
    totals.set('a', 1, 'all', 10, always)
    const entries = Array.from({ length: 200 }, (_, n) => ({ id: String(n), row: undefined }))
    for (let n = 0; n < 100; n++) orders.set('a', 1, `list ${n}`, entries, always)
    assert.equal(orders.get('a', 1, 'list 0', 0), undefined)
    assert.ok(orders.get('a', 1, 'list 99', 0))
    assert.equal(totals.get('a', 1, 'all', 0), 10)
  })

  it('weighs a schema with all its values', () => {
    const { containers } = createContentCache(1_000_000)
    const schema = parseSchema({
      kind: { type: 'enum', values: Array.from({ length: 1000 }, (_, n) => `option ${n}`) },
    })
    const container: Container = { id: 'x', kind: 'collection', name: 'x', schema, settings: {}, version: 1 } as never
    for (let n = 0; n < 100; n++)
      containers.set(
        'a',
        1,
        `container ${n}`,
        { container, revision: 1, nextPublishMs: Number.POSITIVE_INFINITY },
        always,
      )
    const cached = Array.from({ length: 100 }, (_, n) => containers.get('a', 1, `container ${n}`, 0)).filter(
      Boolean,
    ).length
    assert.ok(cached > 0 && cached * 20_000 < 1_000_000, `${cached} of them are cached`)
  })

  it('stores nothing under an endless key, and nothing at all when it is off', () => {
    const { totals } = createContentCache()
    totals.set('a', 1, 'x'.repeat(5000), 10, always)
    assert.equal(totals.get('a', 1, 'x'.repeat(5000), 0), undefined)
    const nothing = createContentCache(0)
    nothing.totals.set('a', 1, 'all', 10, always)
    assert.equal(nothing.totals.get('a', 1, 'all', 0), undefined)
  })
})
