import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import {
  compressForm,
  type EncodedContent,
  encodeContent,
  type Form,
  matchIfNoneMatch,
} from '../../src/delivery/answer.ts'
import { type AnswerCache, type AnswerRequest, createAnswerCache } from '../../src/delivery/answer-cache.ts'

const megabyte = 2 ** 20

const questionOf = (groupId: string, query: object = {}, url = `/list?${JSON.stringify(query)}`): AnswerRequest => ({
  groupId,
  scope: 'free main media',
  route: '/list',
  query,
  url,
})

/** A group's content: one text, whose revision counts its changes. */
function setUp({ maxBytes = megabyte, size = 10 } = {}) {
  const clock = { now: 1000 }
  const cache = createAnswerCache({ maxBytes, clock: () => clock.now })
  const state = { revision: 1, text: 'first', untilMs: Number.POSITIVE_INFINITY, made: 0 }
  const contentNow = (): EncodedContent =>
    encodeContent({
      json: [JSON.stringify(state.text.padEnd(size))],
      revision: state.revision,
      untilMs: state.untilMs,
    })
  const make = async (): Promise<EncodedContent> => {
    state.made += 1
    return contentNow()
  }
  const read = async (question = questionOf('a')): Promise<string> => {
    const { forms } = await cache.find(question, make)
    return JSON.parse(forms.identity.body.toString()).data.trim()
  }
  /** A write of this process. */
  const write = (text: string, groupId = 'a'): void => {
    state.text = text
    state.revision += 1
    cache.observeWrite(groupId, state.revision)
  }
  return { clock, cache, state, contentNow, make, read, write }
}

/** Content whose computation ends on demand. */
function held(content: () => EncodedContent) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let began = 0
  const make = async (): Promise<EncodedContent> => {
    began += 1
    const found = content() // the state now, however long the rest takes
    await promise
    return found
  }
  return { make, release: resolve, began: () => began }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const headerOf = ({ headers }: Form, name: string): string | undefined => headers[headers.indexOf(name) + 1]

