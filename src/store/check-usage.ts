import { sql, type Transaction } from 'kysely'
import { type Authoring, writeContent } from './changes.ts'
import { tableOf } from './database.ts'
import type { GroupStore } from './groups.ts'
import { changeBytes, countedTables } from './migrations/content-usage.ts'
import type { ContentTables } from './tables.ts'

/** What the counters should be, counted now. */
export async function recountUsage({
  groupId,
  database,
}: GroupStore): Promise<Record<'database' | 'media' | 'changes', number>> {
  const counts = { database: 0, media: 0, changes: 0 }
  const ofGroup = sql`where group_id = ${groupId}`
  for (const counted of countedTables) {
    const { rows } = await sql<{ in_database: number | null; in_media: number | null }>`
      select sum(${sql.raw(counted.database(''))}) as in_database, sum(${sql.raw(counted.media('', database.engine))}) as in_media
      from ${tableOf(database, counted.table as keyof ContentTables)} ${ofGroup}`.execute(database.read)
    counts.database += Number(rows[0]?.in_database ?? 0)
    counts.media += Number(rows[0]?.in_media ?? 0)
  }
  const { rows } = await sql<{ bytes: number | null }>`
    select sum(${sql.raw(changeBytes)}) as bytes from ${tableOf(database, 'changes')} ${ofGroup}`.execute(database.read)
  counts.changes = Number(rows[0]?.bytes ?? 0)
  return counts
}

async function isMiscounted(group: GroupStore): Promise<boolean> {
  const { groupId, database } = group
  const kept = await database.read
    .selectFrom('group_usage')
    .select(['database_bytes', 'media_bytes'])
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  const revision = await database.read
    .selectFrom('group_revisions')
    .select('changes_bytes')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  const counted = await recountUsage(group)
  return (
    counted.database !== (kept?.database_bytes ?? 0) ||
    counted.media !== (kept?.media_bytes ?? 0) ||
    counted.changes !== (revision?.changes_bytes ?? 0)
  )
}

/** Whether the bytes of a group are others than those that are kept, as of one moment. */
export const findMiscounted = (group: GroupStore): Promise<boolean> =>
  group.database.snapshot((read) => isMiscounted({ ...group, database: { ...group.database, read } }))

/** Puts the counters of a group right. */
export async function repairUsage(outside: GroupStore, authoring: Authoring): Promise<void> {
  await writeContent(outside, authoring, async ({ db, group }) => writeUsage(db, group))
}

async function writeUsage(db: Transaction<ContentTables>, group: GroupStore): Promise<void> {
  const { groupId } = group
  const counted = await recountUsage(group)
  const usage = { database_bytes: counted.database, media_bytes: counted.media }
  await db
    .insertInto('group_usage')
    .values({ group_id: groupId, ...usage })
    .onConflict((conflict) => conflict.column('group_id').doUpdateSet(usage))
    .execute()
  await db
    .updateTable('group_revisions')
    .set({ changes_bytes: counted.changes })
    .where('group_id', '=', groupId)
    .execute()
}
