import { addressKey } from '../content/email.ts'
import { filterKeyOfText, indexRowsOf } from '../content/index-keys.ts'
import type { Filter } from '../content/list-query.ts'
import { mediaKeysIn, mediaUsesIn } from '../content/media-uses.ts'
import { type Container, isVisible, type ReviewState, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { searchTextOf } from '../content/search-text.ts'
import { checkObjectValue } from '../content/validate.ts'
import { makeId } from '../ids.ts'
import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import { mediaField, refuseMissingMedia } from './media-uses.ts'
import type { ObjectFieldRow, ObjectRow } from './tables.ts'

/** A product's account is filtered like a field; the sign keeps it apart from any field a schema can name. */
const accountHandleField = '@accountHandle'
/** Whoever subscribes twice is found by it, also where the address is private. */
export const emailField = '@email'

export const accountFilter = (handle: string): Filter => ({
  field: accountHandleField,
  keys: [filterKeyOfText(handle)],
})

export interface NewObject {
  /** Made here and now where it is not given. */
  id?: string
  value: Record<string, unknown>
  publishMs?: number
  archived?: boolean
  createdMs?: number
  externalId?: string
  accountHandle?: string
  review?: ReviewState
}

/** The columns that make an object; `search_text` and the group only find it. */
export const objectColumns = [
  'id', 'container_id', 'external_id', 'account_handle', 'publish_ms', 'archived', 'created_ms', 'updated_ms', 'value',
  'version', 'review',
] as const // biome-ignore format: two lines read better

export function toStoredObject(row: Pick<ObjectRow, (typeof objectColumns)[number]>): StoredObject {
  return {
    id: row.id,
    value: JSON.parse(row.value),
    publishMs: row.publish_ms,
    archived: row.archived !== 0,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    externalId: row.external_id,
    accountHandle: row.account_handle,
    version: row.version,
    review: row.review as ReviewState | null, // checked when it was written
  }
}

function toRow({ group, author, nowMs }: ContentWriter, container: Container, input: NewObject): ObjectRow {
  checkObjectValue(container.schema, group.groupId, input.value)
  return {
    id: input.id ?? makeId(),
    group_id: group.groupId,
    container_id: container.id,
    external_id: input.externalId ?? null,
    account_handle: input.accountHandle ?? '',
    publish_ms: input.publishMs ?? unsetPublishMs,
    archived: input.archived ? 1 : 0,
    created_ms: input.createdMs ?? nowMs,
    updated_ms: nowMs,
    value: JSON.stringify(input.value),
    search_text: searchTextOf(container.schema, input.value),
    version: 1,
    changed_by: author.name,
    change: 'created',
    review: input.review ?? null,
  }
}

/** What the index must hold of an object. */
export function fieldRowsOf(container: Container, object: StoredObject): ObjectFieldRow[] {
  const place = {
    object_id: object.id,
    container_id: container.id,
    archived: object.archived ? 1 : 0,
    publish_ms: object.publishMs,
  }
  const { email } = object.value
  const unsorted = (field: string, text: string) => ({ field, filterKey: filterKeyOfText(text), sortKey: null })
  return [
    ...indexRowsOf(container.schema, object.value),
    ...(container.kind === 'integration' ? [unsorted(accountHandleField, object.accountHandle)] : []),
    ...(typeof email === 'string' && email !== '' ? [unsorted(emailField, addressKey(email))] : []),
    ...mediaKeysIn(container.schema, object.value).map((key) => unsorted(mediaField, key)),
  ].map(({ field, filterKey, sortKey }) => ({ ...place, field, filter_key: filterKey, sort_key: sortKey }))
}

/** Objects and their index belong together: nothing else inserts into either table. */
export async function insertRows(
  { db }: ContentWriter,
  container: Container,
  rows: readonly ObjectRow[],
): Promise<StoredObject[]> {
  const objects = rows.map(toStoredObject)
  for (const batch of inBatches(rows)) await db.insertInto('objects').values(batch).execute()
  const fieldRows = objects.flatMap((object) => fieldRowsOf(container, object))
  for (const batch of inBatches(fieldRows)) await db.insertInto('object_fields').values(batch).execute()
  return objects
}

/** Stores new objects, all or none of them. The container must have been read in the same transaction. */
export async function insertObjects(
  writer: ContentWriter,
  container: Container,
  inputs: readonly NewObject[],
): Promise<StoredObject[]> {
  const rows = inputs.map((input) => toRow(writer, container, input))
  const shown = inputs.flatMap(({ value }) => mediaUsesIn(container.schema, value))
  await refuseMissingMedia(writer, [], shown)
  const objects = await insertRows(writer, container, rows)
  for (const object of objects) {
    const change = { subjectId: object.id, containerId: container.id, version: object.version }
    writer.record({ type: 'content.created', ...change })
    if (isVisible(object, writer.noticedMs)) writer.record({ type: 'content.published', ...change })
  }
  if (objects.length > 0) writer.touch()
  return objects
}

export interface FoundObject {
  containerId: string
  object: StoredObject
}

/** Whatever their state, in no order. Those that the group does not have are not there. */
export async function findObjects({ groupId, database }: GroupStore, ids: readonly string[]): Promise<FoundObject[]> {
  if (ids.length === 0) return []
  const rows = await database.read
    .selectFrom('objects')
    .select(objectColumns)
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  return rows.map((row) => ({ containerId: row.container_id, object: toStoredObject(row) }))
}

/** Whatever its state: for previews, which bypass visibility (spec §3). */
export async function findObject(group: GroupStore, id: string): Promise<FoundObject | undefined> {
  return (await findObjects(group, [id]))[0]
}
