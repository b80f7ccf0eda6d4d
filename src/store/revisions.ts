import { sql, type Transaction } from 'kysely'
import type { GroupStore } from './groups.ts'
import type { ContentTables } from './tables.ts'

async function bumpRevision(db: Transaction<ContentTables>, groupId: string): Promise<void> {
  await db
    .insertInto('group_revisions')
    .values({ group_id: groupId, revision: 1 })
    .onConflict((conflict) =>
      conflict.column('group_id').doUpdateSet({ revision: sql<number>`group_revisions.revision + 1` }),
    )
    .execute()
}

/** The one way to change a group's content: a transaction that also counts up the group's revision. */
export function writeContent<Result>(
  { groupId, database }: GroupStore,
  work: (db: Transaction<ContentTables>) => Promise<Result>,
): Promise<Result> {
  return database.write(async (db) => {
    const result = await work(db)
    await bumpRevision(db, groupId)
    return result
  })
}

/** Counts the writes to a group's content: what was read at one revision stays true for it. */
export async function readRevision({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('revision')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.revision ?? 0
}
