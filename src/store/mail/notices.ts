import type { ContentWriter } from '../content/changes.ts'
import { type FoundObject, findObjects } from '../content/objects.ts'
import type { GroupStore } from '../store.ts'

/** Queues a notice to the site's owner in the transaction of a submission. */
export async function insertPendingNotice(
  { db, group }: ContentWriter,
  siteId: string,
  objectId: string,
): Promise<void> {
  await db
    .insertInto('awaited_notices')
    .values({ group_id: group.groupId, site_id: siteId, object_id: objectId })
    .execute()
}

/** Submissions without a notice to the site's owner: their number, and the oldest. */
export interface PendingNotices {
  count: number
  first: FoundObject[]
}

export async function findPendingNotices(group: GroupStore, siteId: string, maxCount: number): Promise<PendingNotices> {
  const ofSite = group.database.read
    .selectFrom('awaited_notices')
    .where('group_id', '=', group.groupId)
    .where('site_id', '=', siteId)
  const { count } = await ofSite.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await ofSite.select('object_id').orderBy('object_id').limit(maxCount).execute()
  const ids = rows.map(({ object_id }) => object_id)
  const found = await findObjects(group, ids)
  return { count: Number(count), first: found.sort((one, other) => (one.object.id < other.object.id ? -1 : 1)) }
}

/** Called after the notice, under the group's lock, so that none was added since they were read. */
export async function deletePendingNotices({ db, group }: ContentWriter, siteId: string): Promise<void> {
  await db.deleteFrom('awaited_notices').where('group_id', '=', group.groupId).where('site_id', '=', siteId).execute()
}

/** Minimum time between two notices of a site, so that a flood becomes a few. */
const pauseMs = 300_000

const noticesOf = (siteId: string): string => `notices ${siteId}`

/** Until when no notice is sent; 0 after a pause. */
export async function findNoticePauseMs({ db, group, nowMs }: ContentWriter, siteId: string): Promise<number> {
  const row = await db
    .selectFrom('tallies')
    .select(({ fn }) => fn.max('end_ms').as('end_ms'))
    .where('group_id', '=', group.groupId)
    .where('subject', '=', noticesOf(siteId))
    .where('start_ms', '<=', nowMs) // later ones were written by a clock that was ahead
    .executeTakeFirst()
  return row?.end_ms ?? 0
}

export async function recordNoticeSent({ db, group, nowMs }: ContentWriter, siteId: string): Promise<void> {
  await db
    .insertInto('tallies')
    .values({
      group_id: group.groupId,
      subject: noticesOf(siteId),
      start_ms: nowMs,
      end_ms: nowMs + pauseMs,
      count: 1,
    })
    .execute()
}
