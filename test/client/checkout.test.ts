import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SluiceError } from '../../client/src/index.ts'
import { checkOptions } from '../../client/src/options.ts'
import { apiKey, fail, serve, succeed } from './serve.ts'

const address = 'https://checkout.example/c/pay/cs_1'
const request = { products: [{ price: 'price_1', quantity: 2 }], requiresShipping: true }
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('checkout.create', () => {
  it('returns the URL at which the customer pays', async (t) => {
    const { client } = await serve(t, (response) => succeed(response, address))
    assert.equal(await client.checkout.create(request), address)
  })

  it('posts the products with the bare key', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, address))
    const more = { originUrl: 'https://bakery.example', businessName: 'Bäckerei', contactEmail: 'ada@example.com' }
    await client.checkout.create({ ...request, ...more })
    const { method, url, headers, body } = seen[0] ?? assert.fail('nothing was sent')
    assert.equal(`${method} ${url.pathname}${url.search}`, 'POST /tenant/createCheckoutSession')
    assert.equal(headers.authorization, apiKey)
    assert.equal(headers['content-type'], 'application/json')
    assert.deepEqual(JSON.parse(body), { ...request, ...more })
  })

  it('leaves out what is undefined', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, address))
    await client.checkout.create({ ...request, originUrl: undefined })
    assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), request)
  })

  it('generates an idempotency key for each call and reuses it for all attempts', async (t) => {
    const { client, seen } = await serve(t, (response, _, nth) => {
      if (nth === 1) return response.destroy()
      if (nth === 2) return fail(response, 503, 'Unavailable', { 'retry-after': '0' })
      succeed(response, address)
    })
    assert.equal(await client.checkout.create(request), address)
    await client.checkout.create(request)
    const keys = seen.map(({ headers }) => String(headers['idempotency-key']))
    assert.equal(keys.length, 4)
    assert.match(keys[0] ?? '', uuid)
    assert.deepEqual(keys.slice(0, 3), [keys[0], keys[0], keys[0]])
    assert.match(keys[3] ?? '', uuid)
    assert.notEqual(keys[3], keys[0])
    assert.equal(new Set(seen.map(({ body }) => body)).size, 1)
  })

  it('sends the given idempotency key', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, address))
    await client.checkout.create(request, { idempotencyKey: 'order-7' })
    assert.equal(seen[0]?.headers['idempotency-key'], 'order-7')
  })

  for (const [status, code] of [
    [400, 'ValidationError'],
    [409, 'ProductUnavailable'],
    [422, 'IdempotencyMismatch'],
  ] as const) {
    it(`rejects with ${code} at once`, async (t) => {
      const { client, seen } = await serve(t, (response) => fail(response, status, code))
      await assert.rejects(client.checkout.create(request), (error: unknown) => {
        assert.ok(error instanceof SluiceError)
        assert.deepEqual([error.code, error.status], [code, status])
        return true
      })
      assert.equal(seen.length, 1)
    })
  }

  it('stops when its signal aborts', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, address))
    await assert.rejects(client.checkout.create(request, { signal: AbortSignal.abort() }), { code: 'Aborted' })
    assert.equal(seen.length, 0)
  })

  it('has a longer default timeout than reads', async (t) => {
    const { client } = await serve(t, () => {}, { timeoutMs: 30, retries: 0 })
    await assert.rejects(client.checkout.create(request), { code: 'Timeout', message: /within 30 ms/ })
    const untold = checkOptions({ baseUrl: 'https://content.example', apiKey })
    assert.deepEqual([untold.timeoutMs, untold.checkoutTimeoutMs], [10_000, 30_000])
  })
})

describe('reads', () => {
  it('carry neither a body nor an idempotency key', async (t) => {
    const { client, seen } = await serve(t, (response) => succeed(response, {}))
    await client.site.details('s1')
    const { method, body, headers } = seen[0] ?? assert.fail('nothing was sent')
    assert.deepEqual([method, body], ['GET', ''])
    assert.deepEqual([headers['idempotency-key'], headers['content-type']], [undefined, undefined])
  })
})
