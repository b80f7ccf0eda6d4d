import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Container } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/schema.ts'
import { createContentMemory } from '../../src/store/content-memory.ts'

const always = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY }

describe('the memory of content', () => {
  it('knows what was read at a revision as long as no other one is observed, higher or lower', () => {
    const memory = createContentMemory()
    const { totals } = memory
    totals.keep('a', 5, 'all', 10, always)
    totals.keep('b', 5, 'all', 20, always)
    assert.equal(totals.recall('a', 5, 'all', 0), 10)
    assert.equal(totals.recall('a', 6, 'all', 0), undefined)
    memory.observe('a', 4)
    assert.equal(memory.revisionOf('a'), 4)
    memory.observe('a', 5) // the same number again, and not the same content: a backup was put back
    assert.equal(totals.recall('a', 5, 'all', 0), undefined)
    assert.equal(totals.recall('b', 5, 'all', 0), 20)
  })

  it('knows it from the moment at which it was read until it ends', () => {
    const { totals } = createContentMemory()
    totals.keep('a', 1, 'all', 10, { fromMs: 100, untilMs: 200 })
    const at = (nowMs: number) => totals.recall('a', 1, 'all', nowMs)
    assert.deepEqual([at(99), at(100), at(199), at(200)], [undefined, 10, 10, undefined])
  })

  it('takes no more than it may, and forgets what was used least recently', () => {
    const { orders } = createContentMemory(100_000)
    const entries = Array.from({ length: 200 }, (_, n) => ({ id: String(n), row: undefined }))
    for (let n = 0; n < 50; n++) {
      orders.keep('a', 1, `list ${n}`, entries, always)
      assert.ok(orders.recall('a', 1, 'list 0', 0), `the first one is in use at ${n}`)
    }
    const known = Array.from({ length: 50 }, (_, n) => orders.recall('a', 1, `list ${n}`, 0) !== undefined)
    assert.ok(known.filter((is) => is).length < 7)
    assert.ok(known[0] && known[49] && !known[1])
  })

  it('is not taken from a group by one that asks for more', () => {
    const { totals } = createContentMemory(100_000)
    totals.keep('quiet', 1, 'all', 10, always)
    for (let n = 0; n < 1000; n++) totals.keep('busy', 1, `filter ${n}`, n, always)
    assert.equal(totals.recall('quiet', 1, 'all', 0), 10)
    assert.equal(totals.recall('busy', 1, 'filter 999', 0), 999)
    assert.equal(totals.recall('busy', 1, 'filter 0', 0), undefined)
  })

  it('counts a schema by all that is written in it', () => {
    const { containers } = createContentMemory(1_000_000)
    const schema = parseSchema({
      kind: { type: 'enum', values: Array.from({ length: 1000 }, (_, n) => `option ${n}`) },
    })
    const container: Container = { id: 'x', kind: 'collection', name: 'x', schema, settings: {}, version: 1 } as never
    for (let n = 0; n < 100; n++)
      containers.keep('a', 1, `place ${n}`, { container, revision: 1, nextPublishMs: Number.POSITIVE_INFINITY }, always)
    const kept = Array.from({ length: 100 }, (_, n) => containers.recall('a', 1, `place ${n}`, 0)).filter(
      Boolean,
    ).length
    assert.ok(kept > 0 && kept * 20_000 < 1_000_000, `${kept} of them are kept`)
  })

  it('keeps nothing under an endless key, and nothing at all when it may take nothing', () => {
    const { totals } = createContentMemory()
    totals.keep('a', 1, 'x'.repeat(5000), 10, always)
    assert.equal(totals.recall('a', 1, 'x'.repeat(5000), 0), undefined)
    const nothing = createContentMemory(0)
    nothing.totals.keep('a', 1, 'all', 10, always)
    assert.equal(nothing.totals.recall('a', 1, 'all', 0), undefined)
  })
})
