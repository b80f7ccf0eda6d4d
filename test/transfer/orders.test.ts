import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { connectAccount } from '../../src/payments/connect.ts'
import { seedSandbox } from '../../src/payments/sandbox/catalogue.ts'
import { sampleProducts } from '../../src/payments/sandbox/sample.ts'
import { listOrders, type NewOrder, recordOrder } from '../../src/store/commerce/orders.ts'
import { findIntegration } from '../../src/store/content/containers.ts'
import { iterateObjects } from '../../src/store/content/objects.ts'
import { findGroupById, openContentOf } from '../../src/store/control/groups.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { authoring, write } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { newOrder } from '../helpers/orders.ts'
import { dumpOf, exportOf, importInto, newPath, readExport, writeExport } from './exports.ts'

const contentOf = async ({ service }: Harness, groupId: string): Promise<GroupStore> =>
  openContentOf(service.store, await findGroupById(service.store, groupId))

const record = (harness: Harness, group: GroupStore, order: Partial<NewOrder>) =>
  write(group, harness.clock.now, (writer) => recordOrder(writer, newOrder(order)))

const ordersOf = async (group: GroupStore) => (await listOrders(group, { limit: 100, skip: 0 })).orders

const connectSandbox = ({ service, clock }: Harness, group: GroupStore, accountHandle: string) =>
  connectAccount({ ...service, authoring: authoring(clock.now), confirm: async () => {} }, group, {
    type: 'stripe',
    accountHandle,
    secretKey: undefined,
    fill: (id) => seedSandbox(group, id, sampleProducts(accountHandle), clock.now),
  })

/** A group with three orders, and its export. */
async function sold(engine: TestEngine) {
  const source = await harness(engine)
  const { group, store } = await source.newGroup({ name: 'Shop' })
  await record(source, store, { sessionId: 'cs_1' })
  await record(source, store, { sessionId: 'cs_2', status: 'pending', shipping: null, email: null })
  await record(source, store, { sessionId: 'cs_3', accountHandle: 'other' })
  return { source, store, id: group.id, folder: await exportOf(source, group.id) }
}

/** The same export with lines changed, and a new checksum. */
function edited(folder: string, edit: (lines: object[]) => object[]): string {
  const copy = newPath()
  cpSync(folder, copy, { recursive: true })
  const lines = edit(readExport(copy))
  const text = lines.slice(0, -1).map((line) => `${JSON.stringify(line)}\n`).join('')
  const sha256 = createHash('sha256').update(text).digest('hex')
  writeExport(copy, [...lines.slice(0, -1), { ...lines.at(-1), lines: lines.length, sha256 }])
  return copy
} // biome-ignore format: short

