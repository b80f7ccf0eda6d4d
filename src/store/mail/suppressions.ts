import { addressKey } from '../../content/email.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { GroupStore } from '../store.ts'

/** An address to which no more e-mails are sent. */
export interface Suppression {
  address: string
  /** The server's message, or the note of the user who added it. */
  reason: string
  createdMs: number
}

const columns = ['address', 'reason', 'created_ms as createdMs'] as const

export async function findSuppression(
  { groupId, database }: GroupStore,
  address: string,
): Promise<Suppression | undefined> {
  return database.read
    .selectFrom('suppressions')
    .select(columns)
    .where('group_id', '=', groupId)
    .where('address', '=', addressKey(address))
    .executeTakeFirst()
}

export async function listSuppressions(
  { groupId, database }: GroupStore,
  { limit, skip }: { limit: number; skip: number },
): Promise<{ suppressions: Suppression[]; totalCount: number }> {
  const ofGroup = database.read.selectFrom('suppressions').where('group_id', '=', groupId)
  const { total } = await ofGroup.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const suppressions = await ofGroup.select(columns).orderBy('address').limit(limit).offset(skip).execute()
  return { suppressions, totalCount: Number(total) }
}

/** An address that is already on the list keeps its reason. */
export async function addSuppression(writer: ContentWriter, address: string, reason: string): Promise<void> {
  const { db, group, nowMs } = writer
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('suppressions')
    .values({ group_id: group.groupId, address: addressKey(address), reason, created_ms: nowMs })
    .onConflict((conflict) => conflict.columns(['group_id', 'address']).doNothing())
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows > 0n) writer.record({ type: 'suppression.added', subjectId: group.groupId })
}

/** False if it was not on the list. */
export async function removeSuppression(writer: ContentWriter, address: string): Promise<boolean> {
  const { numDeletedRows } = await writer.db
    .deleteFrom('suppressions')
    .where('group_id', '=', writer.group.groupId)
    .where('address', '=', addressKey(address))
    .executeTakeFirst()
  if (numDeletedRows > 0n) writer.record({ type: 'suppression.removed', subjectId: writer.group.groupId })
  return numDeletedRows > 0n
}
