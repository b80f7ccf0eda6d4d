import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import { type FoundObject, findObjects } from './objects.ts'

/** Notes, in the transaction of a submission, that the owner of a site is to be told of it. */
export async function awaitNotice({ db, group }: ContentWriter, siteId: string, objectId: string): Promise<void> {
  await db
    .insertInto('awaited_notices')
    .values({ group_id: group.groupId, site_id: siteId, object_id: objectId })
    .execute()
}

/** The submissions of which the owner of a site is still to be told, oldest first: the first of them, and how many. */
export async function findAwaited(
  group: GroupStore,
  siteId: string,
  most: number,
): Promise<{ objectIds: string[]; first: FoundObject[] }> {
  const rows = await group.database.read
    .selectFrom('awaited_notices')
    .select('object_id')
    .where('group_id', '=', group.groupId)
    .where('site_id', '=', siteId)
    .orderBy('object_id')
    .execute()
  const objectIds = rows.map(({ object_id }) => object_id)
  const first = await findObjects(group, objectIds.slice(0, most))
  return { objectIds, first: first.sort((one, other) => (one.object.id < other.object.id ? -1 : 1)) }
}

/** The owner was told of these. */
export async function endAwaited({ db, group }: ContentWriter, siteId: string, objectIds: string[]): Promise<void> {
  for (const batch of inBatches(objectIds)) {
    await db
      .deleteFrom('awaited_notices')
      .where('group_id', '=', group.groupId)
      .where('site_id', '=', siteId)
      .where('object_id', 'in', batch)
      .execute()
  }
}

/** So long the owner of a site is left in peace after a notice: a flood becomes a few of them. */
const restMs = 300_000

const noticesOf = (siteId: string): string => `notices ${siteId}`

/** Until when the owner of a site is left in peace; 0 where there was no notice lately. */
export async function findRestMs({ db, group, nowMs }: ContentWriter, siteId: string): Promise<number> {
  const row = await db
    .selectFrom('tallies')
    .select(({ fn }) => fn.max('end_ms').as('end_ms'))
    .where('group_id', '=', group.groupId)
    .where('subject', '=', noticesOf(siteId))
    .where('start_ms', '<=', nowMs) // one that is later was written by a clock that was ahead
    .executeTakeFirst()
  return row?.end_ms ?? 0
}

export async function noteNotice({ db, group, nowMs }: ContentWriter, siteId: string): Promise<void> {
  await db
    .insertInto('tallies')
    .values({
      group_id: group.groupId,
      subject: noticesOf(siteId),
      start_ms: nowMs,
      end_ms: nowMs + restMs,
      count: 1,
    })
    .execute()
}
