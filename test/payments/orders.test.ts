import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { OrderStatus } from '../../src/content/orders.ts'
import { orderJob } from '../../src/payments/jobs.ts'
import { type CheckoutSession, ProviderFailure } from '../../src/payments/provider.ts'
import { listOrders } from '../../src/store/commerce/orders.ts'
import { insertJob, listJobs } from '../../src/store/jobs/jobs.ts'
import { write } from '../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { connectAccount } from './shop.ts'

async function openTill(engine: TestEngine) {
  const created = await harness(engine)
  const group = await created.newGroup()
  const account = await connectAccount(created, group, 'main')
  const { clock, service } = created
  const { integration, provider } = account
  const session = (id: string, more: Partial<CheckoutSession> = {}): CheckoutSession => ({
    id,
    status: 'paid',
    mode: 'payment',
    currency: 'eur',
    subtotal: '9.00',
    total: '13.90',
    email: 'ada@customer.example',
    name: 'Ada Customer',
    phone: null,
    shipping: {
      name: 'Ada Customer',
      address: { line1: '1 Mill Lane', line2: null, city: 'Alderbrook', state: null, postalCode: 'B0J', country: 'CA' },
    },
    lines: [{ description: 'Loaf', priceId: 'price_loaf', productId: 'prod_price_loaf', quantity: 2, amount: '9.00' }],
    metadata: { sluice_group: group.group.id, sluice_site: '66f0c0ffee0123456789abcd' },
    paymentId: 'pi_1',
    createdMs: clock.now - 60_000,
    ...more,
  })
  const tell = (told: CheckoutSession) => void provider.told.set(told.id, told)
  const ask = (sessionId: string) =>
    write(group.store, clock.now, (writer) => insertJob(writer, orderJob(integration.id, sessionId)))
  /** An event came, and its job is done. */
  async function hear(told: CheckoutSession): Promise<void> {
    tell(told)
    await ask(told.id)
    await service.worker.runDue()
  }
  const orders = async () => (await listOrders(group.store, { limit: 100, skip: 0 })).orders
  const records = async () => {
    const rows = await group.store.database.read
      .selectFrom('changes')
      .selectAll()
      .where('type', 'like', 'order.%')
      .where('group_id', '=', group.group.id)
      .orderBy('seq')
      .execute()
    return rows
  }
  return { ...created, ...account, group, session, tell, ask, hear, orders, records }
}

onBothEngines('an order', (engine) => {
  it('is written down with all that was bought, by whom, and where it goes', async () => {
    const { hear, session, orders, clock, records } = await openTill(engine)
    const told = session('cs_1')
    await hear(told)
    const [order, ...more] = await orders()
    assert.deepEqual(more, [])
    const { id: _id, metadata: _metadata, ...purchase } = told
    assert.deepEqual(order, {
      id: order?.id,
      type: 'stripe',
      accountHandle: 'main',
      sessionId: 'cs_1',
      siteId: '66f0c0ffee0123456789abcd',
      live: false,
      ...purchase,
      updatedMs: clock.now,
    })
    const [record] = await records()
    assert.deepEqual([record?.type, record?.subject_id, record?.note], ['order.created', order?.id, 'paid'])
    assert.doesNotMatch(JSON.stringify(await records()), /ada@|Ada|Mill Lane/) // 'ada' alone may be part of an id
  })

  it('is one for each session, however many events come and in whichever order', async () => {
    const till = await openTill(engine)
    const statuses = fc.array(fc.constantFrom<OrderStatus>('pending', 'paid', 'failed'), { minLength: 1, maxLength: 6 })
    let number = 0
    await fc.assert(
      fc.asyncProperty(statuses, async (told) => {
        number += 1
        const sessionId = `cs_${number}`
        for (const status of told) await till.hear(till.session(sessionId, { status }))
        const own = (await till.orders()).filter((order) => order.sessionId === sessionId)
        const outcome = told.includes('paid') ? 'paid' : told.includes('failed') ? 'failed' : 'pending'
        assert.deepEqual(own.map(({ status }) => status), [outcome]) // biome-ignore format: short
      }),
      { numRuns: 15 },
    )
  })

  it('changes in its status only, and each change is on record', async () => {
    const { hear, session, orders, records, clock } = await openTill(engine)
    await hear(session('cs_1', { status: 'pending' }))
    const [before] = await orders()
    clock.now += 1000
    await hear(session('cs_1', { status: 'failed', total: '0.00', email: null }))
    await hear(session('cs_1', { status: 'pending' }))
    clock.now += 1000
    await hear(session('cs_1', { status: 'paid' }))
    await hear(session('cs_1', { status: 'failed' }))
    assert.deepEqual(await orders(), [{ ...before, status: 'paid', updatedMs: clock.now }])
    assert.deepEqual(
      (await records()).map(({ type, note }) => [type, note]),
      [
        ['order.created', 'pending'],
        ['order.updated', 'failed'],
        ['order.updated', 'paid'],
      ],
    )
  })

  it('is not made of a session that is not complete, is gone, or was not made by this group', async () => {
    const { hear, ask, session, orders, service } = await openTill(engine)
    await hear(session('cs_open', { status: null }))
    await hear(session('cs_elsewhere', { metadata: {} }))
    await hear(session('cs_theirs', { metadata: { sluice_group: '66f0c0ffee0123456789abcd' } }))
    await ask('cs_gone')
    await service.worker.runDue()
    assert.deepEqual(await orders(), [])
    const { jobs } = await listJobs(service.store, { limit: 10, skip: 0 })
    assert.deepEqual([...new Set(jobs.map(({ state }) => state))], ['done'])
  })

  it('is written down later where the provider is away for a while', async () => {
    const { tell, ask, session, orders, provider, service, clock } = await openTill(engine)
    tell(session('cs_1'))
    const { fetchSession } = provider
    provider.fetchSession = async () => {
      throw new ProviderFailure('unreachable', 'It is away.')
    }
    await ask('cs_1')
    const waits = [5, 60, 600, 3600, 14_400]
    for (const seconds of waits) {
      await service.worker.runDue()
      assert.deepEqual(await orders(), [])
      clock.now += seconds * 1000
    }
    provider.fetchSession = fetchSession
    await service.worker.runDue()
    assert.equal((await orders()).length, 1)
  })
})
