import { nextStatus } from '../../content/orders.ts'
import { findOrder, type Order, recordOrder } from '../../store/commerce/orders.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import type { GroupStore } from '../../store/store.ts'
import { findOrdersBySessions, insertImportedOrders } from '../../store/transfer/import.ts'
import type { ProblemList } from './problem-list.ts'
import type { OrdersStep } from './step.ts'
import type { TallyCounts } from './tally.ts'

/** Plans the import into the orders of an existing group, and collects what prevents it. */
export async function planOrders(
  group: GroupStore,
  { orders }: OrdersStep,
  counts: TallyCounts,
  problems: ProblemList,
): Promise<void> {
  for (const { wanted, here } of await compareOrders(group, orders)) {
    if (here) {
      counts[nextStatus(here.status, wanted.status) === here.status ? 'equal' : 'changed'] += 1
      continue
    }
    counts.added += 1
    if (await findOrder(group, wanted.id))
      problems.add(wanted.location, `the id ${wanted.id} is that of another order here`)
  }
}

type Orders = OrdersStep['orders']

const sessionOf = ({ type, sessionId }: Order): string => JSON.stringify([type, sessionId])

/** Pairs each order with the existing one of its session. */
export async function compareOrders(group: GroupStore, orders: Orders) {
  const sessionIds = orders.map(({ sessionId }) => sessionId)
  const found = new Map((await findOrdersBySessions(group, sessionIds)).map((order) => [sessionOf(order), order]))
  return orders.map((wanted) => ({ wanted, here: found.get(sessionOf(wanted)) }))
}

type Compared = Awaited<ReturnType<typeof compareOrders>>

const insertMissing = (writer: ContentWriter, compared: Compared): Promise<void> =>
  insertImportedOrders(
    writer,
    compared.flatMap(({ wanted, here }) => (here ? [] : wanted)),
  )

/** Adds missing orders, and changes none. */
export async function addOrders(writer: ContentWriter, orders: Orders): Promise<void> {
  await insertMissing(writer, await compareOrders(writer.group, orders))
}

/** A purchase never changes, but its payment status may advance. */
export async function mergeOrders(writer: ContentWriter, orders: Orders): Promise<void> {
  const compared = await compareOrders(writer.group, orders)
  await insertMissing(writer, compared)
  for (const { wanted, here } of compared) if (here) await recordOrder(writer, wanted)
}
