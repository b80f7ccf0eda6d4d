import { dueObjects, scheduleAuthor, writeContent } from './changes.ts'
import type { GroupStore } from './groups.ts'
import type { ChangeRow } from './tables.ts'

/** The feed after a number, oldest first. What has fallen due is noticed first, so that the feed is never late. */
export async function listEvents(
  group: GroupStore,
  { since, limit }: { since: number; limit: number },
  nowMs: number,
): Promise<{ events: ChangeRow[]; lastSeq: number }> {
  await noticeDue(group, nowMs)
  const { read } = group.database
  const events = await read
    .selectFrom('changes')
    .selectAll()
    .where('group_id', '=', group.groupId)
    .where('seq', '>', since)
    .orderBy('seq')
    .limit(limit)
    .execute()
  const state = await read
    .selectFrom('group_revisions')
    .select('last_seq')
    .where('group_id', '=', group.groupId)
    .executeTakeFirst()
  return { events, lastSeq: state?.last_seq ?? 0 }
}

async function noticeDue(group: GroupStore, nowMs: number): Promise<void> {
  const { groupId, database } = group
  const state = await database.read
    .selectFrom('group_revisions')
    .select('swept_ms')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  if (!state) return
  const [due] = await dueObjects(database.read, groupId, state.swept_ms, nowMs).limit(1).execute()
  if (due)
    await writeContent(group, { author: scheduleAuthor, verb: 'schedule', nowMs, versionsKept: 0 }, async () => {})
}
