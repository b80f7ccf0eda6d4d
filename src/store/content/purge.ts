import { sql, type Transaction } from 'kysely'
import { deleteInBatches } from '../engine/database.ts'
import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { type ContentWriter, lockGroup } from './changes.ts'
import { countIndexRows, deleteWholeIndex, sumOfRows } from './object-index.ts'

/** Limits of one transaction, for which all other writers wait. */
const objectsPerPurge = 100
const indexRowsPerPurge = 5000
/** Few, because a version may have a megabyte. */
const versionsPerDelete = 100

type PurgedTable = Exclude<keyof ContentTables, 'object_fields' | 'totals' | 'range_totals' | 'migrations'>

/** Deletes all rows of a group in a table. */
export const purgeTable = ({ database, groupId }: GroupStore, table: PurgedTable): Promise<void> =>
  deleteInBatches(database, table, sql`group_id = ${groupId}`, { rowsPerDelete: 1000, groupId })

async function deleteObjects(
  db: Transaction<ContentTables>,
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<void> {
  const group = { groupId, database: { ...database, read: db } }
  await deleteWholeIndex({ db, group }, await countIndexRows(group, ids))
  await db.deleteFrom('objects').where('id', 'in', ids).execute()
}

/** The first objects, as many as fit one transaction. */
async function firstOf(group: GroupStore, ids: readonly string[]): Promise<string[]> {
  const counts = Map.groupBy(await countIndexRows(group, ids), ({ objectId }) => objectId)
  let rows = 0
  return ids.filter((id, position) => {
    rows += sumOfRows(counts.get(id) ?? [])
    return position === 0 || rows <= indexRowsPerPurge
  })
}

/**
 * Deletes hidden objects with their index and versions, in short transactions, so that other writers run in between.
 * An interrupted purge starts over.
 */
export async function purgeObjects(
  group: GroupStore,
  which: { group_id: string; container_id?: string },
  onProgress: (deleted: number) => void = () => {},
): Promise<void> {
  const { database, groupId } = group
  for (let deleted = 0; ; ) {
    const rows = await database.read
      .selectFrom('objects')
      .select('id')
      .where((eb) => eb.and(which))
      .limit(objectsPerPurge)
      .execute()
    if (rows.length === 0) return
    const found = rows.map(({ id }) => id)
    const ids = await firstOf(group, found)
    const isAmongThese = sql`object_id in (${sql.join(ids)})`
    await deleteInBatches(database, 'object_versions', isAmongThese, { rowsPerDelete: versionsPerDelete, groupId })
    await database.write((db) => deleteObjects(db, group, ids), groupId)
    deleted += ids.length
    onProgress(deleted)
  }
}

/** Deletes the objects of a container in the transaction of the writer, if they are few. */
export async function deleteIfFew({ db, group }: ContentWriter, containerId: string): Promise<boolean> {
  const rows = await db
    .selectFrom('objects')
    .select('id')
    .where('group_id', '=', group.groupId)
    .where('container_id', '=', containerId)
    .limit(objectsPerPurge + 1)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return true
  if (ids.length > objectsPerPurge || (await firstOf(group, ids)).length < ids.length) return false
  const versions = await db
    .selectFrom('object_versions')
    .select('version')
    .where('object_id', 'in', ids)
    .limit(versionsPerDelete + 1)
    .execute()
  if (versions.length > versionsPerDelete) return false
  await deleteObjects(db, group, ids)
  return true
}

/** A deleted container is a tombstone under this group id, which no group has, until its objects are purged. */
const hiddenGroupOf = (groupId: string): string => `deleted ${groupId}`

/** Makes a container a tombstone: neither it nor its objects can be found any more. */
export async function hideContainer(db: Transaction<ContentTables>, groupId: string, containerId: string) {
  await db
    .updateTable('containers')
    .set({ group_id: hiddenGroupOf(groupId), name: containerId })
    .where('group_id', '=', groupId)
    .where('id', '=', containerId)
    .execute()
}

/** Purges a tombstone and everything in it. */
export async function purgeContainer(group: GroupStore, containerId: string): Promise<void> {
  const { database, groupId } = group
  const isHidden = { group_id: hiddenGroupOf(groupId), id: containerId }
  const found = await database.read
    .selectFrom('containers')
    .select('id')
    .where((eb) => eb.and(isHidden))
    .executeTakeFirst()
  if (!found) return
  await purgeObjects(group, { group_id: groupId, container_id: containerId })
  await database.write((db) => deleteHidden(db, isHidden), groupId)
}

/** Deletes containers, and the group's usage counter when it is 0. */
async function deleteHidden(db: Transaction<ContentTables>, which: { group_id: string; id?: string }): Promise<void> {
  await db
    .deleteFrom('containers')
    .where((eb) => eb.and(which))
    .execute()
  await db.deleteFrom('group_usage').where('group_id', '=', which.group_id).where('database_bytes', '=', 0).execute()
}

/** Called when the objects of the group are gone. */
export async function purgeHiddenContainers({ database, groupId }: GroupStore): Promise<void> {
  await database.write((db) => deleteHidden(db, { group_id: hiddenGroupOf(groupId) }))
}

/** The group to which a hidden container belonged. */
export const ownerOfHiddenGroup = (groupId: string): string => groupId.replace(hiddenGroupOf(''), '')

/** For an import of a deleted group. The revisions continue, so that no revision stands for two states. */
export async function reopenGroupContent({ groupId, database }: GroupStore, nowMs: number): Promise<void> {
  await database.write((db) =>
    db
      .updateTable('group_revisions')
      .set((eb) => ({
        revision: eb('revision', '+', 1),
        media_revision: eb('media_revision', '+', 1),
        last_seq: 0,
        changes_bytes: 0,
        swept_ms: nowMs,
        closed: 0,
      }))
      .where('group_id', '=', groupId)
      .where('closed', '=', 1)
      .execute(),
  )
}

/** All but `group_revisions`, whose `closed` mark refuses later writers. */
const contentTables = [
  'working_copies', 'objects', 'preview_tokens', 'site_previews', 'sites', 'changes', 'containers', 'media', 'media_files', 'jobs',
  'secrets', 'integrations', 'catalogue_products', 'catalogue_prices', 'catalogue_objects', 'catalogue_pictures',
  'provider_events', 'orders', 'idempotency_keys', 'sandbox_objects',
  'messages', 'suppressions', 'mail_servers', 'tallies', 'awaited_notices',
] as const // biome-ignore format: a few lines read better

/** Deletes all content of a group, in short transactions. */
export async function deleteGroupContent(group: GroupStore, nowMs: number, onProgress: (deleted: number) => void) {
  const { groupId, database } = group
  await database.write(async (db) => {
    await lockGroup(db, group, nowMs) // waits for running writers; later ones find it closed
    await db.updateTable('group_revisions').set({ closed: 1 }).where('group_id', '=', groupId).execute()
  })
  await purgeObjects(group, { group_id: groupId }, onProgress)
  for (const table of contentTables) await purgeTable(group, table)
  await purgeHiddenContainers(group)
  await database.write(async (db) => {
    await db.updateTable('group_revisions').set({ changes_bytes: 0 }).where('group_id', '=', groupId).execute()
    await db.deleteFrom('group_usage').where('group_id', '=', groupId).execute()
  })
}