describe('an answer', () => {
  it('is built once and sent while it is valid, found by its query and by its URL', async () => {
    const { cache, clock, read, state } = setUp()
    for (let round = 0; round < 3; round += 1) assert.equal(await read(), 'first')
    assert.equal(state.made, 1)
    const { url, scope } = questionOf('a')
    const kept = cache.peek('a', scope, url, clock.now)
    assert.ok(kept)
    assert.equal(JSON.parse(kept.forms.identity.body.toString()).data.trim(), 'first')
    assert.deepEqual([cache.counts.hits, cache.counts.misses, cache.counts.entries], [2, 1, 1])
  })

  it('is shared by all equivalent queries, and by no other', async () => {
    const { read, state } = setUp()
    const ask = (query: object) => read(questionOf('a', query))
    await ask({ limit: 1, filters: { a: ['x', 'y'], b: ['z'] } })
    await ask({ filters: { b: ['z'], a: ['y', 'x'] }, limit: 1 })
    assert.equal(state.made, 1)
    for (const query of [
      { limit: 2, filters: { a: ['x', 'y'], b: ['z'] } },
      { limit: 1, filters: { a: ['x'], b: ['y', 'z'] } },
      { limit: 1, filters: { a: ['x,y'], b: ['z'] } },
      { limit: 1, filters: { a: ['x', 'x', 'y'], b: ['z'] } }, // perhaps more values than allowed
      { limit: 1, sort: 'a', filters: { a: ['x', 'y'], b: ['z'] } },
      {},
    ]) {
      const before: number = state.made
      await ask(query)
      assert.equal(state.made, before + 1, JSON.stringify(query))
    }
  })

  it('belongs to one group, scope and route, whatever the URL', async () => {
    const { cache, clock, read, state } = setUp()
    const question = questionOf('a')
    await read(question)
    for (const other of [
      { ...question, groupId: 'b' },
      { ...question, scope: 'pro main media' },
      { ...question, route: '/other' },
    ]) {
      if (other.route === question.route)
        assert.equal(cache.peek(other.groupId, other.scope, other.url, clock.now), undefined)
      const before: number = state.made
      await read(other)
      assert.equal(state.made, before + 1)
    }
  })

  it('is valid from the moment it was built for until its end, to the millisecond', async () => {
    const { cache, clock, read, state } = setUp()
    const { url, scope } = questionOf('a')
    state.untilMs = 2000
    await read()
    for (const [nowMs, isRight] of [
      [999, false],
      [1000, true],
      [1999, true],
      [2000, false],
    ] as const) {
      assert.equal(cache.peek('a', scope, url, nowMs) !== undefined, isRight, String(nowMs))
      clock.now = nowMs
      const before = state.made
      state.untilMs = 2000
      await read()
      assert.equal(state.made === before, isRight, String(nowMs))
      clock.now = 1000
      await read()
    }
  })

  it('is replaced at once after a write of this process', async () => {
    const { cache, clock, read, write } = setUp()
    assert.equal(await read(), 'first')
    write('second')
    assert.equal(cache.peek('a', questionOf('a').scope, questionOf('a').url, clock.now), undefined)
    assert.equal(await read(), 'second')
  })

  it('is invalid once the group is seen at another revision, higher or lower', async () => {
    for (const other of [2, 0]) {
      const { cache, read, state } = setUp()
      await read()
      Object.assign(state, { revision: other, text: 'other' })
      cache.observe('a', other, performance.now())
      assert.equal(await read(), 'other')
      assert.equal(await read(), 'other')
      assert.equal(state.made, 2)
    }
  })

  it('is not invalidated by an older lookup that arrives late', async () => {
    const { cache, read, state, write } = setUp()
    const askedMs = performance.now()
    write('second')
    await read()
    cache.observe('a', 1, askedMs)
    assert.equal(await read(), 'second')
    assert.equal(state.made, 1)
  })

  it('is rebuilt after a write with a lower revision than the known one', async () => {
    const { cache, read, state } = setUp()
    cache.observe('a', 3, performance.now())
    Object.assign(state, { revision: 3, text: 'third' })
    await read()
    cache.observeWrite('a', 2)
    assert.equal(await read(), 'third')
    assert.equal(state.made, 2)
    await read()
    assert.equal(state.made, 2)
  })

  it('older than the known revision is sent to its requester, and not cached', async () => {
    const { cache, contentNow, read, write } = setUp()
    const slow = held(contentNow)
    const first = cache.find(questionOf('a'), slow.make)
    await tick()
    write('second')
    slow.release()
    assert.equal(JSON.parse((await first).forms.identity.body.toString()).data.trim(), 'first')
    assert.equal(await read(), 'second')
  })

  it('is not cached when building it failed', async () => {
    const { cache, read, state } = setUp()
    await assert.rejects(
      cache.find(questionOf('a'), () => Promise.reject(new Error('away'))),
      /away/,
    )
    assert.equal(await read(), 'first')
    assert.equal(state.made, 1)
  })

  it('is built every time when the cache is off', async () => {
    const { cache, clock, read, state } = setUp({ maxBytes: 0, size: 5000 })
    for (let round = 0; round < 3; round += 1) await read()
    await Promise.all([read(), read()])
    assert.equal(state.made, 5)
    assert.equal(cache.peek('a', questionOf('a').scope, questionOf('a').url, clock.now), undefined)
    const answer = await cache.find(questionOf('a'), async () =>
      encodeContent({ json: ['1'], revision: 1, untilMs: 2000 }),
    )
    assert.equal((await cache.formOf(answer, 'br, gzip, identity;q=0')).encoding, 'identity')
  })
})

