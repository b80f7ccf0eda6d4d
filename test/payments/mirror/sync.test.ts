import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sessionMetadata } from '../../../src/content/checkout.ts'
import { scheduleSyncs } from '../../../src/payments/mirror/sync.ts'
import { ProviderFailure } from '../../../src/payments/provider.ts'
import {
  findIntegrationById,
  findRegisteredIntegration,
  updateIntegration,
} from '../../../src/store/commerce/integrations.ts'
import { type NewOrder, recordOrder } from '../../../src/store/commerce/orders.ts'
import { readRevision } from '../../../src/store/content/revisions.ts'
import { findPendingJobs } from '../../../src/store/jobs/jobs.ts'
import { setFrozen, write } from '../../helpers/authoring.ts'
import { assertIndexIsRight, assertNoGaps } from '../../helpers/editing.ts'
import type { FakeProvider } from '../../helpers/fake-provider.ts'
import { onBothEngines } from '../../helpers/harness.ts'
import { shop } from './shop.ts'

const dayMs = 86_400_000

function fill(provider: FakeProvider, count: number): void {
  for (let number = 0; number < count; number += 1)
    provider.put({ id: `prod_${String(number).padStart(4, '0')}`, createdMs: number }, { unitAmount: String(number) })
}

const newOrder = (order: Pick<NewOrder, 'sessionId' | 'status'>): NewOrder => ({
  type: 'stripe',
  accountHandle: 'main',
  live: false,
  mode: 'payment',
  currency: 'eur',
  subtotal: '1.00',
  total: '1.00',
  email: null,
  name: null,
  phone: null,
  shipping: null,
  lines: [],
  paymentId: null,
  siteId: null,
  createdMs: 0,
  ...order,
})

const sessionOf = (groupId: string, id: string) => ({ id, metadata: sessionMetadata(groupId, undefined) })

const reportOf = ({ added, changed, archived }: { added: number; changed: number; archived: number }) => [
  added,
  changed,
  archived,
]

