import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { sessionMetadata } from '../../../src/content/checkout.ts'
import { refreshKind } from '../../../src/payments/jobs.ts'
import { type Provider, ProviderFailure, type SessionRequest } from '../../../src/payments/provider.ts'
import { seedSandbox } from '../../../src/payments/sandbox/catalogue.ts'
import { findIntegrationById } from '../../../src/store/commerce/integrations.ts'
import { listOrders } from '../../../src/store/commerce/orders.ts'
import { addSandboxObjects } from '../../../src/store/commerce/sandbox.ts'
import { findPendingJobs, insertJob } from '../../../src/store/jobs/jobs.ts'
import type { GroupStore } from '../../../src/store/store.ts'
import { write } from '../../helpers/authoring.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'
import { connectSandbox } from '../../helpers/sandbox.ts'
import { allPages } from '../assert-mirrored.ts'

const hourMs = 3_600_000
const usd = { currency: 'usd' }
const goods = [
  { product: { id: 'prod_loaf', name: 'Loaf' }, prices: [{ id: 'price_loaf', unit_amount: 550, ...usd }] },
  { product: { id: 'prod_roll', name: 'Roll' }, prices: [{ id: 'price_roll', unit_amount: 90, ...usd }] },
  { product: { id: 'prod_eur', name: 'Euro' }, prices: [{ id: 'price_eur', unit_amount: 100, currency: 'eur' }] },
  {
    product: { id: 'prod_club', name: 'Club' },
    prices: [{ id: 'price_club', unit_amount: 1000, recurring: { interval: 'month' as const }, ...usd }],
  },
  {
    product: { id: 'prod_old', name: 'Old' },
    prices: [{ id: 'price_old', unit_amount: 1, active: false, ...usd }],
  },
  {
    product: { id: 'prod_gone', name: 'Gone', active: false },
    prices: [{ id: 'price_gone', unit_amount: 1, ...usd }],
  },
]

