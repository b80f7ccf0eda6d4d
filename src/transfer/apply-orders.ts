import type { ContentWriter } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { findOrdersBySessions } from '../store/import-lookups.ts'
import { insertImportedOrders } from '../store/import-rows.ts'
import { type Order, recordOrder } from '../store/orders.ts'
import type { OrdersStep } from './import-steps.ts'

type Orders = OrdersStep['orders']

const sessionOf = ({ type, sessionId }: Order): string => JSON.stringify([type, sessionId])

/** Each order with the one that is here of the same session. */
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

/** Brings in the orders that are missing, and changes none. */
export async function addOrders(writer: ContentWriter, orders: Orders): Promise<void> {
  await insertMissing(writer, await compareOrders(writer.group, orders))
}

/** What was bought does not change any more. Whether it was paid is taken over, where the export knows more. */
export async function mergeOrders(writer: ContentWriter, orders: Orders): Promise<void> {
  const compared = await compareOrders(writer.group, orders)
  await insertMissing(writer, compared)
  for (const { wanted, here } of compared) if (here) await recordOrder(writer, wanted)
}
