import assert from 'node:assert/strict'
import { it } from 'node:test'
import Stripe from 'stripe'
import { type DistantShop, distantShop, manyProducts, webhookSecret } from '../helpers/distant-shop.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { shuffledEvents } from '../helpers/shuffled-events.ts'
import { assertMirrored } from './assert-mirrored.ts'

/** `npm run prove -- catalogue` sets more. */
const productCount = Number(process.env.CATALOGUE_PRODUCTS ?? 120)
const changeCount = Number(process.env.CATALOGUE_CHANGES ?? 200)

type Random = () => number

const chosen = <Item>(random: Random, items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)]
  assert.ok(item !== undefined, 'there are several choices')
  return item
}

/** Changes the catalogue at the provider as its users do. Each change makes one event, which is not delivered here. */
function createShopkeeper(stripe: Stripe, productIds: string[]) {
  let changes = 0
  const update = (random: Random, change: Stripe.ProductUpdateParams) =>
    stripe.products.update(chosen(random, productIds), change)

  const kinds: ((random: Random) => Promise<unknown>)[] = [
    (random) => update(random, { name: `Name ${changes}`, description: `Description ${changes}` }),
    (random) => update(random, { metadata: { colour: `Colour ${changes}` } }),
    (random) => update(random, { metadata: { variant_of: `set_${changes % 7}`, variant: `Variant ${changes}` } }),
    (random) => update(random, { metadata: { variant_of: '', note: `Alone again ${changes}` } }),
    async (random) => {
      const { id, active } = await stripe.products.retrieve(chosen(random, productIds))
      await stripe.products.update(id, { active: !active })
    },
    (random) =>
      stripe.prices.create({
        product: chosen(random, productIds),
        currency: chosen(random, ['cad', 'cad', 'jpy']),
        unit_amount: 100 + changes,
        nickname: chosen(random, ['Small', 'Medium', 'Large']),
      }),
    async (random) => {
      const product = chosen(random, productIds)
      const { data } = await stripe.prices.list({ product, limit: 100 })
      if (data.length === 0) return update(random, { name: `Name ${changes}` })
      const { id, active } = chosen(random, data)
      return stripe.prices.update(id, { active: !active })
    },
    async (random) => {
      const product = chosen(random, productIds)
      const { data } = await stripe.prices.list({ product, limit: 100 })
      const { default_price: before } = await stripe.products.retrieve(product)
      const other = data.find(({ id }) => id !== before)
      return other
        ? stripe.products.update(product, { default_price: other.id })
        : stripe.products.update(product, { name: `Name ${changes}` })
    },
    async () => {
      const { id } = await stripe.products.create({ name: `New ${changes}` })
      productIds.push(id)
    },
    async () => {
      // Only products without a price can be deleted there.
      const { id } = await stripe.products.create({ name: `Mistake ${changes}` })
      await stripe.products.del(id)
    },
  ]

  /** One change, and its event. */
  return async (random: Random): Promise<Stripe.Event> => {
    changes += 1
    await chosen(random, kinds)(random)
    const { data } = await stripe.events.list({ limit: 1 })
    return chosen(random, data)
  }
}

/** Calls the webhook like the provider. */
async function deliver({ shop }: DistantShop, integrationId: string, event: Stripe.Event): Promise<void> {
  const payload = JSON.stringify(event, null, 2)
  const timestamp = Math.floor(shop.clock.now / 1000)
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret, timestamp })
  const answer = await shop.app.inject({
    method: 'POST',
    url: `/webhooks/stripe/${integrationId}`,
    headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    payload,
  })
  assert.equal(answer.statusCode, 200, answer.body)
}

onBothEnginesInProve(`${changeCount.toLocaleString('en')} changes of a catalogue`, (engine) => {
  it('with events in any order, repeated or lost, leave its mirror exact after one synchronisation', async (context) => {
    const distant = await distantShop(engine, { JOB_WORKERS: '2' })
    const { shop, group, seed, connect, stripe, provider } = distant
    const catalogue = manyProducts(productCount)
    seed(catalogue)
    const integrationId = await connect()
    await shop.service.worker.runDue()
    await assertMirrored(group, provider)
    await shop.service.listen() // from here on jobs run during the changes

    const startedMs = performance.now()
    const types = new Map<string, number>()
    const change = createShopkeeper(stripe, catalogue.map(({ product }) => product.id)) // biome-ignore format: short
    const { delivered, lost } = await shuffledEvents({
      events: changeCount,
      seed: 5,
      async change(random) {
        const event = await change(random)
        types.set(event.type, (types.get(event.type) ?? 0) + 1)
        return event
      },
      deliver: (event) => deliver(distant, integrationId, event),
    })
    await shop.service.worker.runDue()
    const seconds = (performance.now() - startedMs) / 1000

    const integration = `/manage/groups/${group.groupId}/integrations/${integrationId}`
    await assert.rejects(assertMirrored(group, provider), assert.AssertionError, 'lost events are not mirrored')
    await shop.ask('POST', `${integration}/sync`)
    await shop.service.worker.runDue()
    const products = await assertMirrored(group, provider)
    const { lastSync, progress } = await shop.ask('GET', integration)
    assert.equal(progress, null)
    assert.ok(lastSync.added + lastSync.changed + lastSync.archived > 0, 'it reports its findings')

    await shop.ask('POST', `${integration}/sync`)
    await shop.service.worker.runDue()
    const { lastSync: second } = await shop.ask('GET', integration)
    assert.deepEqual([second.added, second.changed, second.archived], [0, 0, 0], 'nothing remained to be found')
    const kinds = [...types].map(([type, count]) => `${type} ${count}`)
    context.diagnostic(
      `${engine}: ${changeCount} changes (${kinds.join(', ')}); ${delivered} events delivered in disorder, ${lost} lost, in ` +
        `${seconds.toFixed(0)} s; the comparison added ${lastSync.added}, changed ${lastSync.changed}, archived ` +
        `${lastSync.archived}; all of ${products} products exact`,
    )
  })
})
