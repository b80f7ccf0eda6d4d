import { type Selectable, sql } from 'kysely'
import { dayMs } from '../../core/clock.ts'
import type { ContentWriter } from '../content/changes.ts'
import { deleteSecrets } from '../content/secrets.ts'
import { findGroupById, type Group, openContentOf } from '../control/groups.ts'
import { type Database, deleteInBatches } from '../engine/database.ts'
import type { ContentTables, IntegrationRow } from '../schema/tables.ts'
import type { GroupStore, Store } from '../store.ts'

/** The results of a walk through the provider's catalogue. */
export interface WalkFindings {
  prices: number
  products: number
  added: number
  changed: number
  archived: number
  /** Completed checkouts of ours for which no webhook had arrived. */
  ordersFound: number
  /** Why items could not be mirrored: the first few. */
  problems: string[]
}

export function findingsOf(walked: WalkFindings): WalkFindings {
  const { prices, products, added, changed, archived, ordersFound, problems } = walked
  return { prices, products, added, changed, archived, ordersFound, problems }
}

/** The progress of a walk: enough to resume it, and its results so far. */
export interface CatalogueWalk extends WalkFindings {
  number: number
  startedMs: number
  phase: 'prices' | 'products' | 'missing' | 'strays' | 'orders'
  /** Where the phase continues; undefined at its beginning. */
  cursor?: string | undefined
  /** Whether the phase was restarted because the provider no longer accepted its cursor. */
  isSecondTry: boolean
}

/** The results of the latest walk. */
export interface SyncReport extends WalkFindings {
  startedMs: number
  finishedMs: number
}

/** An account at a payment provider, the source of a group's products. */
export interface Integration {
  id: string
  type: string
  accountHandle: string
  /** Whether the provider is our own sandbox. */
  sandbox: boolean
  /** While it is being disconnected, its products are archived. */
  status: 'active' | 'disconnecting'
  /** The provider's id of the account. */
  accountId: string
  accountName: string
  /** Whether real money moves. */
  live: boolean
  webhookId: string | null
  /** Why the provider last refused to register our webhook; null if it did not. */
  webhookProblem: string | null
  catalogueSeq: number
  /** The latest write to the catalogue that may have removed something. */
  removedSeq: number
  walk: CatalogueWalk | undefined
  lastSync: SyncReport | undefined
  syncedMs: number | null
  lastEventMs: number | null
  version: number
  createdMs: number
  updatedMs: number
}

const parsed = <Value>(text: string | null): Value | undefined => (text === null ? undefined : JSON.parse(text))

function toIntegration(row: Selectable<IntegrationRow>): Integration {
  return {
    id: row.id,
    type: row.type,
    accountHandle: row.account_handle,
    sandbox: row.sandbox !== 0,
    status: row.status as Integration['status'], // only our own values are stored
    accountId: row.account_id,
    accountName: row.account_name,
    live: row.live !== 0,
    webhookId: row.webhook_id,
    webhookProblem: row.webhook_problem,
    catalogueSeq: row.catalogue_seq,
    removedSeq: row.removed_seq,
    walk: parsed(row.walk),
    lastSync: parsed(row.last_sync),
    syncedMs: row.synced_ms,
    lastEventMs: row.last_event_ms,
    version: row.version,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
  }
}

/** In the order of connection. */
export async function listIntegrations({ groupId, database }: GroupStore, type?: string): Promise<Integration[]> {
  const rows = await database.read
    .selectFrom('integrations')
    .selectAll()
    .where((eb) => eb.and({ group_id: groupId, ...(type !== undefined && { type }) }))
    .orderBy('id')
    .execute()
  return rows.map(toIntegration)
}

export async function findIntegrationById(
  { groupId, database }: GroupStore,
  id: string,
): Promise<Integration | undefined> {
  const row = await database.read
    .selectFrom('integrations')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toIntegration(row)
}

export type NewIntegration = Pick<
  Integration,
  'id' | 'type' | 'accountHandle' | 'sandbox' | 'accountId' | 'accountName' | 'live'
>

/** Requires `registerIntegration`. */
export async function insertIntegration(writer: ContentWriter, input: NewIntegration): Promise<Integration> {
  const { db, group, nowMs } = writer
  const { type, accountHandle } = input
  await db
    .insertInto('integrations')
    .values({
      id: input.id,
      group_id: group.groupId,
      type,
      account_handle: accountHandle,
      sandbox: input.sandbox ? 1 : 0,
      status: 'active',
      account_id: input.accountId,
      account_name: input.accountName,
      live: input.live ? 1 : 0,
      created_ms: nowMs,
      updated_ms: nowMs,
    })
    .execute()
  writer.record({ type: 'account.connected', subjectId: input.id, version: 1, note: `${type} ${accountHandle}` })
  const row = await db.selectFrom('integrations').selectAll().where('id', '=', input.id).executeTakeFirstOrThrow()
  return toIntegration(row)
}

export type IntegrationChange = Partial<
  Pick<Integration, 'status' | 'accountId' | 'accountName' | 'live' | 'webhookId' | 'webhookProblem'>