describe('an answer requested several times concurrently', () => {
  it('is built once', async () => {
    const { cache, contentNow } = setUp()
    const slow = held(contentNow)
    const asked = Array.from({ length: 10 }, () => cache.find(questionOf('a'), slow.make))
    await tick()
    slow.release()
    assert.equal(new Set(await Promise.all(asked)).size, 1)
    assert.equal(slow.began(), 1)
    assert.deepEqual([cache.counts.misses, cache.counts.joined], [1, 9])
  })

  it('is rebuilt for a request after a write, which does not join the earlier one', async () => {
    const { cache, contentNow, read, write } = setUp()
    const slow = held(contentNow)
    const before = cache.find(questionOf('a'), slow.make)
    await tick()
    write('second')
    assert.equal(await read(), 'second')
    slow.release()
    await before
    assert.equal(await read(), 'second')
  })

  it('is rebuilt for a request that arrives after its end', async () => {
    const { cache, clock, contentNow, make, state } = setUp()
    state.untilMs = 1500
    const slow = held(contentNow)
    const early = cache.find(questionOf('a'), slow.make)
    await tick()
    clock.now = 1500
    Object.assign(state, { text: 'later', untilMs: 9000 })
    const late = [cache.find(questionOf('a'), make), cache.find(questionOf('a'), make)]
    slow.release()
    await early
    for (const answer of await Promise.all(late))
      assert.equal(JSON.parse(answer.forms.identity.body.toString()).data.trim(), 'later')
    assert.equal(state.made, 1, 'once for both')
  })

  it('is rebuilt for waiters when building it for another request failed', async () => {
    const { cache, make, state } = setUp()
    const { promise, reject } = Promise.withResolvers<EncodedContent>()
    const first = cache.find(questionOf('a'), () => promise)
    const others = [cache.find(questionOf('a'), make), cache.find(questionOf('a'), make)]
    reject(new Error('away'))
    await assert.rejects(first, /away/)
    await Promise.all(others)
    assert.equal(state.made, 1)
  })
})

