import { addressKey } from '../content/email.ts'
import { filterKeyOfText } from '../content/index-keys.ts'
import type { ReviewState, StoredObject } from '../content/model.ts'
import type { GroupStore } from './groups.ts'
import { emailField, type FoundObject, findObject, objectColumns, toStoredObject } from './objects.ts'

interface SubmissionQuery {
  collectionId?: string | undefined
  review?: ReviewState | undefined
  limit: number
  skip: number
}

/** What visitors sent in, newest first. */
export async function listSubmissions(
  { groupId, database }: GroupStore,
  { collectionId, review, limit, skip }: SubmissionQuery,
): Promise<{ submissions: FoundObject[]; totalCount: number }> {
  const matching = database.read
    .selectFrom('objects')
    .where('review', 'is not', null)
    .where('container_id', 'in', (eb) => eb.selectFrom('containers').select('id').where('group_id', '=', groupId))
    .where((eb) =>
      eb.and({
        group_id: groupId,
        ...(review !== undefined && { review }),
        ...(collectionId !== undefined && { container_id: collectionId }),
      }),
    )
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await matching.select(objectColumns).orderBy('id', 'desc').limit(limit).offset(skip).execute()
  return {
    submissions: rows.map((row) => ({ containerId: row.container_id, object: toStoredObject(row) })),
    totalCount: Number(total),
  }
}

/** The first in a collection who has this address, however it is written and whatever became of them. */
export async function findByEmail(
  group: GroupStore,
  collectionId: string,
  email: string,
): Promise<StoredObject | undefined> {
  const row = await group.database.read
    .selectFrom('object_fields')
    .select('object_id')
    .where('container_id', '=', collectionId)
    .where('field', '=', emailField)
    .where('filter_key', '=', filterKeyOfText(addressKey(email)))
    .orderBy('object_id')
    .limit(1)
    .executeTakeFirst()
  return row && (await findObject(group, row.object_id))?.object
}
