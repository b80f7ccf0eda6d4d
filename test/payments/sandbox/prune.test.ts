import assert from 'node:assert/strict'
import { it } from 'node:test'
import { tidyPayments } from '../../../src/payments/tidy.ts'
import { harness, onBothEngines, type TestEngine } from '../../helpers/harness.ts'
import { connectSandbox } from '../../helpers/sandbox.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

async function openShop(engine: TestEngine) {
  const house = await harness(engine)
  const { service, clock } = house
  const group = await house.newGroup()
  const { stripe } = await connectSandbox(house, group)
  const { default_price: price } = await stripe.products.create({
    name: 'Loaf',
    default_price_data: { currency: 'usd', unit_amount: 550 },
  })
  const buy = (idempotencyKey: string) =>
    stripe.checkout.sessions.create(
      {
        mode: 'payment',
        line_items: [{ price: String(price), quantity: 1 }],
        success_url: 'https://shop.example/checkoutsuccess',
      },
      { idempotencyKey },
    )
  /** As it is done from time to time, without comparing catalogues. */
  const tidy = () => tidyPayments(service.store, clock.now, 0)
  /** How many there are of each kind. */
  async function counts(): Promise<Record<string, number>> {
    const rows = await group.store.database.read.selectFrom('sandbox_objects').select('kind').execute()
    const kinds = Map.groupBy(rows, ({ kind }) => kind)
    return Object.fromEntries([...kinds].map(([kind, { length }]) => [kind, length]))
  }
  const pay = (session: { url: string | null }) =>
    house.app.inject({
      method: 'POST',
      url: `${new URL(session.url ?? '').pathname}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'email=ada@example.com',
    })
  return { clock, stripe, buy, pay, tidy, counts }
}

onBothEngines('what the sandbox remembers', (engine) => {
  it('is an answer under a key for a day, a session and events for thirty, the catalogue for good', async () => {
    const { clock, buy, tidy, counts } = await openShop(engine)
    await buy('key')
    const stays = { webhook_endpoint: 1, product: 1, price: 1 }
    const before = { ...stays, event: 2, session: 1 }
    clock.now += dayMs - 1
    await tidy()
    assert.deepEqual(await counts(), { ...before, kept_answer: 3 }, 'the SDK gives every call a key that writes')
    clock.now += 1
    await tidy()
    assert.deepEqual(await counts(), before)
    clock.now += 29 * dayMs - 1
    await tidy()
    assert.deepEqual(await counts(), before)
    clock.now += 1
    await tidy()
    assert.deepEqual(await counts(), stays)
  })

  it('counts from the last change on, for sessions and for keys that are used anew', async () => {
    const { clock, stripe, buy, pay, tidy, counts } = await openShop(engine)
    const session = await buy('key')
    clock.now += 23 * hourMs
    assert.equal((await pay(session)).statusCode, 303)
    clock.now += hourMs
    const { id } = await buy('key')
    assert.notEqual(id, session.id)
    await tidy()
    assert.equal((await counts()).kept_answer, 1)
    assert.equal((await buy('key')).id, id)
    clock.now += 29 * dayMs + hourMs
    await tidy()
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'complete')
    clock.now += dayMs
    await tidy()
    assert.deepEqual((await stripe.checkout.sessions.list()).data, [])
  })

  it('goes in parts, and all of it', async () => {
    const { clock, stripe, tidy, counts } = await openShop(engine)
    const { id } = await stripe.products.create({ name: 'Restless' })
    for (let number = 0; number < 520; number += 1) await stripe.products.update(id, { name: `Name ${number}` })
    assert.ok(((await counts()).event ?? 0) > 520)
    clock.now += 30 * dayMs
    await tidy()
    assert.deepEqual(await counts(), { webhook_endpoint: 1, product: 2, price: 1 })
  })
})
