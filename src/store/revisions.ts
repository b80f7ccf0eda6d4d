import type { GroupStore } from './groups.ts'

/** Counts the writes that may have changed a group's answers: what was read at one revision stays true for it. */
export async function readRevision({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('revision')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.revision ?? 0
}
