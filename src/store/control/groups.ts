import { bucketNamePattern } from '../../content/media-keys.ts'
import { isName } from '../../content/texts.ts'
import { invalid, notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import { isTier, type Tier, tiers } from '../../core/tiers.ts'
import { type Authoring, groupIsBeingDeleted } from '../content/changes.ts'
import { controlName, databaseNamePattern, type GroupStore, openGroup, type Store } from '../store.ts'
import { writeControl } from './control-changes.ts'

export const defaultDatabase = 'main'
export const defaultBucket = 'media'
export const versionsKeptByDefault = 50
const maxVersionsKept = 10_000

export interface Group {
  id: string
  name: string
  tier: Tier
  frozen: boolean
  database: string
  bucketName: string
  versionsKept: number
  /** When its deletion began. */
  deletingMs: number | null
  createdMs: number
}

export const openContentOf = (store: Store, { id, database }: Pick<Group, 'id' | 'database'>): Promise<GroupStore> =>
  openGroup(store, { database, groupID: id })

export interface NewGroup {
  /** Set by an import, which keeps ids. */
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

/** The same error for a group that does not exist and one that the caller may not see. */
export const noSuchGroup = (): Error => notFound('There is no such group.')

export async function findGroupById(store: Store, id: string): Promise<Group> {
  const row = await selectGroups(store).where('id', '=', id).executeTakeFirst()
  if (!row) throw noSuchGroup()
  return toGroup(row)
}

/** By id, or by name if it is unique. */
export async function findGroup(store: Store, idOrName: string): Promise<Group> {
  const rows = await selectGroups(store)
    .where((eb) => eb.or([eb('id', '=', idOrName), eb('name', '=', idOrName)]))
    .execute()
  const byId = rows.find(({ id }) => id === idOrName)
  if (byId) return toGroup(byId) // even if another group has this id as its name
  if (rows.length > 1)
    throw invalid(`Several groups are called "${idOrName}"; use the id: ${rows.map(({ id }) => id).join(', ')}.`)
  if (!rows[0]) throw notFound(`There is no group "${idOrName}". "npx sluice group list" shows them.`)
  return toGroup(rows[0])
}

/** A group that is being deleted accepts nothing but its deletion. */
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

/** Writes only what differs, so that a rename cannot undo a concurrent freeze. A no-op is not recorded. */
export async function updateGroup(
  store: Store,
  before: Group,
  wanted: Omit<GroupChange, 'tier'> & { tier?: string },
  authoring: Authoring,
): Promise<Group> {
  const after: Group = { ...before, ...wanted, tier: checkTier(wanted.tier ?? before.tier) }
  checkName(after.name)
  const { versionsKept } = after
  if (!Number.isInteger(versionsKept) || versionsKept < 0 || versionsKept > maxVersionsKept)
    throw invalid(`versionsKept must be a whole number from 0 to ${maxVersionsKept}.`)
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

/** The last step of a group's deletion, after its content: removes its keys, its members and the group itself. */
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