describe('the memory of the answer cache', () => {
  const fill = async (cache: AnswerCache, groupId: string, count: number, bytes: number, from = 0) => {
    for (let number = from; number < from + count; number += 1)
      await cache.find(questionOf(groupId, { number }), async () =>
        encodeContent({ json: [JSON.stringify('x'.repeat(bytes))], revision: 1, untilMs: Number.POSITIVE_INFINITY }),
      )
  }
  const holds = (cache: AnswerCache, groupId: string, number: number): boolean =>
    cache.peek(groupId, questionOf(groupId).scope, questionOf(groupId, { number }).url, 1000) !== undefined

  it('never exceeds its bound, and evicts the least recently used answer first', async () => {
    const { cache } = setUp({ maxBytes: 100_000 })
    await fill(cache, 'a', 8, 10_000)
    const first = cache.peek('a', questionOf('a').scope, questionOf('a', { number: 0 }).url, 1000)
    assert.ok(first)
    cache.use(first)
    await fill(cache, 'a', 1, 10_000, 8)
    assert.ok(cache.counts.bytes <= 100_000 && cache.counts.bytes > 80_000)
    assert.deepEqual(
      Array.from({ length: 9 }, (_, number) => holds(cache, 'a', number)),
      [true, false, true, true, true, true, true, true, true],
    )
    assert.equal(cache.counts.evictions, 1)
  })

  it('keeps the answers of a small group when another group fills it', async () => {
    const { cache } = setUp({ maxBytes: 200_000 })
    await fill(cache, 'small', 3, 5000)
    await fill(cache, 'greedy', 500, 5000)
    assert.deepEqual(
      [0, 1, 2].map((number) => holds(cache, 'small', number)),
      [true, true, true],
    )
    assert.ok(holds(cache, 'greedy', 499))
    assert.ok(cache.counts.bytes <= 200_000)
  })

  it('is shared evenly by groups that all need more than there is', async () => {
    const { cache } = setUp({ maxBytes: 1_000_000 })
    const groups = Array.from({ length: 10 }, (_, number) => `group ${number}`)
    for (let round = 0; round < 50; round += 1) for (const group of groups) await fill(cache, group, 1, 5000, round)
    for (const group of groups) {
      const kept = Array.from({ length: 50 }, (_, number) => holds(cache, group, number)).filter(Boolean).length
      assert.ok(kept >= 13 && kept <= 16, `${group} holds ${kept}`)
    }
  })

  it('finds the largest of ten thousand groups without looking at all of them', async () => {
    const { cache } = setUp({ maxBytes: 30 * megabyte })
    for (let group = 0; group < 9_999; group += 1) await fill(cache, `group ${group}`, 1, 100)
    const evicted = cache.counts.evictions
    const startedMs = process.threadCpuUsage().user
    await fill(cache, 'greedy', 2_000, 50_000)
    const spentMs = (process.threadCpuUsage().user - startedMs) / 1000
    assert.ok(cache.counts.evictions - evicted > 1000)
    assert.ok(holds(cache, 'group 0', 0) && holds(cache, 'group 9998', 0))
    assert.ok(spentMs < 5000, `${spentMs} ms of work`) // a single scan of all would take this long
  })

  it('stores no answer larger than an eighth of it', async () => {
    const { cache } = setUp({ maxBytes: 80_000 })
    await fill(cache, 'a', 1, 11_000)
    assert.equal(cache.counts.entries, 0)
    await fill(cache, 'a', 1, 8_000)
    assert.equal(cache.counts.entries, 1)
  })

  it('is freed when a group has another revision', async () => {
    const { cache } = setUp()
    await fill(cache, 'a', 5, 5000)
    await fill(cache, 'b', 1, 5000)
    const { bytes } = cache.counts
    cache.observeWrite('a', 2)
    assert.equal(cache.counts.entries, 1)
    assert.equal(Math.round(cache.counts.bytes / (bytes / 6)), 1)
    cache.observeWrite('b', 2)
    assert.deepEqual([cache.counts.bytes, cache.counts.entries], [0, 0])
  })

  it('counts the URLs of each answer, whose number is limited', async () => {
    const { cache, make } = setUp()
    for (let spelling = 0; spelling < 100; spelling += 1)
      await cache.find(questionOf('a', {}, `/list?x=${spelling}`), make)
    const found = Array.from({ length: 100 }, (_, spelling) => spelling).filter((spelling) =>
      cache.peek('a', questionOf('a').scope, `/list?x=${spelling}`, 1000),
    )
    assert.deepEqual(found, [92, 93, 94, 95, 96, 97, 98, 99], 'those requested last')
    const before = cache.counts.bytes
    await cache.find(questionOf('b', {}, `/list?x=${'y'.repeat(5000)}`), make)
    assert.ok(cache.counts.bytes - before < 3000, 'a URL that long is not worth it')
  })

  it('evicts groups without losing the order of lookups', async () => {
    const { cache, contentNow, read, write } = setUp()
    const askedMs = performance.now()
    const slow = held(contentNow)
    const begunBefore = cache.find(questionOf('a'), slow.make)
    await tick()
    write('second')
    for (let other = 0; other < 10_001; other += 1) cache.observe(`other ${other}`, 1, performance.now())
    cache.observe('a', 1, askedMs) // read before the write, arriving late
    slow.release()
    await begunBefore
    assert.equal(await read(), 'second')
  })

  it('is exact to the byte after any sequence of operations (property)', async () => {
    const step = fc.record({
      group: fc.integer({ min: 0, max: 3 }),
      number: fc.integer({ min: 0, max: 20 }),
      bytes: fc.integer({ min: 1, max: 20_000 }),
      act: fc.constantFrom('read', 'read', 'read', 'write', 'compress'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const cache = createAnswerCache({ maxBytes: 150_000, clock: () => 1000 })
        const revisions = [1, 1, 1, 1]
        for (const { group, number, bytes, act } of steps) {
          const groupId = String(group)
          if (act === 'write') {
            revisions[group] = (revisions[group] ?? 0) + 1
            cache.observeWrite(groupId, revisions[group])
          } else {
            const answer = await cache.find(questionOf(groupId, { number }), async () =>
              encodeContent({
                json: [JSON.stringify('x'.repeat(bytes))],
                revision: revisions[group] ?? 0,
                untilMs: 2000,
              }),
            )
            if (act === 'compress') await cache.formOf(answer, 'gzip, identity;q=0')
          }
          assert.ok(cache.counts.bytes <= 150_000)
          assert.ok(cache.counts.bytes >= cache.counts.entries * 1000)
        }
        for (const group of [0, 1, 2, 3]) cache.observeWrite(String(group), 1000)
        assert.deepEqual([cache.counts.bytes, cache.counts.entries], [0, 0])
      }),
      { numRuns: 60 },
    )
  })
})

