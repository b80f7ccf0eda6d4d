import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import Stripe from 'stripe'
import { seedSandbox } from '../../../src/payments/sandbox/seed.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'
import { connectSandbox, refusalOf, type SandboxAccount } from '../../helpers/sandbox.ts'

onBothEngines('the sandbox’s catalogue', (engine) => {
  let house: Harness
  let account: SandboxAccount
  let stripe: Stripe

  before(async () => {
    house = await createHarness(engine)
    account = await connectSandbox(house, await house.newGroup())
    stripe = account.stripe
  })
  after(() => house.close())

  it('says whose key it is', async () => {
    const { id, settings } = await stripe.accounts.retrieveCurrent()
    assert.equal(id, `acct_${account.integration.id}`)
    assert.equal(settings?.dashboard.display_name, 'Test group (sandbox)')
  })

  it('keeps a product: create, retrieve, update, delete', async () => {
    const made = await stripe.products.create({
      name: 'Rye loaf',
      description: 'Dark & dense',
      images: ['https://pictures.example/rye.png'],
      metadata: { productType: 'Bread', weight: 900 },
    })
    assert.match(made.id, /^prod_\w{14}$/)
    assert.deepEqual(made.metadata, { productType: 'Bread', weight: '900' })
    assert.deepEqual({ ...(await stripe.products.retrieve(made.id)) }, { ...made })

    house.clock.now += 2000
    const changed = await stripe.products.update(made.id, { description: '', metadata: { weight: '', origin: 'here' } })
    assert.equal(changed.description, null)
    assert.deepEqual(changed.metadata, { productType: 'Bread', origin: 'here' })
    assert.equal(changed.name, 'Rye loaf')
    assert.equal(changed.updated, made.updated + 2)
    assert.deepEqual((await stripe.products.update(made.id, { metadata: '' })).metadata, {})

    const gone = await stripe.products.del(made.id)
    assert.equal(gone.deleted, true)
    const failure = await refusalOf(stripe.products.retrieve(made.id))
    assert.equal(failure.statusCode, 404)
    assert.equal(failure.code, 'resource_missing')
    assert.match(failure.requestId ?? '', /^req_/)
  })

  it('takes an id of the caller’s for a product, once', async () => {
    await stripe.products.create({ id: 'own-id', name: 'Own' })
    const failure = await refusalOf(stripe.products.create({ id: 'own-id', name: 'Again' }))
    assert.equal(failure.code, 'resource_already_exists')
    assert.equal((await stripe.products.retrieve('own-id')).name, 'Own')
  })

  it('keeps a price, with the product that it belongs to', async () => {
    const { id: product } = await stripe.products.create({ name: 'Baguette' })
    const made = await stripe.prices.create({ product, currency: 'CAD', unit_amount: 320, nickname: 'Usual' })
    assert.equal(made.currency, 'cad')
    assert.equal(made.unit_amount_decimal?.toString(), '320')
    assert.equal(made.type, 'one_time')
    const updated = await stripe.prices.update(made.id, { active: false, metadata: { variant: 'Small' } })
    assert.deepEqual([updated.active, updated.metadata.variant, updated.nickname], [false, 'Small', 'Usual'])
    assert.deepEqual(await stripe.prices.retrieve(made.id).then(({ product: of }) => of), product)
    await assert.rejects(stripe.products.del(product), /has prices/)
  })

  it('makes a product together with its default price', async () => {
    const data = { currency: 'usd', unit_amount: 1000, recurring: { interval: 'month' as const } }
    const product = await stripe.products.create({ name: 'Bread club', default_price_data: data })
    const { data: prices } = await stripe.prices.list({ product: product.id })
    assert.deepEqual(
      prices.map(({ id, type, unit_amount, recurring }) => [id, type, unit_amount, recurring?.interval_count]),
      [[product.default_price, 'recurring', 1000, 1]],
    )
  })

  it('keeps parts of the smallest unit', async () => {
    const { id: product } = await stripe.products.create({ name: 'Flour, per gram' })
    const { id } = await stripe.prices.create({
      product,
      currency: 'usd',
      unit_amount_decimal: Stripe.Decimal.from('0.55'),
    })
    const { unit_amount, unit_amount_decimal } = await stripe.prices.retrieve(id)
    assert.deepEqual([unit_amount, unit_amount_decimal?.toString()], [null, '0.55'])
  })

  it('lets a lookup key lead to one price', async () => {
    const { id: product } = await stripe.products.create({ name: 'Cake' })
    const price = { product, currency: 'usd', unit_amount: 500, lookup_key: 'cake' }
    const first = await stripe.prices.create(price)
    assert.equal((await refusalOf(stripe.prices.create(price))).param, 'lookup_key')
    const second = await stripe.prices.create({ ...price, lookup_key: 'pie' })
    assert.equal((await refusalOf(stripe.prices.update(second.id, { lookup_key: 'cake' }))).param, 'lookup_key')
    assert.equal((await stripe.prices.update(first.id, { lookup_key: 'cake' })).lookup_key, 'cake')
  })

  it('lists newest first, in pages', async () => {
    const group = await house.newGroup()
    const { stripe: other, integration } = await connectSandbox(house, group)
    const goods = Array.from({ length: 250 }, (_, number) => ({
      product: { id: `prod_${number}`, name: `Product ${number}` },
      prices: [{ id: `price_${number}`, currency: 'usd', unit_amount: number, active: number % 2 === 0 }],
    }))
    await seedSandbox(group.store, integration.id, goods, house.clock.now)

    const newestFirst = goods.map(({ product }) => product.id).reverse()
    const all = await other.products.list({ limit: 100 }).autoPagingToArray({ limit: 1000 })
    assert.deepEqual(
      all.map(({ id }) => id),
      newestFirst,
    )
    const first = await other.products.list({})
    assert.deepEqual([first.data.length, first.has_more, first.url], [10, true, '/v1/products'])
    const last = await other.products.list({ starting_after: 'prod_1', limit: 3 })
    assert.deepEqual([last.data.map(({ id }) => id), last.has_more], [['prod_0'], false])

    const active = await other.prices.list({ active: true, limit: 100 }).autoPagingToArray({ limit: 1000 })
    assert.equal(active.length, 125)
    assert.deepEqual(
      (await other.prices.list({ product: 'prod_9', active: false })).data.map(({ id }) => id),
      ['price_9'],
    )
    assert.equal((await other.products.retrieve('prod_9')).default_price, 'price_9')
    assert.equal((await other.events.list()).data.length, 0, 'nobody is told of what was there from the beginning')
  })

  it('shows an account nothing of another one', async () => {
    const { id } = await stripe.products.create({ name: 'Ours' })
    const { stripe: other } = await connectSandbox(house, await house.newGroup())
    assert.equal((await refusalOf(other.products.retrieve(id))).code, 'resource_missing')
    assert.equal((await refusalOf(other.products.list({ starting_after: id }))).param, 'starting_after')
    assert.deepEqual((await other.products.list()).data, [])
  })

  it('makes an event of every change, and none of what changes nothing', async () => {
    const { stripe: other } = await connectSandbox(house, await house.newGroup())
    const { id } = await other.products.create({ name: 'Roll' })
    await other.products.update(id, { name: 'Bun' })
    await other.products.update(id, { name: 'Bun' })
    const price = await other.prices.create({ product: id, currency: 'usd', unit_amount: 90 })
    await other.prices.update(price.id, { nickname: 'Each' })
    const { id: gone } = await other.products.create({ name: 'Short-lived' })
    await other.products.del(gone)

    const events = (await other.events.list()).data.reverse()
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'product.created', 'product.updated', 'price.created', 'price.updated', 'product.created', 'product.deleted',
      ], // biome-ignore format: a few lines read better
    )
    const [, renamed] = events
    assert.ok(renamed?.type === 'product.updated')
    assert.equal(renamed.data.object.name, 'Bun')
  })
})
