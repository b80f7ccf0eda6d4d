import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import Stripe from 'stripe'
import { deriveParameters, parametersFile } from '../../../scripts/derive-stripe-parameters.ts'
import { createSandbox } from '../../../src/payments/sandbox/sandbox.ts'
import { apiVersion } from '../../../src/payments/stripe.ts'
import type { GroupStore } from '../../../src/store/groups.ts'
import { write } from '../../helpers/authoring.ts'
import { startFlakyProxy } from '../../helpers/flaky-proxy.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'
import { connectSandbox, refusalOf, type SandboxAccount, stripeFor } from '../../helpers/sandbox.ts'

describe('the sandbox and the SDK', () => {
  it('checks parameters by what the installed SDK says of them', async () => {
    const { default: kept } = await import(parametersFile, { with: { type: 'json' } })
    assert.ok(
      isDeepStrictEqual(deriveParameters(), kept),
      'Make it anew: npx node scripts/derive-stripe-parameters.ts --write',
    )
  })

  it('speaks the version of the API that the SDK speaks', () => {
    assert.equal(apiVersion, Stripe.API_VERSION)
  })
})

onBothEngines('the sandbox’s server', (engine) => {
  let house: Harness
  let account: SandboxAccount
  let stripe: Stripe
  let content: GroupStore

  before(async () => {
    house = await createHarness(engine)
    const group = await house.newGroup()
    content = group.store
    account = await connectSandbox(house, group)
    stripe = account.stripe
  })
  after(() => house.close())

  /** A call without the SDK. */
  async function send(method: string, path: string, body = '', headers: Record<string, string> = {}) {
    const { sandbox } = house.service.payments
    const answer = await fetch(`${await sandbox.url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${sandbox.secretKeyOf(account.integration.id)}`,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      ...(method === 'POST' && { body }),
    })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
  }

  const errorOf = ({ body }: Awaited<ReturnType<typeof send>>) => body.error as Record<string, unknown>

  const wrong: [name: string, path: string, body: string, param: string, code: string | undefined][] = [
    ['a parameter that does not exist', '/v1/products', 'name=a&colour=red', 'colour', 'parameter_unknown'],
    ['one inside another', '/v1/prices', 'currency=usd&recurring[interval]=day&recurring[x]=1', 'recurring[x]', 'parameter_unknown'],
    ['one that is called like a part of objects', '/v1/products', 'name=a&__proto__[x]=1', '__proto__', 'parameter_unknown'],
    ['one that is missing', '/v1/products', 'active=true', 'name', 'parameter_missing'],
    ['an empty text', '/v1/products', 'name=', 'name', 'parameter_invalid_empty'],
    ['a whole number that is none', '/v1/prices', 'currency=usd&product=x&unit_amount=1.5', 'unit_amount', 'parameter_invalid_integer'],
    ['a word that is none of the words', '/v1/prices', 'currency=usd&recurring[interval]=era', 'recurring[interval]', undefined],
    ['one that exists and is not played', '/v1/products', 'name=a&tax_code=x', 'tax_code', undefined],
    ['one inside another that is not played', '/v1/prices', 'currency=usd&recurring[interval]=day&recurring[meter]=x', 'recurring[meter]', undefined],
    ['yes instead of true', '/v1/products', 'name=a&active=yes', 'active', undefined],
    ['a text instead of a list', '/v1/products', 'name=a&images=x', 'images', undefined],
    ['a list instead of a text', '/v1/products', 'name[]=a', 'name', undefined],
    ['a text instead of a hash', '/v1/products', 'name=a&metadata=x', 'metadata', undefined],
  ] // biome-ignore format: a table

  for (const [name, path, body, param, code] of wrong) {
    it(`refuses ${name}`, async () => {
      const answer = await send('POST', path, body)
      assert.equal(answer.status, 400)
      const { type, param: named, code: given, message } = errorOf(answer)
      assert.deepEqual([type, named, given], ['invalid_request_error', param, code])
      assert.ok(message)
    })
  }

  it('refuses a limit that is out of range, and a cursor that leads nowhere', async () => {
    for (const limit of [0, 101, -1]) assert.equal((await refusalOf(stripe.products.list({ limit }))).param, 'limit')
    assert.equal((await refusalOf(stripe.prices.list({ starting_after: 'price_none' }))).code, 'resource_missing')
  })

  it('takes both ways to write a list', async () => {
    const { body } = await send('POST', '/v1/products', 'name=a&images[]=x&images[]=y&images[7]=z')
    assert.deepEqual(body.images, ['x', 'y', 'z'])
  })

  it('reads what the SDK writes, whatever it is', async () => {
    const text = (maxLength: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength })
    const key = text(6).filter((name) => !/[[\]]/.test(name) && name.length <= 40)
    await fc.assert(
      fc.asyncProperty(text(30), fc.dictionary(key, text(30), { maxKeys: 8 }), async (name, metadata) => {
        const made = await stripe.products.create({ name, metadata })
        const read = await stripe.products.retrieve(made.id)
        assert.equal(read.name, name)
        assert.deepEqual({ ...read.metadata }, { ...metadata })
      }),
      { numRuns: 40, examples: [['=&[]%', JSON.parse('{"__proto__":"x","constructor":"y","0":"z"}')]] },
    )
  })

  it('answers with a request id and the version that was asked for', async () => {
    const { headers } = await send('GET', '/v1/products', '', { 'stripe-version': '2026-10-28.endive' })
    assert.match(headers.get('request-id') ?? '', /^req_\w+$/)
    assert.equal(headers.get('stripe-version'), '2026-10-28.endive')
  })

  it('refuses every key but the right one, and repeats none', async () => {
    const right = house.service.payments.sandbox.secretKeyOf(account.integration.id)
    const ofNobody = house.service.payments.sandbox.secretKeyOf('0'.repeat(24))
    const cases = ['', 'sk_test_123', right.slice(0, -1), `${right.slice(0, -1)}g`, `${right}0`, ofNobody]
    for (const key of cases) {
      const answer = await send('GET', '/v1/products', '', { authorization: `Bearer ${key}` })
      assert.equal(answer.status, 401, key)
      assert.equal(errorOf(answer).type, 'invalid_request_error')
      if (key !== '') assert.ok(!JSON.stringify(answer.body).includes(key))
    }
  })

  it('says that it does not know an address', async () => {
    const answer = await send('GET', '/v1/customers')
    assert.equal(answer.status, 404)
    assert.match(String(errorOf(answer).message), /Unrecognized request URL \(GET: \/v1\/customers\)/)
  })

  it('answers the same under the same idempotency key, and does it once', async () => {
    const first = await stripe.products.create({ name: 'Once' }, { idempotencyKey: 'key-1' })
    const second = await stripe.products.create({ name: 'Once' }, { idempotencyKey: 'key-1' })
    assert.equal(second.id, first.id)
    assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true')
    assert.equal(second.lastResponse.headers['original-request'], first.lastResponse.requestId)
    const { data } = await stripe.products.list({ limit: 100 })
    assert.equal(data.filter(({ name }) => name === 'Once').length, 1)
  })

  it('refuses other parameters, or another call, under the same idempotency key', async () => {
    await stripe.products.create({ name: 'Mine' }, { idempotencyKey: 'key-2' })
    const other = await refusalOf(stripe.products.create({ name: 'Other' }, { idempotencyKey: 'key-2' }))
    assert.deepEqual([other.statusCode, other.type], [400, 'StripeIdempotencyError'])
    const elsewhere = { currency: 'usd', product: 'x', unit_amount: 1 }
    const price = await refusalOf(stripe.prices.create(elsewhere, { idempotencyKey: 'key-2' }))
    assert.equal(price.type, 'StripeIdempotencyError')
  })

  it('forgets an idempotency key after a day, and never keeps a refusal', async () => {
    const first = await stripe.products.create({ name: 'Daily' }, { idempotencyKey: 'key-3' })
    house.clock.now += 24 * 3_600_000
    assert.notEqual((await stripe.products.create({ name: 'Daily' }, { idempotencyKey: 'key-3' })).id, first.id)
    await refusalOf(
      stripe.prices.create({ currency: 'usd', product: 'prod_late', unit_amount: 1 }, { idempotencyKey: 'k' }),
    )
    await stripe.products.create({ id: 'prod_late', name: 'Late' })
    await stripe.prices.create({ currency: 'usd', product: 'prod_late', unit_amount: 1 }, { idempotencyKey: 'k' })
  })

  it('refuses an idempotency key while a request with it is in work', async () => {
    const refused: Awaited<ReturnType<typeof send>>[] = []
    const allOthers = Promise.withResolvers<void>()
    const ask = async () => {
      const answer = await send('POST', '/v1/products', 'name=Rush', { 'idempotency-key': 'key-rush' })
      if (answer.status === 200) return answer.body.id
      if (refused.push(answer) === 4) allOthers.resolve()
    }
    // Nobody else writes meanwhile: the first one to come must wait.
    const answers = await write(content, house.clock.now, async () => {
      const asked = Array.from({ length: 5 }, ask)
      await allOthers.promise
      return { all: Promise.all(asked) }
    })
    assert.equal((await answers.all).filter((id) => id !== undefined).length, 1)
    for (const answer of refused)
      assert.deepEqual([answer.status, errorOf(answer).code], [409, 'idempotency_key_in_use'])
  })

  it('does once what the SDK tries several times because of a bad line', async () => {
    const { stripe: direct, integration } = await connectSandbox(house, await house.newGroup())
    const faults = { faultRate: 0.3, seed: 7, only: ['failed', 'resetBefore', 'resetAfter'] as const }
    const proxy = await startFlakyProxy(await house.service.payments.sandbox.url(), faults)
    try {
      const retrying = await stripeFor(house, integration.id, { url: proxy.url, retries: 4 })
      const calls = Array.from({ length: 30 }, (_, number) => retrying.products.create({ name: `Product ${number}` }))
      const made = (await Promise.allSettled(calls)).flatMap((call) =>
        call.status === 'fulfilled' ? [call.value.name] : [],
      )
      const kept = (await direct.products.list({ limit: 100 })).data.map(({ name }) => name)
      assert.equal(new Set(kept).size, kept.length, 'none was made twice')
      assert.ok(made.every((name) => kept.includes(name ?? '')))
      const { counts } = proxy
      assert.ok(counts.failed > 0 && counts.resetBefore > 0 && counts.resetAfter > 0, JSON.stringify(counts))
    } finally {
      await proxy.close()
    }
  })

  it('shows a webhook’s secret once, and keeps it nowhere', async () => {
    const made = await stripe.webhookEndpoints.create(
      { url: 'https://a.example/hook', enabled_events: ['product.created'] },
      { idempotencyKey: 'hook' },
    )
    assert.match(made.secret ?? '', /^whsec_[0-9a-f]{64}$/)
    const rows = await content.database.read.selectFrom('sandbox_objects').select(['id', 'data']).execute()
    assert.ok(rows.some(({ id }) => id === made.id))
    for (const { data } of rows) assert.doesNotMatch(data, /whsec_|sk_test_/)
    await stripe.webhookEndpoints.del(made.id)
    assert.equal((await refusalOf(stripe.webhookEndpoints.del(made.id))).code, 'resource_missing')
  })

  it('listens from the first question for its address on, on loopback, and not before', async () => {
    const { store } = house.service
    const listening = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
    const before = listening()
    const sandbox = createSandbox({
      store,
      clock: () => 0,
      signingKey: Buffer.alloc(32),
      baseUrl: () => '',
      receive: async () => {},
    })
    sandbox.secretKeyOf('0'.repeat(24))
    assert.equal(listening(), before)
    const [url, again] = await Promise.all([sandbox.url(), sandbox.url()])
    assert.equal(url, again)
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.equal(listening(), before + 1)
    await sandbox.close()
    await assert.rejects(fetch(url))
  })
})
