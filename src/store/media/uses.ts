import { type MediaUse, problemOfUse } from '../../content/media-uses.ts'
import { refuse } from '../../content/validate.ts'
import type { ContentWriter } from '../content/changes.ts'
import { inBatches } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'

/** The index entry for an object's files; no schema field can begin with @. */
export const mediaField = '@media'

/** Problems with files that the content refers to now and did not before. */
export async function findMediaProblems(
  { groupId, database }: GroupStore,
  before: readonly MediaUse[],
  after: readonly MediaUse[],
): Promise<string[]> {
  const kept = new Set(before.map(({ key, type = '' }) => `${type} ${key}`))
  const fresh = after.filter(({ key, type = '' }) => !kept.has(`${type} ${key}`))
  const types = new Map<string, string>()
  for (const batch of inBatches([...new Set(fresh.map(({ key }) => key))])) {
    const rows = await database.read
      .selectFrom('media')
      .select(['key', 'type'])
      .where('group_id', '=', groupId)
      .where('key', 'in', batch)
      .execute()
    for (const { key, type } of rows) types.set(key, type)
  }
  return fresh.flatMap((use) => {
    const type = types.get(use.key)
    return problemOfUse(use, type === undefined ? undefined : { type }) ?? []
  })
}

/** Refuses new references to missing files; existing references may stay. */
export async function refuseMissingMedia(
  { group, allowsMissing = false }: ContentWriter,
  before: readonly MediaUse[],
  after: readonly MediaUse[],
): Promise<void> {
  if (!allowsMissing) refuse(await findMediaProblems(group, before, after))
}