onBothEngines('an account of the sandbox', (engine) => {
  let house: Harness
  let store: GroupStore
  let provider: Provider
  let integrationId: string
  let keys = 0

  const wanted: SessionRequest = {
    mode: 'payment',
    lines: [{ price: 'price_loaf', quantity: 2 }],
    successUrl: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
    cancelUrl: 'https://shop.example/checkoutcancel',
    metadata: {},
  }
  const create = (changes: Partial<SessionRequest> = {}, key = `key-${++keys}`) =>
    provider.createSession({ ...wanted, ...changes }, key)

  before(async () => {
    house = await createHarness(engine)
    const group = await house.newGroup()
    const account = await connectSandbox(house, group)
    store = group.store
    provider = account.provider
    integrationId = account.integration.id
    await seedSandbox(store, integrationId, goods, house.clock.now)
  })
  after(() => house.close())

  it('names the account', async () => {
    assert.deepEqual(await provider.verify(), {
      id: `acct_${integrationId}`,
      name: 'Test group (sandbox)',
      live: false,
    })
  })

  it('lists newest first, in pages, and only prices that are in use', async () => {
    const group = await house.newGroup()
    const { provider: other, integration } = await connectSandbox(house, group)
    const many = Array.from({ length: 250 }, (_, number) => ({
      product: { id: `prod_${number}`, name: `Product ${number}` },
      prices: [{ id: `price_${number}`, unit_amount: number, active: number % 2 === 0, ...usd }],
    }))
    await seedSandbox(group.store, integration.id, many, house.clock.now)
    const newestFirst = many.map(({ product }) => product.id).reverse()
    assert.deepEqual((await allPages(other.listProducts)).map(({ id }) => id), newestFirst) // biome-ignore format: short
    const first = await other.listProducts(undefined)
    assert.deepEqual([first.items.length, first.next], [100, 'prod_150'])
    assert.equal((await allPages(other.listPrices)).length, 125)
    assert.equal((await other.fetchProduct('prod_8'))?.prices[0]?.id, 'price_8')
    assert.deepEqual((await other.fetchProduct('prod_9'))?.prices, [])
    assert.equal((await other.fetchProduct('prod_9'))?.product.defaultPriceId, 'price_9')
    assert.deepEqual(await findPendingJobs(group.store, refreshKind), [], 'the initial catalogue causes no events') // biome-ignore format: short
  })

  it('shows an account nothing of other accounts', async () => {
    const { provider: other } = await connectSandbox(house, await house.newGroup())
    assert.equal(await other.fetchProduct('prod_loaf'), undefined)
    assert.equal(await other.findProductOfPrice('price_loaf'), undefined)
    assert.deepEqual(await other.listProducts(undefined), { items: [], next: undefined })
    await assert.rejects(other.listProducts('prod_loaf'), { name: 'ProviderFailure', kind: 'unknown' })
  })

  it('opens a session with its amounts and a page of the service', async () => {
    const lines = [
      { price: 'price_loaf', quantity: 2 },
      { price: 'price_roll', quantity: 10 },
    ]
    const { id, url } = await create({ lines, contactEmail: 'ada@example.com', metadata: { a: 'b' } })
    assert.match(id, /^cs_test_\w{58}$/)
    assert.ok(url.endsWith(`/sandbox/checkout/${integrationId}/${id}`))
    const session = await provider.fetchSession(id)
    assert.deepEqual(
      [session?.total, session?.currency, session?.status, session?.mode, session?.email, session?.metadata],
      ['20.00', 'usd', null, 'payment', 'ada@example.com', { a: 'b' }],
    )
    assert.deepEqual(session?.lines, [
      { description: 'Loaf', priceId: 'price_loaf', productId: 'prod_loaf', quantity: 2, amount: '11.00' },
      { description: 'Roll', priceId: 'price_roll', productId: 'prod_roll', quantity: 10, amount: '9.00' },
    ])
  })

  it('opens a subscription for a recurring price', async () => {
    const lines = ['price_club', 'price_loaf'].map((price) => ({ price, quantity: 1 }))
    const { id } = await create({ mode: 'subscription', lines })
    const session = await provider.fetchSession(id)
    assert.deepEqual([session?.mode, session?.total], ['subscription', '15.50'])
  })

  const line = (price: string) => ({ lines: [{ price, quantity: 1 }] })
  const refused: [name: string, changes: Partial<SessionRequest>, kind: string, parameter: string][] = [
    ['an unknown price', line('price_none'), 'unknown', 'line_items[0][price]'],
    ['a price that is not active', line('price_old'), 'invalid', 'line_items[0][price]'],
    ['a product that is not active', line('price_gone'), 'invalid', 'line_items[0][price]'],
    ['a recurring price in payment mode', line('price_club'), 'invalid', 'mode'],
    ['a subscription without a recurring price', { mode: 'subscription' }, 'invalid', 'mode'],
    ['two currencies', { lines: [...line('price_eur').lines, ...wanted.lines] }, 'invalid', 'currency'],
  ]
  for (const [name, changes, kind, parameter] of refused) {
    it(`refuses ${name}`, async () => {
      await assert.rejects(create(changes), (error) => {
        assert.ok(error instanceof ProviderFailure)
        assert.deepEqual([error.kind, error.parameter], [kind, parameter])
        return true
      })
    })
  }

  it('returns the same session under the same key for a day, also for concurrent calls', async () => {
    const made = await Promise.all(Array.from({ length: 4 }, () => create({}, 'once')))
    assert.equal(new Set(made.map(({ id }) => id)).size, 1)
    house.clock.now += 24 * hourMs - 1
    assert.deepEqual(await create({}, 'once'), made[0])
    house.clock.now += 1000
    assert.notEqual((await create({}, 'once')).id, made[0]?.id)
  })

  it('stores nothing under a key if the session was refused', async () => {
    await assert.rejects(create(line('price_late'), 'late'))
    const late = { product: { id: 'prod_late', name: 'Late' }, prices: [{ id: 'price_late', unit_amount: 1, ...usd }] }
    await seedSandbox(store, integrationId, [late], house.clock.now)
    await create(line('price_late'), 'late')
  })

  it('stores each price of a session once, however many lines name it', async () => {
    const { id } = await create({ lines: Array.from({ length: 100 }, () => ({ price: 'price_roll', quantity: 1 })) })
    const { data } = await store.database.read
      .selectFrom('sandbox_objects')
      .select('data')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    assert.equal(data.split('unit_amount_decimal').length - 1, 1)
    assert.ok(data.length < 20_000, `${data.length} bytes`)
  })

  it('finds no session with another id', async () => {
    assert.equal(await provider.fetchSession('cs_test_none'), undefined)
    assert.equal(await provider.fetchSession('prod_loaf'), undefined)
  })

  it('reads what former versions stored: complete Stripe objects, and events with waiting jobs', async () => {
    const group = await house.newGroup()
    const { provider: other, integration } = await connectSandbox(house, group)
    const { clock, service } = house
    const price = {
      ...{ id: 'price_1', object: 'price', active: true, billing_scheme: 'per_unit', created: 1_700_000_000 },
      ...{ currency: 'cad', custom_unit_amount: null, livemode: false, lookup_key: null, metadata: {}, nickname: null },
      ...{ product: 'prod_1', recurring: null, tax_behavior: 'unspecified', type: 'one_time' },
      ...{ unit_amount: 550, unit_amount_decimal: '550' },
    }
    const product = {
      ...{ id: 'prod_1', object: 'product', active: true, created: 1_700_000_000, default_price: 'price_1' },
      ...{ description: null, images: [], livemode: false, marketing_features: [], metadata: { productType: 'Bread' } },
      ...{ name: 'Rye', package_dimensions: null, type: 'service', updated: 1_700_000_000, url: null },
    }
    const session = {
      ...{ id: 'cs_test_1', object: 'checkout.session', amount_subtotal: 550, amount_total: 550, currency: 'cad' },
      ...{ automatic_tax: { enabled: false }, branding_settings: { display_name: 'Bakery', icon: null } },
      ...{ cancel_url: null, collected_information: { business_name: null, shipping_details: null } },
      ...{ created: 1_700_000_001, customer: null, customer_email: null, expires_at: 1_700_086_401 },
      customer_details: { address: null, email: 'ada@example.com', name: 'Ada', phone: null, tax_ids: [] },
      ...{
        metadata: sessionMetadata(group.group.id, undefined),
        mode: 'payment',
        payment_intent: 'pi_1',
        payment_status: 'paid',
        status: 'complete',
      },
      ...{ shipping_address_collection: null, subscription: null, success_url: 'https://a.example', url: null },
    }
    const record = {
      session,
      lines: [{ id: 'li_1', priceId: 'price_1', description: 'Rye', quantity: 1, amount: 550 }],
      prices: [price],
      payment: { id: 'pi_1', object: 'payment_intent', status: 'succeeded', description: null, metadata: {} },
    }
    const eventOf = (id: string, type: string, object: object) => ({ id, object: 'event', livemode: false, type, data: { object } }) // biome-ignore format: short
    const events = [eventOf('evt_1', 'price.updated', price), eventOf('evt_2', 'checkout.session.completed', session)]
    const rowsOf = (objects: readonly { id: string }[]) =>
      objects.map((object) => ({ id: object.id, data: JSON.stringify(object) }))
    await write(group.store, clock.now, async (writer) => {
      const add = (kind: string, rows: { id: string; data: string }[]) =>
        addSandboxObjects(writer, integration.id, kind, rows)
      await add('product', rowsOf([product]))
      await add('price', rowsOf([price]))
      await add('session', [{ id: 'cs_test_1', data: JSON.stringify(record) }])
      await add('event', rowsOf(events))
      for (const { id } of events)
        await insertJob(writer, { kind: 'sandbox.event', payload: { integrationId: integration.id, eventId: id } })
    })

    const found = await other.fetchProduct('prod_1')
    assert.deepEqual([found?.product.name, found?.prices[0]?.unitAmount], ['Rye', '550'])
    const sold = await other.fetchSession('cs_test_1')
    assert.deepEqual([sold?.status, sold?.total, sold?.email, sold?.paymentId], ['paid', '5.50', 'ada@example.com', 'pi_1']) // biome-ignore format: short
    while ((await service.worker.runDue()) > 0);
    const { items } = (await group.get('/tenant/integrationObjects?type=stripe')).json().data
    assert.deepEqual(items.map(({ id }: { id: string }) => id), ['prod_1']) // biome-ignore format: short
    const { orders } = await listOrders(group.store, { limit: 10, skip: 0 })
    assert.deepEqual(orders.map(({ sessionId, status }) => [sessionId, status]), [['cs_test_1', 'paid']]) // biome-ignore format: short
    assert.equal((await findIntegrationById(group.store, integration.id))?.lastEventMs, clock.now)
  })
})
