import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import Fastify from 'fastify'
import { createAddressReader, networkOf } from '../../src/http/caller-address.ts'

describe('the address of a caller', () => {
  it('is the same as Fastify’s `request.ip` for any trusted and forwarded addresses (property)', async () => {
    const addresses = [
      '10.0.0.1', '10.200.0.9', '192.0.2.1', '198.51.100.7', '127.0.0.1', '::1', '2001:db8::5', 'fd00::1', '::ffff:10.0.0.1',
      '::ffff:192.0.2.1',
    ] // biome-ignore format: two lines read better
    const others = ['unknown', '', '198.51.100.1:80', 'evil"']
    const proxies = ['10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8', '::ffff:192.0.2.1', '192.0.2.1']
    const address = fc.constantFrom(...addresses)
    const forwarded = fc.option(
      fc.array(fc.oneof({ weight: 3, arbitrary: address }, fc.constantFrom(...others)), { minLength: 1, maxLength: 4 }),
      { nil: undefined },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(proxies),
        address,
        forwarded,
        fc.constantFrom(',', ', ', ' ,'),
        async (...sample) => {
          const [trusted, peer, listed, comma] = sample
          const app = Fastify({ trustProxy: trusted.length > 0 ? trusted : false })
          app.get('/', async ({ ip }) => ip)
          const header = listed?.join(comma)
          const headers = header === undefined ? {} : { 'x-forwarded-for': header }
          const { body } = await app.inject({ url: '/', remoteAddress: peer, headers })
          await app.close()
          assert.equal(createAddressReader(trusted)(peer, header), body)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('the address that limits count by', () => {
  const expected: Record<string, string> = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:c000:0201': '192.0.2.1',
    '0:0:0:0:0:ffff:192.0.2.1': '192.0.2.1',
    '::1': '0:0:0:0::/64',
    '::': '0:0:0:0::/64',
    '2001:db8::': '2001:db8:0:0::/64',
    '2001:DB8:0:0:1:2:3:4': '2001:db8:0:0::/64',
    '2001:0db8::192.0.2.1': '2001:db8:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '1:2:3:4:5:6:7::': '1:2:3:4::/64',
    unknown: 'unknown',
    '': '',
  }
  for (const [address, network] of Object.entries(expected))
    it(`is ${network || 'nothing'} for ${address || 'nothing'}`, () => assert.equal(networkOf(address), network))

  it('is short for any forwarded address', () => assert.equal(networkOf('x'.repeat(10_000)).length, 64))

  it('ignores the lower 64 bits, and differs with the upper ones (property)', () => {
    const part = fc.integer({ min: 0, max: 0xffff })
    const half = fc.tuple(part, part, part, part)
    const write = (groups: number[]): string => groups.map((group) => group.toString(16)).join(':')
    const property = fc.property(half, half, half, half, (upper, lower, otherUpper, otherLower) => {
      fc.pre(write(upper) !== write(otherUpper) && [...upper, ...otherUpper].some((group) => group !== 0))
      const network = networkOf(write([...upper, ...lower]))
      assert.equal(network, networkOf(write([...upper, ...otherLower])))
      assert.notEqual(network, networkOf(write([...otherUpper, ...lower])))
    })
    fc.assert(property)
  })
})
