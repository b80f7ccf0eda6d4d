import { sql, type Transaction } from 'kysely'
import type { ContentTables } from './tables.ts'

/** Called in the transaction of every write to a group's content: what was read at one revision is true for it. */
export async function bumpRevision(db: Transaction<ContentTables>, groupId: string): Promise<void> {
  await db
    .insertInto('group_revisions')
    .values({ group_id: groupId, revision: 1 })
    .onConflict((conflict) =>
      conflict.column('group_id').doUpdateSet({ revision: sql<number>`group_revisions.revision + 1` }),
    )
    .execute()
}
