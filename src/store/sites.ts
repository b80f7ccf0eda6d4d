import type { StoredSite } from '../content/model.ts'
import { checkSiteSettings } from '../content/validate.ts'
import { makeId } from '../ids.ts'
import type { GroupStore } from './groups.ts'
import { writeContent } from './revisions.ts'

export async function createSite(group: GroupStore, site: Omit<StoredSite, 'id'>, nowMs: number): Promise<StoredSite> {
  checkSiteSettings(group.groupId, site.settings)
  const id = makeId()
  await writeContent(group, (db) =>
    db
      .insertInto('sites')
      .values({
        id,
        group_id: group.groupId,
        name: site.name,
        domain_name: site.domainName,
        settings: JSON.stringify(site.settings),
        created_ms: nowMs,
        updated_ms: nowMs,
      })
      .execute(),
  )
  return { id, ...site }
}

export async function findSite({ groupId, database }: GroupStore, id: string): Promise<StoredSite | undefined> {
  const row = await database.read
    .selectFrom('sites')
    .select(['id', 'name', 'domain_name', 'settings'])
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && { id: row.id, name: row.name, domainName: row.domain_name, settings: JSON.parse(row.settings) }
}
