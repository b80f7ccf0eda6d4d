import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  findKnownSessions,
  findOrder,
  listOrders,
  type NewOrder,
  recordOrder,
} from '../../../src/store/commerce/orders.ts'
import { write } from '../../helpers/authoring.ts'
import { harness, onBothEngines, type TestEngine, testStartMs } from '../../helpers/harness.ts'

const newOrder = (sessionId: string, more: Partial<NewOrder> = {}): NewOrder => ({
  type: 'stripe',
  accountHandle: 'main',
  sessionId,
  status: 'paid',
  live: false,
  siteId: null,
  mode: 'payment',
  currency: 'eur',
  subtotal: '9.00',
  total: '9.00',
  email: null,
  name: null,
  phone: null,
  shipping: null,
  lines: [],
  paymentId: null,
  createdMs: testStartMs,
  ...more,
})

async function open(engine: TestEngine) {
  const { newGroup } = await harness(engine)
  const { store } = await newGroup()
  const other = await newGroup()
  const record = (...orders: NewOrder[]) =>
    write(store, testStartMs, async (writer) => {
      for (const order of orders) await recordOrder(writer, order)
    })
  const sessions = async (query: Partial<Parameters<typeof listOrders>[1]> = {}) => {
    const { orders, totalCount } = await listOrders(store, { limit: 100, skip: 0, ...query })
    return [orders.map(({ sessionId }) => sessionId), totalCount]
  }
  return { store, other: other.store, record, sessions }
}

onBothEngines('the orders of a group', (engine) => {
  it('are listed newest first by the time of the purchase, in pages that do not overlap', async () => {
    const { record, sessions } = await open(engine)
    await record(
      newOrder('b', { createdMs: testStartMs + 2 }),
      newOrder('a', { createdMs: testStartMs + 1 }),
      newOrder('d', { createdMs: testStartMs + 3 }),
      newOrder('c', { createdMs: testStartMs + 2 }),
    )
    assert.deepEqual(await sessions(), [['d', 'c', 'b', 'a'], 4])
    assert.deepEqual(await sessions({ limit: 2 }), [['d', 'c'], 4])
    assert.deepEqual(await sessions({ limit: 2, skip: 2 }), [['b', 'a'], 4])
    assert.deepEqual(await sessions({ skip: 9 }), [[], 4])
  })

  it('can be listed by status', async () => {
    const { record, sessions } = await open(engine)
    await record(newOrder('a', { status: 'pending' }), newOrder('b'), newOrder('c', { status: 'failed' }))
    assert.deepEqual(await sessions({ status: 'pending' }), [['a'], 1])
    assert.deepEqual(await sessions({ status: 'paid' }), [['b'], 1])
  })

  it('exist once per session, whichever account reports it', async () => {
    const { record, sessions } = await open(engine)
    await record(newOrder('a'), newOrder('a'), newOrder('a', { accountHandle: 'again' }))
    assert.deepEqual((await sessions())[1], 1)
  })

  it('are found by any number of sessions, with their status', async () => {
    const { store, record } = await open(engine)
    await record(newOrder('a'), newOrder('b', { type: 'another' }), newOrder('c', { status: 'pending' }))
    const asked = [...Array.from({ length: 250 }, (_, at) => `x${at}`), 'a', 'b', 'c']
    const known = await findKnownSessions(store, 'stripe', asked)
    assert.deepEqual(Object.fromEntries(known), { a: 'paid', c: 'pending' })
    assert.deepEqual(await findKnownSessions(store, 'stripe', []), new Map())
  })

  it('are visible to their own group only', async () => {
    const { store, other, record } = await open(engine)
    await record(newOrder('a'))
    const { orders } = await listOrders(store, { limit: 1, skip: 0 })
    const id = orders[0]?.id ?? ''
    assert.deepEqual(await findOrder(store, id), orders[0])
    assert.equal(await findOrder(other, id), undefined)
    assert.deepEqual(await listOrders(other, { limit: 1, skip: 0 }), { orders: [], totalCount: 0 })
    const known = await findKnownSessions(other, 'stripe', ['a'])
    assert.deepEqual(known, new Map())
  })
})
