import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'

export async function readSealed(
  { groupId, database }: GroupStore,
  subjectId: string,
  field: string,
): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('secrets')
    .select('sealed')
    .where('group_id', '=', groupId)
    .where('subject_id', '=', subjectId)
    .where('field', '=', field)
    .executeTakeFirst()
  return row?.sealed
}

/** Replaces a value that exists. */
export async function writeSealed(
  { db, group, nowMs }: ContentWriter,
  subjectId: string,
  field: string,
  sealed: string,
): Promise<void> {
  await db
    .insertInto('secrets')
    .values({ group_id: group.groupId, subject_id: subjectId, field, sealed, created_ms: nowMs })
    .onConflict((conflict) =>
      conflict.columns(['group_id', 'subject_id', 'field']).doUpdateSet({ sealed, created_ms: nowMs }),
    )
    .execute()
}

export async function deleteSecrets({ db, group }: ContentWriter, subjectId: string): Promise<void> {
  await db.deleteFrom('secrets').where('group_id', '=', group.groupId).where('subject_id', '=', subjectId).execute()
}

/** Whether the group has a secret of any other subject. */
export async function hasSecrets({ groupId, database }: GroupStore, except: string): Promise<boolean> {
  const row = await database.read
    .selectFrom('secrets')
    .select('field')
    .where('group_id', '=', groupId)
    .where('subject_id', '<>', except)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The names of a subject's fields. */
export async function secretFields({ groupId, database }: GroupStore, subjectId: string): Promise<string[]> {
  const rows = await database.read
    .selectFrom('secrets')
    .select('field')
    .where('group_id', '=', groupId)
    .where('subject_id', '=', subjectId)
    .orderBy('field')
    .execute()
  return rows.map(({ field }) => field)
}
