import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClient, type SendOptions, type SluiceClient, SluiceError } from '../../client/src/index.ts'
import { startFlakyProxy } from '../helpers/flaky-proxy.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { contactBody, messagesOf, orderBody } from '../helpers/outbox.ts'
import { goodReview, visitors } from '../helpers/visitors.ts'
import { apiKey, fail, sendJson, serve, succeed } from './serve.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const stored = { _id: '66f0c0ffee0123456789abcd', objectValue: { rating: 5 } }

interface Sending {
  name: string
  send(client: SluiceClient, options?: SendOptions): Promise<unknown>
  path: string
  /** As received. */
  body: object
  /** The service's answer, and the returned value. */
  answer: unknown
  given: unknown
}

const objectAnswer = { answer: { success: true, data: stored, error: null }, given: stored }
const mailAnswer = { answer: true, given: undefined }

const sendings: Sending[] = [
  {
    name: 'reviews.create',
    send: (client, options) => client.reviews.create({ collectionId: 'c1', objectValue: goodReview }, options),
    path: '/tenant/definedCollectionObject',
    body: { collectionId: 'c1', objectValue: goodReview, type: 'createReview' },
    ...objectAnswer,
  },
  {
    name: 'subscribers.add',
    send: (client, options) =>
      client.subscribers.add(
        { collectionId: 'c1', email: 'ada@example.com', name: 'Ada', company_website: 'x' },
        options,
      ),
    path: '/tenant/definedCollectionObject',
    body: {
      collectionId: 'c1',
      type: 'subscribeUser',
      objectValue: { email: 'ada@example.com', name: 'Ada' },
      company_website: 'x',
    },
    ...objectAnswer,
  },
  {
    name: 'email.contact',
    send: (client, options) => client.email.contact({ ...contactBody, siteId: undefined }, options),
    path: '/tenant/sendContactEmail',
    body: contactBody,
    ...mailAnswer,
  },
  {
    name: 'email.orderPlaced',
    send: (client, options) => client.email.orderPlaced(orderBody, options),
    path: '/tenant/sendOrderPlacedEmail',
    body: orderBody,
    ...mailAnswer,
  },
]

for (const { name, send, path, body, answer, given } of sendings) {
  describe(name, () => {
    it('posts its input with the bare key, and returns the answer', async (t) => {
      const { client, seen } = await serve(t, (response) => sendJson(response, 201, answer))
      assert.deepEqual(await send(client), given)
      const [sent = assert.fail('nothing was sent')] = seen
      assert.equal(`${sent.method} ${sent.url.pathname}${sent.url.search}`, `POST ${path}`)
      assert.deepEqual([sent.headers.authorization, sent.headers['content-type']], [apiKey, 'application/json'])
      assert.deepEqual(JSON.parse(sent.body), body)
    })

    it('generates an idempotency key for each call and reuses it for all attempts', async (t) => {
      const { client, seen } = await serve(t, (response, _, nth) => {
        if (nth === 1) return response.destroy()
        if (nth === 2) return fail(response, 429, 'RateLimited', { 'retry-after': '0' })
        sendJson(response, 201, answer)
      })
      await send(client)
      await send(client)
      await send(client, { idempotencyKey: 'order-7' })
      const keys = seen.map(({ headers }) => String(headers['idempotency-key']))
      const [first = '', , , second = ''] = keys
      assert.match(first, uuid)
      assert.match(second, uuid)
      assert.notEqual(first, second)
      assert.deepEqual(keys, [first, first, first, second, 'order-7'])
      assert.equal(new Set(seen.map((sent) => sent.body)).size, 1)
    })

    it('is not retried when it was refused, or when Retry-After is too long', async (t) => {
      const { client, seen } = await serve(t, (response, _, nth) =>
        nth === 1
          ? fail(response, 400, 'ValidationError')
          : fail(response, 429, 'RateLimited', { 'retry-after': '3600' }),
      )
      await assert.rejects(send(client), { code: 'ValidationError', status: 400 })
      await assert.rejects(send(client), { code: 'RateLimited', retryAfterSeconds: 3600 })
      assert.equal(seen.length, 2)
    })

    it('stops when its signal aborts', async (t) => {
      const { client, seen } = await serve(t, (response) => sendJson(response, 201, answer))
      await assert.rejects(send(client, { signal: AbortSignal.abort() }), { code: 'Aborted' })
      assert.equal(seen.length, 0)
    })
  })
}

describe('a bare answer', () => {
  it('must be true with a success status, or it is not from the service', async (t) => {
    const answers: [number, unknown][] = [[200, false], [200, 'true'], [200, 1], [200, null], [400, true], [302, true]] // biome-ignore format: one line reads better
    for (const [status, answer] of answers) {
      const { client } = await serve(t, (response) => sendJson(response, status, answer), { retries: 0 })
      await assert.rejects(client.email.contact(contactBody), (error) => {
        assert.ok(error instanceof SluiceError)
        assert.deepEqual([error.code, error.status], ['InvalidResponse', status])
        return true
      })
    }
    const { client } = await serve(t, (response) => succeed(response, true))
    await client.email.contact(contactBody) // with the envelope it is also valid
  })
})

onBothEngines('a call of the client', (engine) => {
  it('takes effect once when the answer is lost after the service executed it', async (t) => {
    const { app, group, reviews, subscribers } = await visitors(engine)
    const proxy = await startFlakyProxy(await app.listen({ port: 0, host: '127.0.0.1' }), { faultRate: 0, seed: 1 })
    t.after(() => proxy.close())
    const client = createClient({ baseUrl: proxy.url, apiKey: group.key })
    const afterTwoLosses = async <Result>(send: () => Promise<Result>): Promise<Result> => {
      const lostBefore = proxy.counts.resetAfter
      proxy.chooseFault = () => (proxy.counts.resetAfter < lostBefore + 2 ? 'resetAfter' : undefined)
      const result = await send()
      assert.equal(proxy.counts.resetAfter, lostBefore + 2)
      return result
    }

    const review = await afterTwoLosses(() =>
      client.reviews.create<typeof goodReview>({ collectionId: reviews.id, objectValue: goodReview }),
    )
    assert.equal(review.objectValue.title, goodReview.title)
    const listed = await client.collections.list(reviews.id)
    assert.deepEqual(
      listed.items.map(({ _id }) => _id),
      [review._id],
    )

    const subscriber = { collectionId: subscribers.id, email: 'ada@example.com', name: 'Ada' }
    const { _id } = await afterTwoLosses(() => client.subscribers.add(subscriber))
    assert.equal((await client.subscribers.add({ ...subscriber, email: 'ADA@example.com' }))._id, _id)
    assert.equal((await client.collections.list(subscribers.id)).totalCount, 1)

    await afterTwoLosses(() => client.email.contact(contactBody))
    await afterTwoLosses(() => client.email.orderPlaced(orderBody))
    const kinds = (await messagesOf(group)).map(({ kind }) => kind)
    assert.deepEqual(kinds.sort(), ['contact', 'order'])
  })

  it('is refused with every problem named in one message', async () => {
    const { app, group } = await visitors(engine)
    const client = createClient({ baseUrl: await app.listen({ port: 0, host: '127.0.0.1' }), apiKey: group.key })
    await assert.rejects(client.email.contact({ ...contactBody, to: 'a@b.c, d@e.f', name: '\n' }), {
      code: 'ValidationError',
      message: 'name must be one line of text, and not blank; to must be one e-mail address such as hello@example.com.',
    })
    assert.equal((await messagesOf(group)).length, 0)
  })
})
