import { bucketNamePattern } from '../content/media-keys.ts'
import { invalid, notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { isTier, type Tier, tiers } from '../tiers.ts'
import type { Database } from './database.ts'
import { databaseNamePattern, type Store } from './open.ts'
import type { ContentTables, GroupRow } from './tables.ts'

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

export async function openGroup(store: Store, tenant: Pick<Tenant, 'database' | 'groupID'>): Promise<GroupStore> {
  return { groupId: tenant.groupID, database: await store.content(tenant.database) }
}

const defaultDatabase = 'main'
const defaultBucket = 'media'

export interface Group {
  id: string
  name: string
  tier: Tier
  frozen: boolean
  database: string
  bucketName: string
  createdMs: number
}

function toGroup(row: GroupRow): Group {
  return {
    id: row.id,
    name: row.name,
    tier: row.tier as Tier, // checked when it was written
    frozen: row.frozen !== 0,
    database: row.database_name,
    bucketName: row.bucket_name,
    createdMs: row.created_ms,
  }
}

export interface NewGroup {
  name: string
  tier?: string
  database?: string
  bucketName?: string
}

export async function createGroup(store: Store, input: NewGroup, nowMs: number): Promise<Group> {
  const { name, tier = 'free', database = defaultDatabase, bucketName = defaultBucket } = input
  if (name.trim() === '' || name.length > 200) throw invalid('A group needs a name of 1 to 200 characters.')
  if (!isTier(tier)) throw invalid(`tier must be one of ${tiers.join(', ')}.`)
  if (!databaseNamePattern.test(database) || database === 'control') {
    throw invalid('database must be a lower-case letter, then up to 39 lower-case letters, digits or _; not "control".')
  }
  if (!bucketNamePattern.test(bucketName))
    throw invalid('bucketName must be 3 to 63 lower-case letters, digits, - or .')
  const row: GroupRow = {
    id: makeId(),
    name,
    tier,
    frozen: 0,
    database_name: database,
    bucket_name: bucketName,
    created_ms: nowMs,
  }
  await store.content(database)
  await store.control.write((db) => db.insertInto('groups').values(row).execute())
  return toGroup(row)
}

export async function listGroups(store: Store): Promise<Group[]> {
  return (await store.control.read.selectFrom('groups').selectAll().orderBy('id').execute()).map(toGroup)
}

/** By id, or by name where the name is unique: what a person types. */
export async function findGroup(store: Store, idOrName: string): Promise<Group> {
  const rows = await store.control.read
    .selectFrom('groups')
    .selectAll()
    .where((eb) => eb.or([eb('id', '=', idOrName), eb('name', '=', idOrName)]))
    .execute()
  const byId = rows.find(({ id }) => id === idOrName)
  if (byId) return toGroup(byId) // whatever others are called
  if (rows.length > 1)
    throw invalid(`Several groups are called "${idOrName}"; use the id: ${rows.map(({ id }) => id).join(', ')}.`)
  if (!rows[0]) throw notFound(`There is no group "${idOrName}". "npx sluice group list" shows them.`)
  return toGroup(rows[0])
}

export async function setFrozen(store: Store, groupId: string, frozen: boolean): Promise<void> {
  await store.control.write((db) =>
    db
      .updateTable('groups')
      .set({ frozen: frozen ? 1 : 0 })
      .where('id', '=', groupId)
      .execute(),
  )
}