>

const columnsOf = ({ status, accountId, accountName, live, webhookId, webhookProblem }: Integration) => ({
  status,
  account_id: accountId,
  account_name: accountName,
  live: live ? 1 : 0,
  webhook_id: webhookId,
  webhook_problem: webhookProblem,
})

/** Changes by people, described by `note`. Secrets are written separately. */
export async function updateIntegration(
  writer: ContentWriter,
  before: Integration,
  wanted: IntegrationChange,
  note: string,
): Promise<Integration> {
  const after = { ...before, ...wanted, version: before.version + 1, updatedMs: writer.nowMs }
  await writer.db
    .updateTable('integrations')
    .set({ ...columnsOf(after), version: after.version, updated_ms: after.updatedMs })
    .where('group_id', '=', writer.group.groupId)
    .where('id', '=', before.id)
    .execute()
  writer.record({ type: 'account.updated', subjectId: before.id, version: after.version, note })
  return after
}

/** The mirror's own state, which is no recorded change. */
export async function updateSyncState(
  { db, group }: ContentWriter,
  id: string,
  state: Partial<Pick<Integration, 'catalogueSeq' | 'removedSeq' | 'lastSync' | 'syncedMs' | 'lastEventMs'>> & {
    walk?: CatalogueWalk | null
  },
): Promise<void> {
  const { walk, lastSync, catalogueSeq, removedSeq, syncedMs, lastEventMs } = state
  await db
    .updateTable('integrations')
    .set({
      ...(walk !== undefined && { walk: walk && JSON.stringify(walk) }),
      ...(lastSync !== undefined && { last_sync: JSON.stringify(lastSync) }),
      ...(catalogueSeq !== undefined && { catalogue_seq: catalogueSeq }),
      ...(removedSeq !== undefined && { removed_seq: removedSeq }),
      ...(syncedMs !== undefined && { synced_ms: syncedMs }),
      ...(lastEventMs !== undefined && { last_event_ms: lastEventMs }),
    })
    .where('group_id', '=', group.groupId)
    .where('id', '=', id)
    .execute()
}

/** With its secrets, catalogue and events; its products and orders stay. */
export async function deleteIntegration(writer: ContentWriter, { id, type, accountHandle }: Integration) {
  const { db, group } = writer
  await deleteSecrets(writer, id)
  for (const table of ['provider_events', 'sandbox_objects', 'catalogue_prices', 'catalogue_products'] as const)
    await db.deleteFrom(table).where('group_id', '=', group.groupId).where('integration_id', '=', id).execute()
  await db.deleteFrom('integrations').where('group_id', '=', group.groupId).where('id', '=', id).execute()
  writer.record({ type: 'account.disconnected', subjectId: id, note: `${type} ${accountHandle}` })
}

/**
 * Called before the integration is inserted: a registration without an integration is harmless, but webhooks cannot find
 * an integration without a registration.
 */
export async function registerIntegration(store: Store, integrationId: string, groupId: string): Promise<void> {
  await store.control.write((db) =>
    db.insertInto('integration_places').values({ integration_id: integrationId, group_id: groupId }).execute(),
  )
}

export async function unregisterIntegration(store: Store, integrationId: string): Promise<void> {
  await store.control.write((db) =>
    db.deleteFrom('integration_places').where('integration_id', '=', integrationId).execute(),
  )
}

/** The group of a registered integration, which may not exist yet. */
export async function findIntegrationGroup(
  store: Store,
  id: string,
): Promise<{ owner: Group; group: GroupStore } | undefined> {
  const registered = await store.control.read
    .selectFrom('integration_places')
    .innerJoin('groups', 'groups.id', 'integration_places.group_id')
    .select('integration_places.group_id')
    .where('integration_id', '=', id)
    .executeTakeFirst()
  if (!registered) return undefined
  const owner = await findGroupById(store, registered.group_id)
  return { owner, group: await openContentOf(store, owner) }
}

/** The integration that a webhook names, in any database. */
export async function findRegisteredIntegration(
  store: Store,
  id: string,
): Promise<{ owner: Group; group: GroupStore; integration: Integration } | undefined> {
  const found = await findIntegrationGroup(store, id)
  const integration = found && (await findIntegrationById(found.group, id))
  return integration && { ...found, integration }
}

/** Longer than any provider repeats an event. */
const eventsKeptMs = 30 * dayMs

/** Returns whether the event is new. */
export async function insertProviderEvent(
  { db, group, nowMs }: ContentWriter,
  integrationId: string,
  event: { id: string; type: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('provider_events')
    .values({
      integration_id: integrationId,
      event_id: event.id,
      group_id: group.groupId,
      received_ms: nowMs,
    })
    .onConflict((conflict) => conflict.columns(['integration_id', 'event_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Deletes events that no provider repeats any more. */
export const pruneProviderEvents = (database: Database<ContentTables>, nowMs: number): Promise<void> =>
  deleteInBatches(database, 'provider_events', sql`received_ms < ${nowMs - eventsKeptMs}`)
