import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ProviderFailure } from '../../src/payments/provider.ts'
import { createSite } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { gate } from '../jobs/workshop.ts'
import { checkoutPath, oneLoaf, openShop } from './shop.ts'

const dayMs = 24 * 3_600_000

async function openKeyedShop(engine: TestEngine) {
  const shop = await openShop(engine)
  const buy = (key: string, body: object = oneLoaf, headers = {}) =>
    shop.post(body, { 'idempotency-key': key, ...headers })
  const rows = () => shop.group.store.database.read.selectFrom('idempotency_keys').selectAll().execute()
  return { ...shop, buy, rows }
}

onBothEngines(`POST ${checkoutPath} with an Idempotency-Key`, (engine) => {
  it('returns the same answer for the same key and body, and calls the provider once', async () => {
    const { buy, provider } = await openKeyedShop(engine)
    const first = await buy('one')
    assert.equal(first.statusCode, 200, first.body)
    const { products, ...rest } = oneLoaf
    const again = [await buy('one'), await buy('one', { ...rest, products }), await buy('one', { ...oneLoaf, code: 5 })]
    for (const answer of again) assert.equal(answer.body, first.body)
    assert.equal(provider.asked.length, 1)
    await buy('two')
    assert.equal(provider.sessions.size, 2)
  })

  it('refuses a different body under the same key, also if only the Origin differs', async () => {
    const { buy, provider } = await openKeyedShop(engine)
    await buy('one')
    const others = [
      { requiresShipping: true },
      { originUrl: 'https://else.example' },
      { businessName: 'X' },
      { products: [{ price: 'price_loaf', quantity: 3 }] },
      { products: [...oneLoaf.products, ...oneLoaf.products] },
    ]
    for (const other of others)
      assertFailure(await buy('one', { ...oneLoaf, ...other }), 422, 'IdempotencyMismatch', /another request/)
    const { originUrl: _none, ...silent } = oneLoaf
    assert.equal((await buy('two', silent, { origin: 'https://a.example' })).statusCode, 200)
    assertFailure(await buy('two', silent, { origin: 'https://b.example' }), 422, 'IdempotencyMismatch')
    assert.equal(provider.asked.length, 2)
  })

  it('belongs to its group: the same key in another group is independent', async () => {
    const { buy, provider, newGroup, connect, app } = await openKeyedShop(engine)
    await buy('one')
    const other = await newGroup()
    const second = await connect(other, 'main')
    await second.sell('price_loaf')
    const answer = await app.inject({
      method: 'POST',
      url: checkoutPath,
      headers: { authorization: other.key, 'idempotency-key': 'one' },
      payload: { ...oneLoaf, requiresShipping: true },
    })
    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual([provider.asked.length, second.provider.asked.length], [1, 1])
  })

  it('is forgotten after 24 hours, to the millisecond', async () => {
    const { buy, provider, clock } = await openKeyedShop(engine)
    await buy('one')
    clock.now += dayMs - 1
    await buy('one')
    assert.equal(provider.sessions.size, 1)
    clock.now += 1
    assert.equal((await buy('one', { ...oneLoaf, requiresShipping: true })).statusCode, 200)
    assert.equal(provider.sessions.size, 2)
  })

  it('stores neither the key nor the body in plain text', async () => {
    const { buy, rows } = await openKeyedShop(engine)
    await buy('canary-key', { ...oneLoaf, note: 'canary-body' })
    const text = JSON.stringify(await rows())
    assert.ok(text.includes('key_hash'))
    assert.ok(!text.includes('canary'))
  })

  it('refuses a key that is empty, too long or not plain text', async () => {
    const { buy, provider } = await openKeyedShop(engine)
    for (const key of ['', 'x'.repeat(256), 'é', 'a\tb'])
      assertFailure(await buy(key), 400, 'ValidationError', /^Idempotency-Key must be 1 to 255 printable ASCII/)
    assert.deepEqual(provider.asked, [])
    for (const key of ['x', ' ~'.repeat(100), 'x'.repeat(255)]) assert.equal((await buy(key)).statusCode, 200)
  })

  it('creates one session for 20 concurrent calls', async () => {
    const { buy, provider } = await openKeyedShop(engine)
    const answers = await Promise.all(Array.from({ length: 20 }, () => buy('one')))
    assert.deepEqual([...new Set(answers.map(({ body }) => body))], [answers[0]?.body])
    assert.equal(answers[0]?.statusCode, 200)
    assert.equal(provider.sessions.size, 1)
  })

  it('creates one session when the provider’s answer was lost', async () => {
    const { buy, provider, group, clock } = await openKeyedShop(engine)
    provider.after = async () => {
      throw new ProviderFailure('unreachable', 'It is unreachable.')
    }
    for (const _time of [1, 2, 3]) assertFailure(await buy('one'), 503, 'Unavailable')
    provider.after = async () => {}
    // Changes in between do not make it a different request.
    const privateSettings = { shippingCountries: ['CA'] }
    await createSite(group.store, { name: 'New', domainName: 'shop.example', settings: {}, privateSettings }, clock.now)
    assert.equal((await buy('one')).statusCode, 200)
    assert.equal(provider.sessions.size, 1)
    assert.equal(new Set(provider.asked.map((asked) => JSON.stringify(asked))).size, 1)
  })

  it('can be used again after the provider refused', async () => {
    const { buy, provider, rows } = await openKeyedShop(engine)
    provider.before = async () => {
      throw new ProviderFailure('invalid', 'Too small an amount.', { parameter: 'line_items' })
    }
    assertFailure(await buy('one'), 400, 'ValidationError', /Too small/)
    assert.deepEqual(await rows(), [])
    provider.before = async () => {}
    assert.equal((await buy('one')).statusCode, 200)
    const [refused, made] = provider.asked
    assert.notEqual(refused?.key, made?.key) // a provider repeats its answer for a key, also a refusal
  })

  it('keeps its session when a call was not answered and a later one is refused', async () => {
    const { buy, provider, rows } = await openKeyedShop(engine)
    provider.after = async () => {
      throw new ProviderFailure('unreachable', 'It is unreachable.')
    }
    assertFailure(await buy('one'), 503, 'Unavailable')
    provider.before = async () => {
      throw new ProviderFailure('invalid', 'Not now.', { parameter: 'line_items' })
    }
    assertFailure(await buy('one'), 400, 'ValidationError')
    assert.equal((await rows()).length, 1)
    provider.before = provider.after = async () => {}
    assert.equal((await buy('one')).statusCode, 200)
    assert.equal(provider.sessions.size, 1)
  })

  it('never returns a second URL, whatever the provider answers', async () => {
    const { buy, provider } = await openKeyedShop(engine)
    const [first, second] = [gate(), gate()]
    const begun = [gate(), gate()]
    let calls = 0
    provider.before = async () => {
      const call = calls++
      begun[call]?.open()
      if (call === 0) {
        await first.opened
        throw new ProviderFailure('invalid', 'Not now.', { parameter: 'line_items' })
      }
      if (call === 1) await second.opened
    }
    const refused = buy('one')
    await begun[0]?.opened
    const joined = buy('one')
    await begun[1]?.opened
    first.open()
    assertFailure(await refused, 400, 'ValidationError')
    const third = await buy('one') // the key was released in between
    second.open()
    const late = await joined
    assert.deepEqual([third.statusCode, late.statusCode], [200, 200])
    assert.equal(late.json().data, third.json().data)
  })

  it('is not used up by a request that Sluice refuses itself', async () => {
    const { buy, rows, sell } = await openKeyedShop(engine)
    const cake = { ...oneLoaf, products: [{ price: 'price_cake', quantity: 1 }] }
    assertFailure(await buy('one', cake), 400, 'ValidationError')
    assert.deepEqual(await rows(), [])
    await sell('price_cake')
    assert.equal((await buy('one', cake)).statusCode, 200)
  })

  it('is stored with its plan before the provider is called', async () => {
    const { buy, provider, rows } = await openKeyedShop(engine)
    const asked = gate()
    const answer = gate()
    provider.before = async () => {
      asked.open()
      await answer.opened
    }
    const buying = buy('one')
    await asked.opened
    const [row, ...more] = await rows()
    assert.deepEqual([more.length, row?.answer], [0, null])
    assert.deepEqual(JSON.parse(row?.request ?? '{}').request, provider.asked[0]?.request)
    answer.open()
    assert.equal((await buying).statusCode, 200)
  })
})
