import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { ContentWriter } from './changes.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'
import { countIndexRows, deleteWholeIndex, sumOfRows } from './object-index.ts'
import type { ContentTables } from './tables.ts'

/** So much goes in one transaction: all others who write wait for it. */
const objectsPerPurge = 100
const indexRowsPerPurge = 5000
const rowsPerDelete = 1000
/** A version may be of a megabyte. */
const versionsPerDelete = 100

type PurgedTable = Exclude<keyof ContentTables, 'object_fields' | 'totals' | 'migrations'>

/** Deletes some of the rows in question. Answers whether there may be more. */
async function deleteSome(
  { database, groupId }: GroupStore,
  table: PurgedTable,
  condition: RawBuilder<unknown>,
  limit: number,
): Promise<boolean> {
  const row = sql.raw(database.engine === 'sqlite' ? 'rowid' : 'ctid')
  const name = tableOf(database, table)
  const statement = sql`delete from ${name} where ${row} in (select ${row} from ${name} where ${condition} limit ${sql.lit(limit)})`
  const { numAffectedRows } = await database.write((db) => statement.execute(db), groupId)
  return numAffectedRows === BigInt(limit)
}

/** All rows of a group in a table, a part at a time. */
export async function purgeTable(group: GroupStore, table: PurgedTable): Promise<void> {
  while (await deleteSome(group, table, sql`group_id = ${group.groupId}`, rowsPerDelete));
}

async function deleteObjects(
  db: Transaction<ContentTables>,
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<void> {
  const group = { groupId, database: { ...database, read: db } }
  await deleteWholeIndex({ db, group }, await countIndexRows(group, ids))
  await db.deleteFrom('objects').where('id', 'in', ids).execute()
}

/** As many of these objects, from the first on, as may go in one transaction. */
async function firstOf(group: GroupStore, ids: readonly string[]): Promise<string[]> {
  const counts = Map.groupBy(await countIndexRows(group, ids), ({ objectId }) => objectId)
  let rows = 0
  return ids.filter((id, position) => {
    rows += sumOfRows(counts.get(id) ?? [])
    return position === 0 || rows <= indexRowsPerPurge
  })
}

/**
 * Deletes objects that nobody sees any more with all that hangs on them, in short transactions, so that others can write
 * meanwhile. What is interrupted is begun again.
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
    while (await deleteSome(group, 'object_versions', sql`object_id in (${sql.join(ids)})`, versionsPerDelete));
    await database.write((db) => deleteObjects(db, group, ids), groupId)
    deleted += ids.length
    onProgress(deleted)
  }
}

/** Deletes the objects of a container in the transaction of the writer, if they are so few that nobody waits for it. */
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

/** The group that a container is moved to when it is deleted: no id of a group is written like this. */
const hiddenGroupOf = (groupId: string): string => `deleted ${groupId}`

/** From now on nobody finds the container, nor what is in it. */
export async function hideContainer(db: Transaction<ContentTables>, groupId: string, containerId: string) {
  await db
    .updateTable('containers')
    .set({ group_id: hiddenGroupOf(groupId), name: containerId })
    .where('group_id', '=', groupId)
    .where('id', '=', containerId)
    .execute()
}

/** Deletes a container that is hidden, and everything in it. */
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

/** With the count of their bytes, when nothing is left to be counted. */
async function deleteHidden(db: Transaction<ContentTables>, which: { group_id: string; id?: string }): Promise<void> {
  await db
    .deleteFrom('containers')
    .where((eb) => eb.and(which))
    .execute()
  await db.deleteFrom('group_usage').where('group_id', '=', which.group_id).where('database_bytes', '=', 0).execute()
}

/** Of a group whose objects are gone. */
export async function purgeHiddenContainers({ database, groupId }: GroupStore): Promise<void> {
  await database.write((db) => deleteHidden(db, { group_id: hiddenGroupOf(groupId) }))
}

/** The group whose container it was. */
export const ownerOfHidden = (groupId: string): string => groupId.replace(hiddenGroupOf(''), '')
