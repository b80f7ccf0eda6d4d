import { searchTextOf } from '../../content/index-keys.ts'
import { type Container, isVisible, type StoredSite } from '../../content/model.ts'
import { type Order, orderRow, toOrder } from '../commerce/orders.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { ListedContainer } from '../content/containers.ts'
import { insertRows } from '../content/objects.ts'
import { schemaText } from '../content/stored-schema.ts'
import type { ObjectVersion } from '../content/versions.ts'
import { inBatches } from '../engine/database.ts'
import type { ObjectRow, ObjectVersionRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ExportedObject } from './export.ts'

export type ImportedTable = 'sites' | 'containers' | 'objects' | 'media' | 'media_files' | 'orders'

/** Finds ids that another group uses: ids are unique in a database. */
export async function findIdsOfOthers(
  { groupId, database }: GroupStore,
  table: ImportedTable,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await database.read
    .selectFrom(table)
    .select('id')
    .where('id', 'in', ids)
    .where('group_id', '!=', groupId)
    .execute()
  return rows.map(({ id }) => id)
}

/** The products of an integration with these ids of the provider. */
export async function findByExternalIds(
  { groupId, database }: GroupStore,
  containerId: string,
  externalIds: readonly string[],
): Promise<{ id: string; externalId: string | null; accountHandle: string }[]> {
  if (externalIds.length === 0) return []
  return database.read
    .selectFrom('objects')
    .select(['id', 'external_id as externalId', 'account_handle as accountHandle'])
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .where('external_id', 'in', externalIds)
    .execute()
}

/** The orders of these sessions, of any account. */
export async function findOrdersBySessions(
  { groupId, database }: GroupStore,
  sessionIds: readonly string[],
): Promise<Order[]> {
  if (sessionIds.length === 0) return []
  const rows = await database.read
    .selectFrom('orders')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('session_id', 'in', sessionIds)
    .execute()
  return rows.map(toOrder)
}

export interface ContentCounts {
  sites: number
  containers: number
  objects: number
  libraryItems: number
  orders: number
}

export async function countContent({ groupId, database }: GroupStore): Promise<ContentCounts> {
  const count = async (table: ImportedTable): Promise<number> => {
    const { total } = await database.read
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('group_id', '=', groupId)
      .executeTakeFirstOrThrow()
    return Number(total)
  }
  return {
    sites: await count('sites'),
    containers: await count('containers'),
    objects: await count('objects'),
    libraryItems: await count('media'),
    orders: await count('orders'),
  }
}

/** Computed on writing, so new rows do not have it yet. */
const derivedColumn = 'index_bytes'

/** How many of these rows exist unchanged. */
export async function countSameRows(
  { groupId, database }: GroupStore,
  table: ImportedTable,
  rows: readonly { id: string }[],
): Promise<number> {
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const found: { id: string }[] = await database.read
    .selectFrom(table)
    .selectAll()
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  const here = new Map(found.map((row) => [row.id, new Map(Object.entries(row))]))
  return rows.filter((row) => {
    const columns = here.get(row.id)
    return (
      columns && Object.entries(row).every(([name, value]) => name === derivedColumn || columns.get(name) === value)
    )
  }).length
}

/** Validated content with its original ids, versions and dates. */
export type ImportedContainer = ListedContainer

export interface ImportedVersion extends ObjectVersion {
  objectId: string
}

export const siteRow = (groupId: string, site: StoredSite) => ({
  id: site.id,
  group_id: groupId,
  name: site.name,
  domain_name: site.domainName,
  settings: JSON.stringify(site.settings),
  private_settings: JSON.stringify(site.privateSettings),
  version: site.version,
  created_ms: site.createdMs,
  updated_ms: site.updatedMs,
})

export const containerRow = (groupId: string, container: ImportedContainer) => ({
  id: container.id,
  group_id: groupId,
  kind: container.kind,
  name: container.name,
  schema: schemaText(container.schema),
  settings: JSON.stringify(container.settings),
  version: container.version,
  created_ms: container.createdMs,
  updated_ms: container.updatedMs,
})

export const objectRow = (groupId: string, container: Container, object: ExportedObject): ObjectRow => ({
  id: object.id,
  group_id: groupId,
  container_id: container.id,
  external_id: object.externalId,
  account_handle: object.accountHandle,
  publish_ms: object.publishMs,
  archived: object.archived ? 1 : 0,
  created_ms: object.createdMs,
  updated_ms: object.updatedMs,
  value: JSON.stringify(object.value),
  search_text: searchTextOf(container.schema, object.value),
  version: object.version,
  changed_by: object.changedBy,
  change: object.change,
  review: object.review,
  index_bytes: 0, // set with its index
  archive_ms: object.archiveMs,
})

const versionRow = (groupId: string, version: ImportedVersion): ObjectVersionRow => ({
  object_id: version.objectId,
  version: version.version,
  group_id: groupId,
  value: JSON.stringify(version.value),
  publish_ms: version.publishMs,
  archived: version.archived ? 1 : 0,
  changed_ms: version.changedMs,
  changed_by: version.changedBy,
  change: version.change,
})

export async function insertImportedSite(writer: ContentWriter, site: StoredSite): Promise<void> {
  await writer.db.insertInto('sites').values(siteRow(writer.group.groupId, site)).execute()
  writer.record({ type: 'site.created', subjectId: site.id, version: site.version, note: site.name })
  writer.bumpRevision()
}

export async function insertImportedContainer(writer: ContentWriter, container: ImportedContainer): Promise<void> {
  const { id, kind, name, version } = container
  await writer.db.insertInto('containers').values(containerRow(writer.group.groupId, container)).execute()
  writer.record({ type: `${kind}.created`, subjectId: id, version, note: name })
  writer.bumpRevision()
}

export async function insertImportedObjects(
  writer: ContentWriter,
  container: Container,
  objects: readonly ExportedObject[],
): Promise<void> {
  const rows = objects.map((object) => objectRow(writer.group.groupId, container, object))
  for (const object of await insertRows(writer, container, rows)) {
    const change = { subjectId: object.id, containerId: container.id, version: object.version }
    writer.record({ type: 'content.created', ...change })
    if (isVisible(object, writer.sweptMs)) writer.record({ type: 'content.published', ...change })
  }
  if (objects.length > 0) writer.bumpRevision()
}

/** Versions from an interrupted import are skipped. */
export async function insertImportedVersions(
  { db, group }: ContentWriter,
  versions: readonly ImportedVersion[],
): Promise<void> {
  const rows = versions.map((version) => versionRow(group.groupId, version))
  for (const batch of inBatches(rows)) {
    await db
      .insertInto('object_versions')
      .values(batch)
      .onConflict((conflict) => conflict.columns(['object_id', 'version']).doNothing())
      .execute()
  }
}

export async function insertImportedOrders(writer: ContentWriter, orders: readonly Order[]): Promise<void> {
  const rows = orders.map((order) => orderRow(writer.group.groupId, order))
  for (const batch of inBatches(rows)) await writer.db.insertInto('orders').values(batch).execute()
  for (const { id, status } of orders) writer.record({ type: 'order.created', subjectId: id, note: status })
}
