import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEncodingReader } from '../../src/delivery/answer.ts'

describe('Accept-Encoding', () => {
  const read = createEncodingReader()
  for (const [header, encoding] of [
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['gzip;q=0.5', 'gzip'],
    ['gzip;q=0.5, identity', 'identity'],
    ['gzip ; q=0.5 , identity;q=0.4', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['gzip;q=0.000, br;q=0.001', 'br'],
    ['*', 'br'],
    ['*;q=0.1', 'br'],
    ['br;q=0, *', 'gzip'],
    ['br;q=0, gzip;q=0, *', 'identity'],
    ['identity;q=0.5, *;q=0.1', 'identity'],
    ['deflate, zstd', 'identity'],
    ['*;q=0', 'identity'],
    ['gzip, *;q=0', 'gzip'],
    ['br;level=5;q=0.2, gzip;q=0.3', 'gzip'],
    [',, ;;q=1, gzip', 'gzip'],
    ['gzip;q=nonsense', 'gzip'],
  ] as const) {
    it(`${JSON.stringify(header)} selects ${encoding}`, () => {
      for (const time of ['first', 'second']) assert.equal(read(header).encoding, encoding, time)
    })
  }

  it('is ignored when it is too long', () => {
    assert.equal(read(`gzip, ${'x, '.repeat(400)}`).encoding, 'identity')
    assert.equal(read(`gzip, ${'x, '.repeat(100)}`).encoding, 'gzip')
  })

  it('reports whether the plain form is refused', () => {
    for (const header of ['gzip, identity;q=0', 'br, *;q=0', '*, identity;q=0']) assert.ok(read(header).refusesIdentity)
    for (const header of [undefined, '', 'gzip', '*', 'identity;q=0', '*;q=0', 'gzip;q=0, identity;q=0'])
      assert.equal(read(header).refusesIdentity, false, String(header))
  })
})
