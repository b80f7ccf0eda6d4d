import { bucketNamePattern } from '../content/media-keys.ts'
import { isName } from '../content/names.ts'
import { invalid, notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { isTier, type Tier, tiers } from '../tiers.ts'
import { type Authoring, groupIsBeingDeleted, lockGroup } from './changes.ts'
import { writeControl } from './control-changes.ts'
import type { Database } from './database.ts'
import { controlName, databaseNamePattern, type Store } from './open.ts'
import { purgeHiddenContainers, purgeObjects, purgeTable } from './purge.ts'
import type { ContentTables } from './tables.ts'

/** What the authorizer tells of a caller (spec §5.4). */
export interface Tenant {
  database: string
  bucketName: string
  groupID: string
  tier: Tier
}

/** One group's view of its content database: every content function takes this, so none can forget whose data it reads. */
export interface GroupStore {
  groupId: string
  database: Database<ContentTables>
}

export async function openGroup(
  store: Pick<Store, 'content'>,
  tenant: Pick<Tenant, 'database' | 'groupID'>,
): Promise<GroupStore> {
  return { groupId: tenant.groupID, database: await store.content(tenant.database) }
}

export const defaultDatabase = 'main'
export const defaultBucket = 'media'
export const versionsKeptByDefault = 50
const mostVersionsKept = 10_000

export interface Group {
  id: string
  name: string
  tier: Tier
  frozen: boolean
  database: string
  bucketName: string
  versionsKept: number
  /** Since when it is being deleted. */
  deletingMs: number | null
  createdMs: number
}

export const openContentOf = (store: Store, { id, database }: Pick<Group, 'id' | 'database'>): Promise<GroupStore> =>
  openGroup(store, { database, groupID: id })

export interface NewGroup {
  /** Given by an import, which brings the ids along. */
  id?: string
  name: string
  tier?: string
  database?: string
  bucketName?: string
  versionsKept?: number
}

function checkName(name: string): string {
  if (!isName(name)) throw invalid('A group needs a name of 1 to 200 characters, all of them printable.')
  return name
}

function checkTier(tier: string): Tier {
  if (!isTier(tier)) throw invalid(`tier must be one of ${tiers.join(', ')}.`)
  return tier
}

export async function createGroup(store: Store, input: NewGroup, authoring: Authoring): Promise<Group> {
  const { id = makeId(), name, tier = 'free', database = defaultDatabase, bucketName = defaultBucket } = input
  if (!databaseNamePattern.test(database) || database === controlName) {
    throw invalid('database must be a lower-case letter, then up to 39 lower-case letters, digits or _; not "control".')
  }
  if (!bucketNamePattern.test(bucketName))
    throw invalid('bucketName must be 3 to 63 lower-case letters, digits, - or .')
  const row = {
    id,
    name: checkName(name),
    tier: checkTier(tier),
    frozen: 0,
    database_name: database,
    bucket_name: bucketName,
    created_ms: authoring.nowMs,
    versions_kept: input.versionsKept ?? versionsKeptByDefault,
  }
  await store.content(database)
  await writeControl(store.control, authoring, async (db, record) => {
    await db.insertInto('groups').values(row).execute()
    record({ type: 'group.created', groupId: id, subjectId: id, note: name })
  })
  return findGroupById(store, id)
}

const selectGroups = (store: Store) =>
  store.control.read
    .selectFrom('groups')
    .select([
      'id',
      'name',
      'tier',
      'frozen',
      'database_name',
      'bucket_name',
      'versions_kept',
      'deleting_ms',
      'created_ms',
    ])

type SelectedGroup = Awaited<ReturnType<ReturnType<typeof selectGroups>['executeTakeFirstOrThrow']>>

function toGroup(row: SelectedGroup): Group {
  return {
    id: row.id,
    name: row.name,
    tier: row.tier as Tier, // checked when it was written
    frozen: row.frozen !== 0,
    database: row.database_name,
    bucketName: row.bucket_name,
    versionsKept: row.versions_kept,
    deletingMs: row.deleting_ms,
    createdMs: row.created_ms,
  }
}

export async function listGroups(store: Store): Promise<Group[]> {
  return (await selectGroups(store).orderBy('id').execute()).map(toGroup)
}

/** The same answer for a group that does not exist and for one that the caller may not see. */
export const noSuchGroup = (): Error => notFound('There is no such group.')

export async function findGroupById(store: Store, id: string): Promise<Group> {
  const row = await selectGroups(store).where('id', '=', id).executeTakeFirst()
  if (!row) throw noSuchGroup()
  return toGroup(row)
}

/** By id, or by name where the name is unique: what a person types. */
export async function findGroup(store: Store, idOrName: string): Promise<Group> {
  const rows = await selectGroups(store)
    .where((eb) => eb.or([eb('id', '=', idOrName), eb('name', '=', idOrName)]))
    .execute()
  const byId = rows.find(({ id }) => id === idOrName)
  if (byId) return toGroup(byId) // whatever others are called
  if (rows.length > 1)
    throw invalid(`Several groups are called "${idOrName}"; use the id: ${rows.map(({ id }) => id).join(', ')}.`)
  if (!rows[0]) throw notFound(`There is no group "${idOrName}". "npx sluice group list" shows them.`)
  return toGroup(rows[0])
}

/** From the beginning of its deletion on, a group takes nothing else. */
export function refuseDeleting({ deletingMs }: Group): void {
  if (deletingMs !== null) throw groupIsBeingDeleted()
}

export type GroupChange = Partial<Pick<Group, 'name' | 'tier' | 'frozen' | 'versionsKept' | 'deletingMs'>>

const columnsOf = {
  name: ({ name }: Group) => ({ name }),
  tier: ({ tier }: Group) => ({ tier }),
  frozen: ({ frozen }: Group) => ({ frozen: frozen ? 1 : 0 }),
  versionsKept: ({ versionsKept }: Group) => ({ versions_kept: versionsKept }),
  deletingMs: ({ deletingMs }: Group) => ({ deleting_ms: deletingMs }),
}

/** A change that changes nothing leaves no trace. Only what differs is written: a rename must not undo a freeze. */
export async function updateGroup(
  store: Store,
  before: Group,
  wanted: Omit<GroupChange, 'tier'> & { tier?: string },
  authoring: Authoring,
): Promise<Group> {
  const after: Group = { ...before, ...wanted, tier: checkTier(wanted.tier ?? before.tier) }
  checkName(after.name)
  const { versionsKept } = after
  if (!Number.isInteger(versionsKept) || versionsKept < 0 || versionsKept > mostVersionsKept)
    throw invalid(`versionsKept must be a whole number from 0 to ${mostVersionsKept}.`)
  const parts = Object.keys(columnsOf) as (keyof typeof columnsOf)[]
  const differences = parts.filter((part) => before[part] !== after[part])
  if (differences.length === 0) return before
  await writeControl(store.control, authoring, async (db, record) => {
    await db
      .updateTable('groups')
      .set(Object.assign({}, ...differences.map((part) => columnsOf[part](after))))
      .where('id', '=', before.id)
      .execute()
    const note = differences.map((part) => `${part}: ${after[part]}`).join(', ')
    record({ type: 'group.updated', groupId: before.id, subjectId: before.id, note })
  })
  return after
}

/** The last step of a group's deletion: when its content is gone, so are its keys, its members and itself. */
export async function deleteGroupRow(store: Store, group: Group, authoring: Authoring): Promise<void> {
  await writeControl(store.control, authoring, async (db, record) => {
    await db.deleteFrom('api_keys').where('group_id', '=', group.id).execute()
    await db.deleteFrom('memberships').where('group_id', '=', group.id).execute()
    await db.deleteFrom('admin_tokens').where('group_id', '=', group.id).execute()
    await db.deleteFrom('invitations').where('group_id', '=', group.id).execute()
    await db.updateTable('users').set({ disabled_ms: authoring.nowMs }).where('service_of', '=', group.id).execute()
    await db.deleteFrom('integration_places').where('group_id', '=', group.id).execute()
    await db.deleteFrom('groups').where('id', '=', group.id).execute()
    record({ type: 'group.deleted', groupId: group.id, subjectId: group.id, note: group.name })
  })
}

/** A group that was deleted can come back by an import. Its revisions go on: none ever stands for two contents. */
export async function reopenContent({ groupId, database }: GroupStore, nowMs: number): Promise<void> {
  await database.write((db) =>
    db
      .updateTable('group_revisions')
      .set((eb) => ({
        revision: eb('revision', '+', 1),
        media_revision: eb('media_revision', '+', 1),
        last_seq: 0,
        changes_bytes: 0,
        swept_ms: nowMs,
        closed: 0,
      }))
      .where('group_id', '=', groupId)
      .where('closed', '=', 1)
      .execute(),
  )
}

/** All but the mark that says that it is closed: who still writes, hours later, must find it. */
const contentTables = [
  'objects', 'preview_tokens', 'sites', 'changes', 'containers', 'media', 'media_files', 'jobs',
  'secrets', 'integrations', 'catalogue_products', 'catalogue_prices', 'catalogue_objects', 'catalogue_pictures',
  'provider_events', 'orders', 'idempotency_keys', 'sandbox_objects',
  'messages', 'suppressions', 'mail_servers', 'tallies', 'awaited_notices',
] as const // biome-ignore format: a few lines read better

/** Removes all content of a group, a part at a time, so that nobody waits long and an interruption loses nothing. */
export async function deleteContent(group: GroupStore, nowMs: number, onProgress: (deleted: number) => void) {
  const { groupId, database } = group
  await database.write(async (db) => {
    await lockGroup(db, group, nowMs) // who still writes has ended, and who comes after us finds it closed
    await db.updateTable('group_revisions').set({ closed: 1 }).where('group_id', '=', groupId).execute()
  })
  await purgeObjects(group, { group_id: groupId }, onProgress)
  for (const table of contentTables) await purgeTable(group, table)
  await purgeHiddenContainers(group)
  await database.write(async (db) => {
    await db.updateTable('group_revisions').set({ changes_bytes: 0 }).where('group_id', '=', groupId).execute()
    await db.deleteFrom('group_usage').where('group_id', '=', groupId).execute()
  })
}