onBothEngines('the synchronisation of a catalogue', (engine) => {
  it('imports 250 products in pages of 100, and reports their number', async () => {
    const { provider, sync, objects, ids, group } = await shop(engine)
    fill(provider, 250)
    const report = await sync()
    assert.deepEqual(reportOf(report), [250, 0, 0])
    assert.deepEqual([report.products, report.prices], [250, 250])
    assert.equal(provider.calls.filter((call) => call.startsWith('list')).length, 3 + 3 + 1)
    assert.equal((await objects()).size, 250)
    assert.deepEqual((await ids('&sort=price:asc&limit=3')).slice(0, 3), ['prod_0000', 'prod_0001', 'prod_0002'])
    await assertIndexIsRight(group.store)
    await assertNoGaps(group.store)
  })

  it('continues where it was interrupted', async () => {
    const { provider, sync, objects } = await shop(engine)
    fill(provider, 250)
    provider.onCall = ({ name, argument, moment }) => {
      if (name === 'listProducts' && argument !== undefined && moment === 'asked')
        throw new ProviderFailure('unreachable', 'Away.')
    }
    await assert.rejects(sync(), /Away/)
    assert.equal((await objects()).size, 100)
    provider.calls.length = 0
    provider.onCall = () => {}
    const report = await sync()
    assert.deepEqual(provider.calls, ['listProducts prod_0099', 'listProducts prod_0199', 'listCompletedSessions'])
    assert.deepEqual([report.products, report.prices, report.added], [250, 250, 250])
    assert.equal((await objects()).size, 250)
  })

  it('restarts if it was interrupted long ago', async () => {
    const { provider, sync, clock } = await shop(engine)
    fill(provider, 150)
    provider.onCall = ({ name }) => {
      if (name === 'listProducts') throw new ProviderFailure('unreachable', 'Away.')
    }
    await assert.rejects(sync(), /Away/)
    provider.onCall = () => {}
    provider.calls.length = 0
    clock.now += dayMs
    assert.deepEqual((await sync()).startedMs, clock.now)
    assert.equal(provider.calls[0], 'listPrices')
  })

  it('restarts a phase, once, if the provider no longer accepts the cursor', async () => {
    const { provider, sync, objects } = await shop(engine)
    fill(provider, 250)
    let lost = 0
    provider.onCall = ({ name, argument, moment }) => {
      if (name !== 'listProducts' || argument !== 'prod_0099' || moment !== 'asked' || lost > 0) return
      lost += 1
      throw new ProviderFailure('unknown', 'No such product.')
    }
    const report = await sync()
    assert.deepEqual([report.products, report.added], [250, 250])
    assert.equal((await objects()).size, 250)

    provider.onCall = ({ name, argument }) => {
      if (name === 'listPrices' && argument !== undefined) throw new ProviderFailure('unknown', 'No such price.')
    }
    await assert.rejects(sync(), /No such price/)
  })

  it('writes nothing when nothing has changed', async () => {
    const { provider, sync, objects, group } = await shop(engine)
    fill(provider, 30)
    provider.put({ id: 'v1', metadata: { variant_of: 'v', variant: 'S', colour: 'red' } }, {})
    provider.put({ id: 'v2', metadata: { variant_of: 'v', variant: 'L', colour: 'blue' } }, {})
    await sync()
    const [before, revision] = [await objects(), await readRevision(group.store)]
    assert.deepEqual(reportOf(await sync()), [0, 0, 0])
    assert.deepEqual(await objects(), before)
    assert.equal(await readRevision(group.store), revision)
  })

  it('reports additions, changes and removals, and restores what returns', async () => {
    const { provider, sync, objects, ids } = await shop(engine)
    fill(provider, 4)
    await sync()
    provider.put({ id: 'prod_new' }, {})
    provider.put({ id: 'prod_0001', name: 'Another name' }, { unitAmount: '500' })
    provider.remove('prod_0002')
    provider.put({ id: 'prod_0003', active: false }, {})
    assert.deepEqual(reportOf(await sync()), [1, 1, 2])
    assert.deepEqual((await ids()).toSorted(), ['prod_0000', 'prod_0001', 'prod_new'])
    const gone = (await objects()).get('prod_0002')
    assert.deepEqual([gone?.archived, gone?.value.name], [true, 'Product prod_0002'])

    provider.put({ id: 'prod_0002', name: 'Back' }, {})
    provider.put({ id: 'prod_0003' }, {})
    assert.deepEqual(reportOf(await sync()), [0, 2, 0])
    const back = (await objects()).get('prod_0002')
    assert.deepEqual([back?.id, back?.archived, back?.value.name], [gone?.id, false, 'Back'])
  })

  it('removes a price that is no longer in use', async () => {
    const { provider, sync, objects, read, group } = await shop(engine)
    provider.put({ id: 'p', defaultPriceId: 'b' }, { id: 'a', unitAmount: '100' }, { id: 'b', unitAmount: '200' })
    await sync()
    assert.equal((await objects()).get('p')?.value.price, '2.00')
    provider.prices.delete('b')
    assert.deepEqual(reportOf(await sync()), [0, 1, 0])
    assert.equal((await objects()).get('p')?.value.price, '1.00')
    const rows = await group.store.database.read.selectFrom('catalogue_prices').select('price_id').execute()
    assert.deepEqual(
      rows.map(({ price_id }) => price_id),
      ['a'],
    )
    assert.equal((await read()).lastSync?.changed, 1)
  })

  it('reports what could not be imported, including whole products', async () => {
    const { provider, sync, objects } = await shop(engine)
    provider.put({ id: 'open' }, { id: 'free_amount', unitAmount: null })
    provider.put({ id: 'good', metadata: { constructor: 'x' } }, {})
    const { problems } = await sync()
    assert.deepEqual([...(await objects()).keys()], ['good'])
    assert.match(problems.join('\n'), /free_amount has no fixed amount/)
    assert.match(problems.join('\n'), /product open has no price that can be used/)
    assert.match(problems.join('\n'), /metadata\.constructor is left out/)
  })

  it('keeps the accounts of a group separate', async () => {
    const main = await shop(engine)
    const second = await main.connect('second')
    main.provider.put({ id: 'same', name: 'Of main' }, {})
    second.provider.put({ id: 'same', name: 'Of second' }, {})
    await main.sync()
    await second.sync()
    const items = await main.products('&sort=name:asc')
    assert.deepEqual(
      items.map(({ accountHandle, objectValue }) => [accountHandle, objectValue.name]),
      [
        ['main', 'Of main'],
        ['second', 'Of second'],
      ],
    )
    second.provider.remove('same')
    await second.sync()
    assert.deepEqual(await main.ids('&accountHandle=second'), [])
    assert.deepEqual(await main.ids('&accountHandle=main'), ['same'])
  })

  it('archives imported products that the provider does not have, and adopts the others', async () => {
    const { group, provider, sync, objects } = await shop(engine)
    const schema = { name: { type: 'text' }, productType: { type: 'enum', values: ['Old'] } }
    const container = await group.integration('stripe', schema)
    const imported = (externalId: string) => ({ externalId, accountHandle: 'main', value: { name: externalId } })
    await group.add(container, imported('known'), imported('unknown'))
    provider.put({ id: 'known', name: 'Theirs', metadata: { productType: 'New' } }, {})
    assert.deepEqual(reportOf(await sync()), [0, 1, 1])
    const after = await objects()
    assert.equal(after.get('unknown')?.archived, true)
    assert.deepEqual([after.get('known')?.archived, after.get('known')?.value.name], [false, 'Theirs'])
    assert.equal(after.get('known')?.value.productType, 'New')
    await assertIndexIsRight(group.store)
  })

  it('removes the products of a disconnected account, and then the account itself', async () => {
    const { provider, sync, objects, group, id, worker, clock, ids, service, read } = await shop(engine)
    fill(provider, 120)
    await sync()
    const integration = await read()
    await write(group.store, clock.now, (writer) =>
      updateIntegration(writer, integration, { status: 'disconnecting' }, 'disconnecting'),
    )
    await scheduleSyncs(service.store, clock.now, dayMs)
    await worker.runDue()
    assert.deepEqual(await ids(), [])
    assert.equal([...(await objects()).values()].filter(({ archived }) => archived).length, 120)
    assert.equal(await findIntegrationById(group.store, id), undefined)
    assert.equal(await findRegisteredIntegration(service.store, id), undefined)
    for (const table of ['catalogue_products', 'catalogue_prices'] as const)
      assert.deepEqual(await group.store.database.read.selectFrom(table).selectAll().execute(), [])
  })

  it('restores the products when the account is connected again', async () => {
    const { provider, sync, clock, group, worker, service, read, connect, objects } = await shop(engine)
    fill(provider, 3)
    await sync()
    const integration = await read()
    await write(group.store, clock.now, (writer) =>
      updateIntegration(writer, integration, { status: 'disconnecting' }, 'disconnecting'),
    )
    await scheduleSyncs(service.store, clock.now, dayMs)
    await worker.runDue()
    const again = await connect('main')
    fill(again.provider, 3)
    assert.deepEqual(reportOf(await again.sync()), [0, 3, 0])
    assert.ok([...(await objects()).values()].every(({ archived }) => !archived))
  })

  it('is scheduled once per interval, and not for a frozen group', async () => {
    const { service, group, clock, sync, id } = await shop(engine)
    const pending = async () => (await findPendingJobs(group.store, 'catalogue.sync')).map(({ payload }) => payload)
    await setFrozen(service.store, group.groupId, true)
    await scheduleSyncs(service.store, clock.now, dayMs)
    assert.deepEqual(await pending(), [])
    await setFrozen(service.store, group.groupId, false)
    await sync()
    await scheduleSyncs(service.store, clock.now + dayMs - 1, dayMs)
    assert.deepEqual(await pending(), [])
    await scheduleSyncs(service.store, clock.now + dayMs, dayMs)
    await scheduleSyncs(service.store, clock.now + dayMs, dayMs)
    assert.deepEqual(await pending(), [{ integrationId: id }])
  })

  it('orders products by their creation at the provider, whatever their page', async () => {
    const { provider, sync, ids } = await shop(engine)
    const wanted = Array.from({ length: 130 }, (_, number) => `prod_${String(number).padStart(3, '0')}`)
    for (const id of wanted.toReversed()) provider.put({ id, createdMs: Date.UTC(2020, 0, 1) + Number(id.slice(5)) * 60_000 }, {}) // biome-ignore format: short
    await sync()
    assert.deepEqual([...(await ids()), ...(await ids('&skip=100'))], wanted)
    assert.deepEqual(await ids('&sort=createdAt:asc&limit=3'), wanted.slice(0, 3))
  })

  it('does not miss a product that is created while it runs, even without an event', async () => {
    const { provider, sync, ids, worker } = await shop(engine)
    provider.put({ id: 'prod_old' }, {})
    provider.onCall = ({ name, moment }) => {
      if (name === 'listProducts' && moment === 'asked') provider.put({ id: 'prod_late' }, {})
    }
    await sync()
    await worker.runDue()
    assert.deepEqual((await ids()).sort(), ['prod_late', 'prod_old'])
  })

  it('fetches unpaid orders again', async () => {
    const { provider, sync, group, clock } = await shop(engine)
    for (const sessionId of ['cs_paid', 'cs_pending']) provider.sessions.push(sessionOf(group.groupId, sessionId))
    for (const [sessionId, status] of [['cs_paid', 'paid'], ['cs_pending', 'pending']] as const) // biome-ignore format: short
      await write(group.store, clock.now, (writer) => recordOrder(writer, newOrder({ sessionId, status })))
    assert.equal((await sync()).ordersFound, 0)
    const asked = (await findPendingJobs(group.store, 'order.record')).map(({ payload }) => payload)
    assert.deepEqual(asked.map((payload) => (payload as { sessionId: string }).sessionId), ['cs_pending']) // biome-ignore format: short
  })

  it('fetches orders without an event, but not what the account has sold elsewhere', async () => {
    const { provider, sync, group } = await shop(engine)
    provider.sessions.push(sessionOf(group.groupId, 'cs_1'), sessionOf(group.groupId, 'cs_2'))
    provider.sessions.push(sessionOf('another', 'cs_3'), { id: 'cs_4', metadata: {} })
    assert.equal((await sync()).ordersFound, 2)
    const jobs = await findPendingJobs(group.store, 'order.record')
    assert.deepEqual(jobs.map(({ payload }) => (payload as { sessionId: string }).sessionId).toSorted(), [
      'cs_1',
      'cs_2',
    ])
  })

  it('continues as a job when the provider is back', async () => {
    const { provider, worker, clock, service, objects } = await shop(engine)
    fill(provider, 150)
    let isUnreachable = true
    provider.onCall = ({ name }) => {
      if (isUnreachable && name === 'listProducts') throw new ProviderFailure('refused', 'The key is not accepted.')
    }
    await scheduleSyncs(service.store, clock.now, dayMs)
    await worker.runDue()
    assert.equal((await objects()).size, 0)
    isUnreachable = false
    clock.now += 60_000
    await worker.runDue()
    assert.equal((await objects()).size, 150)
  })
})
