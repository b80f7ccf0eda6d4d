import type { Selectable } from 'kysely'
import { mediaUsesAnywhere } from '../../content/media-uses.ts'
import type { StoredSite } from '../../content/model.ts'
import { checkSite } from '../../content/site-settings.ts'
import { makeId } from '../../core/ids.ts'
import { createSqlBuilder, runStatement } from '../engine/statement.ts'
import { refuseMissingMedia } from '../media/uses.ts'
import type { SiteRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { dueColumn, type Revisions, revisionColumns } from './revisions.ts'

export type NewSite = Pick<StoredSite, 'name' | 'domainName' | 'settings'> & {
  privateSettings?: StoredSite['privateSettings']
}

const siteColumns = [
  'id', 'name', 'domain_name', 'settings', 'private_settings', 'version', 'created_ms', 'updated_ms',
] as const // biome-ignore format: one line reads better

export async function insertSite(writer: ContentWriter, input: NewSite): Promise<StoredSite> {
  const { db, group, nowMs } = writer
  const { name, domainName, settings, privateSettings = {} } = input
  const id = makeId()
  checkSite(group.groupId, { name, domainName, settings, privateSettings })
  await refuseMissingMedia(writer, [], mediaUsesAnywhere(settings))
  await db
    .insertInto('sites')
    .values({
      id,
      group_id: group.groupId,
      name,
      domain_name: domainName,
      settings: JSON.stringify(settings),
      private_settings: JSON.stringify(privateSettings),
      created_ms: nowMs,
      updated_ms: nowMs,
    })
    .execute()
  writer.record({ type: 'site.created', subjectId: id, version: 1, note: name })
  writer.bumpRevision()
  return { id, name, domainName, settings, privateSettings, version: 1, createdMs: nowMs, updatedMs: nowMs }
}

/** A no-op is not recorded. A change of private settings alone keeps the revision. */
export async function updateSite(
  writer: ContentWriter,
  before: StoredSite,
  wanted: Partial<Pick<StoredSite, 'name' | 'domainName' | 'settings' | 'privateSettings'>>,
): Promise<StoredSite> {
  const { db, group, nowMs } = writer
  const after = { ...before, ...wanted, version: before.version + 1, updatedMs: nowMs }
  const parts = ['name', 'domainName', 'settings', 'privateSettings'] as const
  const differences = parts.filter((part) => JSON.stringify(before[part]) !== JSON.stringify(after[part]))
  if (differences.length === 0) return before
  checkSite(group.groupId, after)
  await refuseMissingMedia(writer, mediaUsesAnywhere(before.settings), mediaUsesAnywhere(after.settings))
  await db
    .updateTable('sites')
    .set({
      name: after.name,
      domain_name: after.domainName,
      settings: JSON.stringify(after.settings),
      private_settings: JSON.stringify(after.privateSettings),
      version: after.version,
      updated_ms: nowMs,
    })
    .where('group_id', '=', group.groupId)
    .where('id', '=', before.id)
    .execute()
  const note = differences.join(', ')
  writer.record({ type: 'site.updated', subjectId: before.id, version: after.version, note })
  if (differences.some((part) => part !== 'privateSettings')) writer.bumpRevision()
  return after
}

export async function deleteSite(writer: ContentWriter, site: StoredSite): Promise<void> {
  const { db, group } = writer
  await db.deleteFrom('sites').where('group_id', '=', group.groupId).where('id', '=', site.id).execute()
  writer.record({ type: 'site.deleted', subjectId: site.id, note: site.name })
  writer.bumpRevision()
}

async function selectSites({ groupId, database }: GroupStore, id?: string): Promise<StoredSite[]> {
  const rows = await database.read
    .selectFrom('sites')
    .select(siteColumns)
    .where((eb) => eb.and({ group_id: groupId, ...(id !== undefined && { id }) }))
    .orderBy('id')
    .execute()
  return rows.map(toSite)
}

type SelectedSite = Pick<Selectable<SiteRow>, (typeof siteColumns)[number]>

const toSite = (row: SelectedSite): StoredSite => ({
  id: row.id,
  name: row.name,
  domainName: row.domain_name,
  settings: JSON.parse(row.settings),
  privateSettings: JSON.parse(row.private_settings),
  version: row.version,
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
})

export const listSites = (group: GroupStore): Promise<StoredSite[]> => selectSites(group)

export async function findSite(group: GroupStore, id: string): Promise<StoredSite | undefined> {
  return (await selectSites(group, id))[0]
}

export interface SiteAtRevision {
  site: StoredSite | undefined
  revision: number
  mediaRevision: number
  /** When the next scheduled change or archive date of the group is due. */
  dueMs: number | null
}

/** A site with the revisions at which it was read. */
export async function readSiteAtRevision(group: GroupStore, id: string): Promise<SiteAtRevision> {
  const { groupId, database } = group
  const draft = createSqlBuilder(database)
  const { table, bind } = draft
  const columns = siteColumns.map((column) => `s.${column}`).join(', ')
  const text = `select r.revision, r.media_revision, r.due_ms, ${columns} from (select ${revisionColumns(draft, groupId)}, ${dueColumn(draft, groupId)}) as r left join ${table('sites')} as s on s.group_id = ${bind(groupId)} and s.id = ${bind(id)}`
  const [row] = await runStatement<(SelectedSite | { id: null }) & Revisions & { due_ms: number | null }>(
    group,
    text,
    draft,
  )
  return {
    site: row && row.id !== null ? toSite(row) : undefined,
    revision: row?.revision ?? 0,
    mediaRevision: row?.media_revision ?? 0,
    dueMs: row?.due_ms ?? null,
  }
}
