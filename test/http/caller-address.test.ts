import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import Fastify from 'fastify'
import { createAddressReader } from '../../src/http/caller-address.ts'

describe('the address of a caller', () => {
  it('is the one that the framework tells, whatever is trusted and forwarded (property)', async () => {
    const addresses = [
      '10.0.0.1', '10.200.0.9', '192.0.2.1', '198.51.100.7', '127.0.0.1', '::1', '2001:db8::5', 'fd00::1', '::ffff:10.0.0.1',
      '::ffff:192.0.2.1',
    ] // biome-ignore format: two lines read better
    const proxies = ['10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8', '::ffff:192.0.2.1', '192.0.2.1']
    const address = fc.constantFrom(...addresses)
    const forwarded = fc.option(fc.array(address, { minLength: 1, maxLength: 4 }), { nil: undefined })
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

  it('is not told where something else is forwarded', () => {
    const read = createAddressReader(['10.0.0.1'])
    for (const header of ['unknown', '', '198.51.100.1,,10.0.0.1', '198.51.100.1:80', 'evil"'])
      assert.equal(read('10.0.0.1', header), undefined)
  })
})
