import { filterKeyOfText } from '../content/index-keys.ts'
import { mediaUsesAnywhere } from '../content/media-uses.ts'
import type { GroupStore } from './groups.ts'
import { mediaField } from './media-uses.ts'
import { listSites } from './sites.ts'

export interface MediaUser {
  kind: 'object' | 'site'
  id: string
  /** Where an object is. */
  containerId: string | null
}

/** What shows a file now, sites first. Former versions of objects do not count. */
export async function findUsers(
  group: GroupStore,
  key: string,
  { limit, skip }: { limit: number; skip: number } = { limit: 100, skip: 0 },
): Promise<{ users: MediaUser[]; totalCount: number }> {
  const { groupId, database } = group
  const showing = database.read
    .selectFrom('object_fields')
    .innerJoin('containers', 'containers.id', 'object_fields.container_id')
    .where('containers.group_id', '=', groupId)
    .where('object_fields.field', '=', mediaField)
    .where('object_fields.filter_key', '=', filterKeyOfText(key))
  const { total } = await showing.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const sites = (await listSites(group)).filter(({ settings }) =>
    mediaUsesAnywhere(settings).some((use) => use.key === key),
  )
  const shownSites = sites.slice(skip, skip + limit)
  const objects = await showing
    .select(['object_fields.object_id as id', 'object_fields.container_id as containerId'])
    .orderBy('object_fields.object_id')
    .limit(limit - shownSites.length)
    .offset(Math.max(0, skip - sites.length))
    .execute()
  return {
    users: [
      ...shownSites.map(({ id }) => ({ kind: 'site' as const, id, containerId: null })),
      ...objects.map((object) => ({ kind: 'object' as const, ...object })),
    ],
    totalCount: sites.length + Number(total),
  }
}