describe('If-None-Match', () => {
  it('is matched in a list of limited length, and ignored in a longer one', async () => {
    const { cache, make } = setUp()
    const answer = await cache.find(questionOf('a'), make)
    const { etag } = answer.forms.identity
    assert.equal(matchIfNoneMatch(answer, `${'"x", '.repeat(50)}${etag}`), etag)
    assert.equal(matchIfNoneMatch(answer, `${'"x", '.repeat(1000)}${etag}`), undefined)
  })
})

describe('a compressed answer', () => {
  const long = (cache: AnswerCache, text = 'abc '.repeat(1000)) =>
    cache.find(questionOf('a'), async () => encodeContent({ json: [JSON.stringify(text)], revision: 1, untilMs: 2000 }))

  it('is made when an answer is requested a second time, and decompresses to the same content', async () => {
    const { cache } = setUp()
    assert.equal((await cache.formOf(await long(cache), 'gzip')).encoding, 'identity')
    const answer = await long(cache)
    assert.equal(cache.peekForm(answer, 'gzip'), undefined)
    const { identity } = answer.forms
    const unpackers = { gzip: gunzipSync, br: brotliDecompressSync }
    for (const encoding of ['gzip', 'br'] as const) {
      const form = await cache.formOf(answer, encoding)
      assert.equal(form.encoding, encoding)
      assert.ok(form.body.length < identity.body.length / 5)
      assert.deepEqual(unpackers[encoding](form.body), identity.body)
      assert.equal(headerOf(form, 'content-encoding'), encoding)
      assert.equal(headerOf(form, 'content-length'), String(form.body.length))
      assert.equal(cache.peekForm(answer, encoding), form)
    }
    assert.equal(new Set([answer.forms.br?.etag, answer.forms.gzip?.etag, identity.etag]).size, 3)
  })

  it('is made once for concurrent requests, and counted', async () => {
    const { cache } = setUp()
    await long(cache)
    const answer = await long(cache)
    const before = cache.counts.bytes
    const forms = await Promise.all([cache.formOf(answer, 'br'), cache.formOf(answer, 'br')])
    assert.equal(forms[0], forms[1])
    assert.ok(cache.counts.bytes >= before + forms[0].body.length)
  })

  it('is not made for bodies below 1 KB', async () => {
    const { cache } = setUp()
    await long(cache, 'short')
    const answer = await long(cache, 'short')
    assert.equal(cache.peekForm(answer, 'gzip'), answer.forms.identity)
    assert.equal((await cache.formOf(answer, 'gzip')).encoding, 'identity')
  })

  it('is not made for an answer that is no longer cached', async () => {
    const { cache } = setUp()
    await long(cache)
    const answer = await long(cache)
    cache.observeWrite('a', 2)
    assert.equal((await cache.formOf(answer, 'gzip')).encoding, 'identity')
  })

  it('is limited to two at a time, which leaves threads for writes; further requests get the plain form', async () => {
    const { cache } = setUp()
    const ask = (name: string) =>
      cache.find(questionOf('a', { name }), async () =>
        encodeContent({ json: [JSON.stringify(name.repeat(2000))], revision: 1, untilMs: 2000 }),
      )
    const names = ['one', 'two', 'three']
    for (const name of names) await ask(name)
    const answers = await Promise.all(names.map(ask))
    const encodings = async () => (await Promise.all(answers.map((a) => cache.formOf(a, 'br')))).map((f) => f.encoding)
    assert.deepEqual(await encodings(), ['br', 'br', 'identity'])
    assert.deepEqual(await encodings(), ['br', 'br', 'br'])
  })

  it('is not stored when it is not smaller', async () => {
    const form: Form = { encoding: 'identity', body: randomBytes(2000), etag: '"x"', headers: [] }
    for (const encoding of ['gzip', 'br'] as const) assert.equal(await compressForm(form, encoding), form)
  })

  it('is made at once for clients that accept nothing else', async () => {
    const { cache } = setUp()
    assert.equal((await cache.formOf(await long(cache), 'gzip, identity;q=0')).encoding, 'gzip')
  })
})
