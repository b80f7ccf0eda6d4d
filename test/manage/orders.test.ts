import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OrderStatus } from '../../src/content/orders.ts'
import { recordOrder } from '../../src/store/commerce/orders.ts'
import { write } from '../helpers/authoring.ts'
import { onBothEngines, testStartMs } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'
import { newOrder } from '../helpers/orders.ts'

onBothEngines('orders in the management API', (engine) => {
  async function withOrders() {
    const created = await managing(engine)
    const group = await created.newManagedGroup()
    const statuses: OrderStatus[] = ['paid', 'pending', 'paid', 'failed']
    for (const [position, status] of statuses.entries())
      await write(group.store, created.clock.now, (writer) =>
        recordOrder(writer, newOrder({ sessionId: `cs_${position}`, status, createdMs: testStartMs + position })),
      )
    return { ...created, group, path: `/manage/groups/${group.groupId}/orders` }
  }

  it('are listed newest first, by pages, by status and by session, each with the total', async () => {
    const { ask, path } = await withOrders()
    const sessions = async (query: string) => {
      const { items, totalCount } = await ask('GET', path + query)
      return [items.map(({ sessionId }: { sessionId: string }) => sessionId).join(' '), totalCount]
    }
    assert.deepEqual(await sessions(''), ['cs_3 cs_2 cs_1 cs_0', 4])
    assert.deepEqual(await sessions('?limit=2&skip=1'), ['cs_2 cs_1', 4])
    assert.deepEqual(await sessions('?status=paid'), ['cs_2 cs_0', 2])
    assert.deepEqual(await sessions('?skip=9'), ['', 4])
    assert.deepEqual(await sessions('?sessionId=cs_1'), ['cs_1', 1])
    assert.deepEqual(await sessions('?sessionId=cs_9'), ['', 0])
  })

  it('refuse an invalid status, limit or skip', async () => {
    const { call, path } = await withOrders()
    for (const query of ['?status=lost', '?limit=0', '?limit=101', '?skip=-1'])
      assert.equal((await call('GET', path + query)).statusCode, 400, query)
  })

  it('show lines, amounts and shipping, to members of the group only', async () => {
    const { ask, call, path, newManagedGroup } = await withOrders()
    const [first] = (await ask('GET', path)).items
    const order = await ask('GET', `${path}/${first._id}`)
    assert.deepEqual(order, first)
    assert.deepEqual(
      [order.total, order.currency, order.email, order.shipping.address.city, order.lines[0].quantity],
      ['18.00', 'cad', 'ada@people.example', 'Toronto', 2],
    )
    const stranger = await newManagedGroup()
    const foreign = await call('GET', `/manage/groups/${stranger.groupId}/orders/${first._id}`)
    assert.equal(foreign.statusCode, 404)
    assert.equal((await call('GET', path, undefined, stranger.tokens.owner)).statusCode, 404)
    assert.equal((await ask('GET', `/manage/groups/${stranger.groupId}/orders`)).totalCount, 0)
  })
})
