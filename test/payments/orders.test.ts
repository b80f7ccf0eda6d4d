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

async function openShop(engine: TestEngine) {
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
  const complete = (completed: CheckoutSession) => void provider.completed.set(completed.id, completed)
  const ask = (sessionId: string) =>
    write(group.store, clock.now, (writer) => insertJob(writer, orderJob(integration.id, sessionId)))
  /** Receives an event and runs its job. */
  async function receive(completed: CheckoutSession): Promise<void> {
    complete(completed)
    await ask(completed.id)
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
  return { ...created, ...account, group, session, complete, ask, receive, orders, records }
}

onBothEngines('an order', (engine) => {
  it('is recorded with everything bought, the customer, and the shipping address', async () => {
    const { receive, session, orders, clock, records } = await openShop(engine)
    const completed = session('cs_1')
    await receive(completed)
    const [order, ...more] = await orders()
    assert.deepEqual(more, [])
    const { id: _id, metadata: _metadata, ...purchase } = completed
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

  it('exists once per session, whatever the number and order of events', async () => {
    const shop = await openShop(engine)
    const statuses = fc.array(fc.constantFrom<OrderStatus>('pending', 'paid', 'failed'), { minLength: 1, maxLength: 6 })
    let number = 0
    await fc.assert(
      fc.asyncProperty(statuses, async (completed) => {
        number += 1
        const sessionId = `cs_${number}`
        for (const status of completed) await shop.receive(shop.session(sessionId, { status }))
        const own = (await shop.orders()).filter((order) => order.sessionId === sessionId)
        const outcome = completed.includes('paid') ? 'paid' : completed.includes('failed') ? 'failed' : 'pending'
        assert.deepEqual(own.map(({ status }) => status), [outcome]) // biome-ignore format: short
      }),
      { numRuns: 15 },
    )
  })

  it('changes in its status only, and each change is recorded', async () => {
    const { receive, session, orders, records, clock } = await openShop(engine)
    await receive(session('cs_1', { status: 'pending' }))
    const [before] = await orders()
    clock.now += 1000
    await receive(session('cs_1', { status: 'failed', total: '0.00', email: null }))
    await receive(session('cs_1', { status: 'pending' }))
    clock.now += 1000
    await receive(session('cs_1', { status: 'paid' }))
    await receive(session('cs_1', { status: 'failed' }))
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

  it('is not created for a session that is incomplete, missing, or of another group', async () => {
    const { receive, ask, session, orders, service } = await openShop(engine)
    await receive(session('cs_open', { status: null }))
    await receive(session('cs_elsewhere', { metadata: {} }))
    await receive(session('cs_theirs', { metadata: { sluice_group: '66f0c0ffee0123456789abcd' } }))
    await ask('cs_gone')
    await service.worker.runDue()
    assert.deepEqual(await orders(), [])
    const { jobs } = await listJobs(service.store, { limit: 10, skip: 0 })
    assert.deepEqual([...new Set(jobs.map(({ state }) => state))], ['done'])
  })

  it('is recorded later if the provider is temporarily unreachable', async () => {
    const { complete, ask, session, orders, provider, service, clock } = await openShop(engine)
    complete(session('cs_1'))
    const { fetchSession } = provider
    provider.fetchSession = async () => {
      throw new ProviderFailure('unreachable', 'It is unreachable.')
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