onBothEngines('orders', (engine) => {
  it('are part of an export, and are the same after its import', async () => {
    const { store, id, folder } = await sold(engine)
    const target = await harness(engine)
    const { tally } = await importInto(target, folder)
    assert.deepEqual(tally.orders, { added: 3, changed: 0, equal: 0 })
    assert.deepEqual(await ordersOf(await contentOf(target, id)), await ordersOf(store))
    assert.deepEqual(readExport(await exportOf(target, id)).slice(1), readExport(folder).slice(1))
  })

  it('exist once per session, however often they are imported', async () => {
    const { source, folder } = await sold(engine)
    const target = await harness(engine)
    await importInto(target, folder)
    for (const each of [source, target]) {
      const dump = await dumpOf(each.service.store)
      const { tally, onlyHere } = await importInto(each, folder)
      assert.deepEqual([tally.orders, onlyHere.orders], [{ added: 0, changed: 0, equal: 3 }, 0])
      assert.equal(await dumpOf(each.service.store), dump)
    }
  })

  it('never lose their paid status, neither here nor in the export', async () => {
    const { source, store, id, folder } = await sold(engine)
    const target = await harness(engine)
    await importInto(target, folder)
    const here = await contentOf(target, id)
    await record(source, store, { sessionId: 'cs_2', status: 'paid' })
    const { tally } = await importInto(target, await exportOf(source, id))
    assert.deepEqual(tally.orders, { added: 0, changed: 1, equal: 2 })
    assert.deepEqual(new Set((await ordersOf(here)).map(({ status }) => status)), new Set(['paid']))
    assert.deepEqual((await importInto(target, folder)).tally.orders, { added: 0, changed: 0, equal: 3 })
    assert.equal((await ordersOf(here)).length, 3)
  })

  it('that were recorded here under another id are recognised, and additional ones remain', async () => {
    const { id, folder } = await sold(engine)
    const target = await harness(engine)
    await importInto(target, edited(folder, (lines) => lines
      .filter((line) => !('type' in line && line.type === 'order'))
      .map((line) => ('sha256' in line && 'orders' in line ? { ...line, orders: 0 } : line)))) // biome-ignore format: short
    const here = await contentOf(target, id)
    await record(target, here, { sessionId: 'cs_1' })
    await record(target, here, { sessionId: 'cs_9' })
    const { tally, onlyHere } = await importInto(target, folder)
    assert.deepEqual([tally.orders, onlyHere.orders], [{ added: 2, changed: 0, equal: 1 }, 1])
    assert.equal((await ordersOf(here)).length, 4)
  })

  it('are missing in an export of version 0.3, which can still be imported', async () => {
    const { id, folder } = await sold(engine)
    const old = edited(folder, ([head, ...lines]) => [
      { ...head, format: 2 },
      ...lines
        .filter((line) => !('type' in line && line.type === 'order'))
        .map(({ orders: _, ...line }: { orders?: number }) => line),
    ])
    const target = await harness(engine)
    assert.deepEqual((await importInto(target, old)).tally.orders, { added: 0, changed: 0, equal: 0 })
    assert.deepEqual(await ordersOf(await contentOf(target, id)), [])
  })

  it('are refused before the first write if they are invalid', async () => {
    const { folder } = await sold(engine)
    const change = (changes: object) => (lines: object[]) => {
      const position = lines.findIndex((line) => 'type' in line && line.type === 'order')
      return lines.with(position, { ...lines[position], ...changes })
    }
    const target = await harness(engine)
    const dump = await dumpOf(target.service.store)
    for (const [changes, message] of [
      [{ status: 'lost' }, /status must be one of pending, paid, failed/],
      [{ total: '1,50' }, /total must be an amount such as 12\.50/],
      [{ lines: [{ description: 'x' }] }, /lines\[0\]\.quantity is missing/],
      [{ sessionId: 'cs_2' }, /the session cs_2 appears more than once/],
      [{ secretKey: 'sk_live_1' }, /secretKey is unknown/],
    ] as const)
      await assert.rejects(importInto(target, edited(folder, change(changes))), message)
    assert.equal(await dumpOf(target.service.store), dump)
  })
})

onBothEngines('an export of a group with a payment account', (engine) => {
  it('has its products but not the account; they are adopted when one with the same handle is connected', async () => {
    const source = await harness(engine)
    const { group, store } = await source.newGroup({ name: 'Shop' })
    const { id: integrationId } = await connectSandbox(source, store, 'main')
    await source.service.worker.runDue()
    const folder = await exportOf(source, group.id)
    const text = readFileSync(join(folder, 'group.ndjson'), 'utf8')
    assert.deepEqual(text.match(new RegExp(`${integrationId}|sk_test|whsec|acct_|sealed`, 'g')), null)
    assert.equal(readExport(folder).filter(({ type }) => type === 'object').length, 4)

    const target = await harness(engine)
    await importInto(target, folder)
    const here = await contentOf(target, group.id)
    const products = async () => {
      const shop = await findIntegration(here, 'stripe')
      return (await Array.fromAsync(iterateObjects(here, shop?.id ?? ''))).map(({ id, archived }) => `${id} ${archived}`)
    }
    const imported = await products()
    await connectSandbox(target, here, 'other')
    await target.service.worker.runDue()
    assert.deepEqual((await products()).filter((each) => imported.includes(each)), imported)
    await connectSandbox(target, here, 'main')
    await target.service.worker.runDue()
    assert.deepEqual((await products()).filter((each) => imported.includes(each)), imported)
    assert.equal((await products()).length, 8, 'four of each account, none twice')
  }) // biome-ignore format: short
})
