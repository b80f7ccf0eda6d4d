import type { Selectable } from 'kysely'
import { isEmailAddress } from '../../content/email.ts'
import { nextStatus, type OrderStatus, type Purchase } from '../../content/orders.ts'
import { makeId } from '../../core/ids.ts'
import type { ContentWriter } from '../content/changes.ts'
import { inBatches } from '../engine/database.ts'
import type { OrderRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

/** The account of a checkout session. Orders stay when it is disconnected. */
export interface OrderAccount {
  type: string
  accountHandle: string
}

/** A purchase with its checkout session. */
export interface Order extends OrderAccount, Purchase {
  id: string
  sessionId: string
  status: OrderStatus
  /** Whether real money moved. */
  live: boolean
  /** The site of the purchase, if known. */
  siteId: string | null
  /** When the provider created the session. */
  createdMs: number
  updatedMs: number
}

export type NewOrder = Omit<Order, 'id' | 'updatedMs'>

export function toOrder(row: Selectable<OrderRow>): Order {
  return {
    id: row.id,
    type: row.type,
    accountHandle: row.account_handle,
    sessionId: row.session_id,
    status: row.status as OrderStatus, // only our own values are stored
    ...(JSON.parse(row.data) as Purchase & Pick<Order, 'siteId' | 'live'>),
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
  }
}

export function orderRow(groupId: string, order: Order): Selectable<OrderRow> {
  const { mode, currency, subtotal, total, email, name, phone, shipping, lines, paymentId, siteId, live } = order
  const data = { mode, currency, subtotal, total, email, name, phone, shipping, lines, paymentId, siteId, live }
  return {
    id: order.id,
    group_id: groupId,
    type: order.type,
    account_handle: order.accountHandle,
    session_id: order.sessionId,
    status: order.status,
    data: JSON.stringify(data),
    // Excludes text that the database cannot store, too.
    email_key: email && isEmailAddress(email) ? email.toLowerCase() : null,
    created_ms: order.createdMs,
    updated_ms: order.updatedMs,
  }
}

/** Whether an order of the group has this e-mail address, ignoring case. */
export async function isCustomer({ db, group }: ContentWriter, address: string): Promise<boolean> {
  const row = await db
    .selectFrom('orders')
    .select('id')
    .where('group_id', '=', group.groupId)
    .where('email_key', '=', address.toLowerCase())
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Records an order once per session, regardless of the handle: an account may have been reconnected under another one. Of
 * a recorded order only the status changes, and only forward.
 */
export async function recordOrder(writer: ContentWriter, order: NewOrder): Promise<void> {
  const { db, group, nowMs } = writer
  const { type, sessionId, status } = order
  const known = await db
    .selectFrom('orders')
    .select(['id', 'status'])
    .where((eb) => eb.and({ group_id: group.groupId, type, session_id: sessionId }))
    .executeTakeFirst()
  if (!known) {
    const id = makeId()
    await db
      .insertInto('orders')
      .values(orderRow(group.groupId, { ...order, id, updatedMs: nowMs }))
      .execute()
    return writer.record({ type: 'order.created', subjectId: id, note: status })
  }
  const next = nextStatus(known.status as OrderStatus, status)
  if (next === known.status) return
  await db.updateTable('orders').set({ status: next, updated_ms: nowMs }).where('id', '=', known.id).execute()
  writer.record({ type: 'order.updated', subjectId: known.id, note: next })
}

export interface OrderQuery {
  sessionId?: string | undefined
  status?: OrderStatus | undefined
  limit: number
  skip: number
}

/** Newest first. */
export async function listOrders(
  { groupId, database }: GroupStore,
  { sessionId, status, limit, skip }: OrderQuery,
): Promise<{ orders: Order[]; totalCount: number }> {
  const matching = database.read.selectFrom('orders').where((eb) =>
    eb.and({
      group_id: groupId,
      ...(status !== undefined && { status }),
      ...(sessionId !== undefined && { session_id: sessionId }),
    }),
  )
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await matching
    .selectAll()
    .orderBy('created_ms', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(skip)
    .execute()
  return { orders: rows.map(toOrder), totalCount: Number(total) }
}

export async function findOrder({ groupId, database }: GroupStore, id: string): Promise<Order | undefined> {
  const row = await database.read
    .selectFrom('orders')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toOrder(row)
}

/** The statuses of those sessions that have an order. */
export async function findKnownSessions(
  { groupId, database }: GroupStore,
  type: string,
  sessionIds: readonly string[],
): Promise<Map<string, OrderStatus>> {
  const known = new Map<string, OrderStatus>()
  for (const batch of inBatches(sessionIds)) {
    const rows = await database.read
      .selectFrom('orders')
      .select(['session_id', 'status'])
      .where((eb) => eb.and({ group_id: groupId, type }))
      .where('session_id', 'in', batch)
      .execute()
    for (const row of rows) known.set(row.session_id, row.status as OrderStatus)
  }
  return known
}
