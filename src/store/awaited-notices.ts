import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { type FoundObject, findObjects } from './objects.ts'

/** Notes, in the transaction of a submission, that the owner of a site is to be told of it. */
export async function awaitNotice({ db, group }: ContentWriter, siteId: string, objectId: string): Promise<void> {
  await db
    .insertInto('awaited_notices')
    .values({ group_id: group.groupId, site_id: siteId, object_id: objectId })
    .execute()
}

/** The submissions of which the owner of a site is still to be told: how many, and the oldest of them. */
export interface AwaitedSubmissions {
  count: number
  first: FoundObject[]
}

export async function findAwaited(group: GroupStore, siteId: string, most: number): Promise<AwaitedSubmissions> {
  const ofSite = group.database.read
    .selectFrom('awaited_notices')
    .where('group_id', '=', group.groupId)
    .where('site_id', '=', siteId)
  const { count } = await ofSite.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const rows = await ofSite.select('object_id').orderBy('object_id').limit(most).execute()
  const ids = rows.map(({ object_id }) => object_id)
  const found = await findObjects(group, ids)
  return { count: Number(count), first: found.sort((one, other) => (one.object.id < other.object.id ? -1 : 1)) }
}

/** The owner was told. Under the lock of the group nothing has come in since they were looked for. */
export async function endAwaited({ db, group }: ContentWriter, siteId: string): Promise<void> {
  await db.deleteFrom('awaited_notices').where('group_id', '=', group.groupId).where('site_id', '=', siteId).execute()
}
