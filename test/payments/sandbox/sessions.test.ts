import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type Stripe from 'stripe'
import { seedSandbox } from '../../../src/payments/sandbox/seed.ts'
import type { GroupStore } from '../../../src/store/groups.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'
import { connectSandbox, refusalOf } from '../../helpers/sandbox.ts'

type Wanted = Stripe.Checkout.SessionCreateParams

const usd = { currency: 'usd' }
const goods = [
  { product: { id: 'prod_loaf', name: 'Loaf' }, prices: [{ id: 'price_loaf', unit_amount: 550, ...usd }] },
  { product: { id: 'prod_roll', name: 'Roll' }, prices: [{ id: 'price_roll', unit_amount: 90, ...usd }] },
  { product: { id: 'prod_free', name: 'Sample' }, prices: [{ id: 'price_free', unit_amount: 0, ...usd }] },
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

onBothEngines('checkout sessions of the sandbox', (engine) => {
  let house: Harness
  let stripe: Stripe
  let store: GroupStore
  let integrationId: string

  const wanted: Wanted = {
    mode: 'payment',
    line_items: [{ price: 'price_loaf', quantity: 2 }],
    success_url: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
    cancel_url: 'https://shop.example/checkoutcancel',
  }
  const create = (changes: Partial<Wanted> = {}) => stripe.checkout.sessions.create({ ...wanted, ...changes })

  before(async () => {
    house = await createHarness(engine)
    const group = await house.newGroup()
    const { integration, stripe: sdk } = await connectSandbox(house, group)
    stripe = sdk
    store = group.store
    integrationId = integration.id
    await seedSandbox(group.store, integration.id, goods, house.clock.now)
  })
  after(() => house.close())

  it('opens a session with its amounts and a page of ours', async () => {
    const session = await create({
      line_items: [
        { price: 'price_loaf', quantity: 2 },
        { price: 'price_roll', quantity: 10 },
      ],
      metadata: { group: 'g', site: 's' },
      customer_email: 'ada@example.com',
      branding_settings: { display_name: 'Bakery' },
      shipping_address_collection: { allowed_countries: ['CA', 'US'] },
      payment_intent_data: { description: 'Bakery', receipt_email: 'ada@example.com', metadata: { a: 'b' } },
    })
    assert.match(session.id, /^cs_test_\w{58}$/)
    assert.ok(session.url?.endsWith(`/sandbox/checkout/${integrationId}/${session.id}`))
    assert.deepEqual([session.amount_total, session.currency, session.status], [2000, 'usd', 'open'])
    assert.equal(session.payment_status, 'unpaid')
    assert.equal(session.success_url, wanted.success_url)
    assert.equal(session.line_items, undefined, 'only where they are asked for')
    const { line_items: lines } = await stripe.checkout.sessions.retrieve(session.id, { expand: ['line_items'] })
    assert.deepEqual(
      lines?.data.map(({ description, quantity, amount_total, price }) => [
        description,
        quantity,
        amount_total,
        price?.id,
      ]),
      [
        ['Loaf', 2, 1100, 'price_loaf'],
        ['Roll', 10, 900, 'price_roll'],
      ],
    )
  })

  it('gives away ten lines at once, and lists the others', async () => {
    const session = await create({
      line_items: Array.from({ length: 25 }, (_, index) => ({ price: 'price_roll', quantity: index + 1 })),
    })
    const { line_items: first } = await stripe.checkout.sessions.retrieve(session.id, { expand: ['line_items'] })
    assert.deepEqual([first?.data.length, first?.has_more], [10, true])
    const lines = await stripe.checkout.sessions
      .listLineItems(session.id, { limit: 7 })
      .autoPagingToArray({ limit: 100 })
    assert.deepEqual(
      lines.map(({ quantity }) => quantity),
      Array.from({ length: 25 }, (_, index) => index + 1),
    )
  })

  it('opens a subscription where a price recurs', async () => {
    const session = await create({
      mode: 'subscription',
      line_items: [
        { price: 'price_club', quantity: 1 },
        { price: 'price_loaf', quantity: 1 },
      ],
      subscription_data: { description: 'Club', metadata: { a: 'b' } },
    })
    assert.deepEqual([session.mode, session.amount_total], ['subscription', 1550])
  })

  const line = (price: string, quantity = 1) => ({ line_items: [{ price, quantity }] })
  const refused: [name: string, changes: Partial<Wanted>, param: string | undefined, code?: string][] = [
    ['a price that nobody knows', line('price_none'), 'line_items[0][price]', 'resource_missing'],
    ['a price that is not active', line('price_old'), 'line_items[0][price]', 'price_inactive'],
    ['a product that is not active', line('price_gone'), 'line_items[0][price]', 'price_inactive'],
    ['a quantity of 0', line('price_loaf', 0), 'line_items[0][quantity]', 'parameter_invalid_integer'],
    ['a quantity of 1.5', line('price_loaf', 1.5), 'line_items[0][quantity]', 'parameter_invalid_integer'],
    ['no quantity', { line_items: [{ price: 'price_loaf' }] }, 'line_items[0][quantity]', 'parameter_missing'],
    ['no lines', { line_items: [] }, 'line_items', 'parameter_missing'],
    ['a recurring price in payment mode', line('price_club'), 'mode'],
    ['a subscription without a recurring price', { mode: 'subscription' }, 'mode'],
    ['two currencies', { line_items: [...line('price_eur').line_items, ...line('price_loaf').line_items] }, undefined],
    ['an e-mail address that is none', { customer_email: 'ada' }, 'customer_email', 'email_invalid'],
    ['a return address that is none', { success_url: 'checkoutsuccess' }, 'success_url', 'url_invalid'],
    ['a return address that is a script', { success_url: 'javascript:alert(1)' }, 'success_url', 'url_invalid'],
    ['a country that is none', { shipping_address_collection: { allowed_countries: ['Atlantis'] } },
      'shipping_address_collection[allowed_countries][0]'],
    ['subscription_data in payment mode', { subscription_data: { description: 'x' } }, 'subscription_data'],
    ['a metadata key that is too long', { metadata: { ['k'.repeat(41)]: 'v' } }, 'metadata'],
    ['a metadata value that is too long', { metadata: { k: 'v'.repeat(501) } }, 'metadata[k]'],
    ['too much metadata', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, key) => [key, 'v'])) },
      'metadata'],
    ['a price made up by the caller', { line_items: [{ price_data: { currency: 'usd' }, quantity: 1 }] },
      'line_items[0][price_data]'],
  ] // biome-ignore format: a table

  for (const [name, changes, param, code] of refused) {
    it(`refuses ${name}`, async () => {
      const failure = await refusalOf(create(changes))
      assert.equal(failure.type, 'StripeInvalidRequestError')
      assert.equal(failure.statusCode, 400)
      assert.deepEqual([failure.param, failure.code], [param, code])
    })
  }

  const notPlayed: Partial<Wanted> = {
    adaptive_pricing: { enabled: true },
    allow_promotion_codes: true,
    automatic_tax: { enabled: true },
    billing_address_collection: 'required',
    client_reference_id: 'x',
    currency: 'eur',
    custom_text: { submit: { message: 'x' } },
    customer_update: { name: 'auto' },
    discounts: [{ coupon: 'half' }],
    excluded_payment_method_types: ['affirm'],
    expand: ['line_items'],
    expires_at: 4_000_000_000,
    invoice_creation: { enabled: true },
    locale: 'fr',
    name_collection: { individual: { enabled: true } },
    payment_method_options: { card: { request_three_d_secure: 'any' } },
    return_url: 'https://shop.example',
    shipping_options: [{ shipping_rate: 'x' }],
    tax_id_collection: { enabled: true },
    ui_mode: 'embedded_page',
  }
  for (const [name, value] of Object.entries(notPlayed)) {
    it(`says that it does not play ${name}`, async () => {
      const failure = await refusalOf(create({ [name]: value }))
      assert.deepEqual([failure.statusCode, failure.param], [400, name])
      assert.match(failure.message, /sandbox does not know/)
    })
  }

  it('refuses to expand what it does not have', async () => {
    const { id } = await create()
    for (const name of ['customer', 'line_items.data.price', 'constructor'])
      assert.equal((await refusalOf(stripe.checkout.sessions.retrieve(id, { expand: [name] }))).param, 'expand[0]')
  })

  it('keeps each price of a session once, however many lines name it', async () => {
    const { id } = await create({
      line_items: Array.from({ length: 100 }, () => ({ price: 'price_roll', quantity: 1 })),
    })
    const { data } = await store.database.read
      .selectFrom('sandbox_objects')
      .select('data')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    assert.equal(data.split('unit_amount_decimal').length - 1, 1)
    assert.ok(data.length < 20_000, `${data.length} bytes`)
  })

  it('refuses a session without mode or return address', async () => {
    const { mode: _mode, ...withoutMode } = wanted
    const { success_url: _url, ...withoutUrl } = wanted
    const failures = [
      await refusalOf(stripe.checkout.sessions.create(withoutMode)),
      await refusalOf(stripe.checkout.sessions.create(withoutUrl)),
      await refusalOf(create({ mode: 'subscription', ...line('price_club'), payment_intent_data: {
        description: 'x',
      } })),
    ] // biome-ignore format: alike
    assert.deepEqual(
      failures.map(({ param }) => param),
      ['mode', 'success_url', 'payment_intent_data'],
    )
  })

  it('says that a session has expired when its time is over', async () => {
    const session = await create()
    house.clock.now += 24 * 3_600_000 - 2000
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
    house.clock.now += 2000
    const later = await stripe.checkout.sessions.retrieve(session.id)
    assert.deepEqual([later.status, later.url], ['expired', null])
  })

  it('lists sessions by status and age', async () => {
    house.clock.now += 100_000
    const since = Math.floor(house.clock.now / 1000)
    const first = await create()
    house.clock.now += 1000
    const second = await create()
    const idsOf = async (query: Stripe.Checkout.SessionListParams) =>
      (await stripe.checkout.sessions.list(query)).data.map(({ id }) => id)
    assert.deepEqual(await idsOf({ created: { gte: since } }), [second.id, first.id])
    assert.deepEqual(await idsOf({ created: { gt: since } }), [second.id])
    house.clock.now += 24 * 3_600_000 - 1000
    assert.deepEqual(await idsOf({ created: { gte: since }, status: 'open' }), [second.id])
    assert.deepEqual(await idsOf({ created: { gte: since }, status: 'expired' }), [first.id])
  })

  it('knows no session of another name', async () => {
    const failure = await refusalOf(stripe.checkout.sessions.retrieve('cs_test_none'))
    assert.deepEqual([failure.statusCode, failure.code], [404, 'resource_missing'])
  })
})
