import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { FastifyRequest } from 'fastify'
import { createJsonMeter, readBody } from '../../src/http/json-body.ts'
import { assertLinear } from '../helpers/growth.ts'

const mostParts = 300_000
function check(json: string, chunkBytes = Number.POSITIVE_INFINITY): void {
  const bytes = Buffer.from(json)
  const meter = createJsonMeter(mostParts)
  for (let at = 0; at < bytes.length; at += chunkBytes) meter.add(bytes.subarray(at, at + chunkBytes))
}
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const list = (length: number, item = '0') => `[${Array(length).fill(item).join()}]`

describe('the size of unparsed JSON', () => {
  it('includes its nesting depth, ignoring brackets inside strings', () => {
    check(nested(40))
    assert.throws(() => check(nested(41)), /nested more than 40 deep/)
    check(`["${'['.repeat(1000)}","\\"${'{'.repeat(1000)}\\\\"]`)
    assert.throws(() => check(`["\\\\",${nested(41)}]`), /nested/)
    check(`[${Array(1000).fill(nested(39)).join()}]`)
  })

  it('is the same however it is split into chunks', () => {
    const tricky = `["a\\"[[[", "\\\\", {"k\\\\\\"[": "]"}, "\\u005b[", ${nested(39)}]`
    JSON.parse(tricky)
    const tooDeep = tricky.replace(nested(39), nested(40))
    for (const chunkBytes of [1, 2, 3, 5, 7]) {
      check(tricky, chunkBytes)
      assert.throws(() => check(tooDeep, chunkBytes), /nested more than 40 deep/)
    }
  })

  it('finds the end of a string, however long it is and whatever it escapes', () => {
    const character = fc.constantFrom('a', '"', '\\', '[', 'é', 'a'.repeat(260), '\\'.repeat(257), '"'.repeat(258))
    const text = fc.array(character, { maxLength: 40 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(text), fc.integer({ min: 1, max: 300 }), (texts, chunkBytes) => {
        check(`[${JSON.stringify(texts)},${nested(38)}]`, chunkBytes)
        assert.throws(() => check(`[${JSON.stringify(texts)},${nested(40)}]`, chunkBytes), /nested/)
      }),
    )
  })

  it('includes the entries in one list or object, the values in all, and the keys', () => {
    check(list(10_000))
    assert.throws(() => check(list(10_001)), /more than 10000 entries/)
    check(list(29, list(10_000)))
    assert.throws(() => check(list(31, list(10_000))), /more than 300000 parts/)
    const object = (keys: number) => `{${Array.from({ length: keys }, (_, n) => `"k:,${n}":1`).join()}}`
    check(list(50, object(1000)))
    assert.throws(() => check(list(51, object(1000))), /more than 50000 keys/)
  })

  it('includes the length of a number, and of consecutive whitespace', () => {
    check(`{"x": ${'9'.repeat(9_999)}}`)
    check(`[${' '.repeat(10_000)}"${' '.repeat(1_000_000)}"${' '.repeat(10_000)}]`, 1000)
    for (const chunkBytes of [1000, 65_536]) {
      assert.throws(() => check(`{"x":${'9'.repeat(10_001)}}`, chunkBytes), /a number of more than 10000 characters/)
      assert.throws(() => check(`["x"${' '.repeat(10_001)}`, chunkBytes), /as many blanks/)
    }
  })

  it('is also determined for invalid JSON, in the same time', async () => {
    const shapes = ['[', '{', ']', '}', ',', ':', '"', '\\', '"\\', '[]', '[,', '{"a":', ' ', '0', '\u00e9', '[1]}']
    for (const shape of shapes)
      await assertLinear(
        (length) => shape.repeat(20 * Math.ceil(length / shape.length)),
        (json) => {
          try {
            check(json)
          } catch {}
        },
      )
  })
})

describe('a body', () => {
  const requestOf = (bodyLimit: number, length?: number) =>
    ({
      headers: length === undefined ? {} : { 'content-length': String(length) },
      routeOptions: { bodyLimit },
    }) as unknown as FastifyRequest

  it('is assembled from chunks of any length', async () => {
    for (const size of [1, 7, 1000, 70_000]) {
      const text = 'äbc🍞'.repeat(20_000)
      const bytes = Buffer.from(text)
      const payload = new PassThrough()
      const read = readBody(requestOf(bytes.length, bytes.length), payload)
      for (let at = 0; at < bytes.length; at += size) payload.write(bytes.subarray(at, at + size))
      payload.end()
      assert.equal((await read).toString(), text)
    }
  })

  it('is refused as soon as it exceeds the limit of its route, is shorter than announced, or breaks off', async () => {
    await assert.rejects(readBody(requestOf(10, 11), new PassThrough()), /too large/)
    const endless = new PassThrough()
    endless.write('x'.repeat(11))
    await assert.rejects(readBody(requestOf(10), endless), /too large/)
    await assert.rejects(readBody(requestOf(10, 5), new PassThrough().end('abcd')), /as long as Content-Length says/)
    const broken = new PassThrough()
    const read = readBody(requestOf(10), broken)
    broken.destroy(new Error('reset'))
    await assert.rejects(read, /did not come to its end/)
  })
})
