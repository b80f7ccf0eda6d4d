import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Provider } from '../../../src/payments/provider.ts'
import { seedSandbox } from '../../../src/payments/sandbox/catalogue.ts'
import { tidyPayments } from '../../../src/payments/tidy.ts'
import { addSandboxObjects } from '../../../src/store/commerce/sandbox.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine } from '../../helpers/harness.ts'
import { connectSandbox } from '../../helpers/sandbox.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

async function openShop(engine: TestEngine) {
  const house = await harness(engine)
  const { service, clock } = house
  const group = await house.newGroup()
  const { provider, integration } = await connectSandbox(house, group)
  const loaf = { product: { id: 'prod_1', name: 'Loaf' }, prices: [{ id: 'price_1', currency: 'usd', unit_amount: 550 }] } // biome-ignore format: short
  await seedSandbox(group.store, integration.id, [loaf], clock.now)
  const buy = (idempotencyKey: string) =>
    provider.createSession(
      {
        mode: 'payment',
        lines: [{ price: 'price_1', quantity: 1 }],
        successUrl: 'https://shop.example/checkoutsuccess',
        cancelUrl: 'https://shop.example/checkoutcancel',
        metadata: {},
      },
      idempotencyKey,
    )
  /** Prunes like the periodic job, without comparing catalogues. */
  const tidy = () => tidyPayments(service.store, clock.now, 0)
  /** The number of each kind. */
  async function counts(): Promise<Record<string, number>> {
    const rows = await group.store.database.read.selectFrom('sandbox_objects').select('kind').execute()
    const kinds = Map.groupBy(rows, ({ kind }) => kind)
    return Object.fromEntries([...kinds].map(([kind, { length }]) => [kind, length]))
  }
  const pay = ({ url }: Awaited<ReturnType<Provider['createSession']>>) =>
    house.app.inject({
      method: 'POST',
      url: `${new URL(url).pathname}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'email=ada@example.com',
    })
  return { clock, provider, integration, group, buy, pay, tidy, counts }
}

onBothEngines('the data of the sandbox', (engine) => {
  it('is retained for a day by key, for thirty days by session, and permanently in the catalogue', async () => {
    const { clock, buy, tidy, counts } = await openShop(engine)
    await buy('key')
    const stays = { product: 1, price: 1 }
    const before = { ...stays, session: 1 }
    clock.now += dayMs - 1
    await tidy()
    assert.deepEqual(await counts(), { ...before, kept_answer: 1 })
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

  it('is retained from the last change or use of a key', async () => {
    const { clock, provider, buy, pay, tidy, counts } = await openShop(engine)
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
    assert.equal((await provider.fetchSession(session.id))?.status, 'paid')
    clock.now += dayMs
    await tidy()
    assert.deepEqual((await provider.listCompletedSessions(0, undefined)).items, [])
  })

  it('is removed in parts and completely, with the events of former versions', async () => {
    const { clock, group, integration, tidy, counts } = await openShop(engine)
    const events = Array.from({ length: 1100 }, (_, number) => ({ id: `evt_${number}`, data: '{}' }))
    await write(group.store, clock.now, (writer) => addSandboxObjects(writer, integration.id, 'event', events))
    clock.now += 30 * dayMs
    await tidy()
    assert.deepEqual(await counts(), { product: 1, price: 1 })
  })
})
