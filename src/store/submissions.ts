import type { ReviewState } from '../content/model.ts'
import type { GroupStore } from './groups.ts'
import { type FoundObject, objectColumns, toStoredObject } from './objects.ts'

export interface SubmissionQuery {
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
