import { type Container, isVisible, type StoredSite } from '../content/model.ts'
import { searchTextOf } from '../content/search-text.ts'
import type { ContentWriter } from './changes.ts'
import { type ListedContainer, schemaText } from './containers.ts'
import type { WholeObject } from './export-rows.ts'
import { inBatches } from './in-batches.ts'
import { insertRows } from './objects.ts'
import { type Order, orderRow } from './orders.ts'
import type { ObjectRow, ObjectVersionRow } from './tables.ts'
import type { ObjectVersion } from './versions.ts'

/** What comes from elsewhere with its ids, versions and dates. All of it was checked before. */
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

export const objectRow = (groupId: string, container: Container, object: WholeObject): ObjectRow => ({
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
  index_bytes: 0, // known with its index
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
  writer.touch()
}

export async function insertImportedContainer(writer: ContentWriter, container: ImportedContainer): Promise<void> {
  const { id, kind, name, version } = container
  await writer.db.insertInto('containers').values(containerRow(writer.group.groupId, container)).execute()
  writer.record({ type: `${kind}.created`, subjectId: id, version, note: name })
  writer.touch()
}

export async function insertImportedObjects(
  writer: ContentWriter,
  container: Container,
  objects: readonly WholeObject[],
): Promise<void> {
  const rows = objects.map((object) => objectRow(writer.group.groupId, container, object))
  for (const object of await insertRows(writer, container, rows)) {
    const change = { subjectId: object.id, containerId: container.id, version: object.version }
    writer.record({ type: 'content.created', ...change })
    if (isVisible(object, writer.noticedMs)) writer.record({ type: 'content.published', ...change })
  }
  if (objects.length > 0) writer.touch()
}

/** Of objects that are there. A version that an interrupted import has brought already stays as it is. */
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
