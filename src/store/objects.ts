import { sql } from 'kysely'
import { addressKey } from '../content/email.ts'
import { filterKeyOfText, indexRowsOf } from '../content/index-keys.ts'
import type { Filter } from '../content/list-query.ts'
import { type MediaUse, mediaKeysIn, mediaUsesIn } from '../content/media-uses.ts'
import { type Container, isVisible, type ReviewState, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { searchTextOf } from '../content/search-text.ts'
import { checkObjectValue } from '../content/validate.ts'
import { inPieces, takePiece } from '../heavy-work.ts'
import { makeId } from '../ids.ts'
import type { Authoring, ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import { mediaField, refuseMissingMedia } from './media-uses.ts'
import { indexBytesOf, insertIndexRows } from './object-index.ts'
import { createPauses } from './sqlite/connection.ts'
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

function toRow(groupId: string, { author, nowMs }: Authoring, container: Container, input: NewObject): ObjectRow {
  return {
    id: input.id ?? makeId(),
    group_id: groupId,
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
    index_bytes: 0, // known with its index
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

/** An object that is about to be stored, and all that belongs to it. */
interface PreparedObject {
  row: ObjectRow
  object: StoredObject
  fieldRows: ObjectFieldRow[]
}

function prepareRow(container: Container, row: ObjectRow): PreparedObject {
  const object = toStoredObject(row)
  const fieldRows = fieldRowsOf(container, object)
  return { row: { ...row, index_bytes: indexBytesOf(fieldRows) }, object, fieldRows }
}

/** Objects and their index belong together: nothing else inserts into either table. */
async function insertPrepared(writer: ContentWriter, prepared: readonly PreparedObject[]): Promise<StoredObject[]> {
  writer.spend({
    indexRows: prepared.reduce((sum, { fieldRows }) => sum + fieldRows.length, 0),
    bytes: prepared.reduce((sum, { row }) => sum + Buffer.byteLength(row.value), 0),
  })
  for (const batch of inBatches(prepared)) {
    const rows = batch.map(({ row }) => row)
    await writer.db.insertInto('objects').values(rows).execute()
  }
  await insertIndexRows(
    writer,
    prepared.flatMap(({ fieldRows }) => fieldRows),
  )
  return prepared.map(({ object }) => object)
}

export function insertRows(
  writer: ContentWriter,
  container: Container,
  rows: readonly ObjectRow[],
): Promise<StoredObject[]> {
  const prepared = rows.map((row) => prepareRow(container, row))
  return insertPrepared(writer, prepared)
}

/** New objects that fit their container, as it was when they were made. */
export interface PreparedObjects {
  container: Container
  objects: PreparedObject[]
  shown: MediaUse[]
  /** The same for a container that was changed meanwhile. */
  prepareFor(container: Container): Promise<PreparedObjects>
}

/**
 * Checks new objects, and makes all that is to be written of them. Outside of a transaction, so that nobody waits for it;
 * others of this process are let in between. `look` is told of each object's position, for who wants to name it.
 */
export async function prepareObjects(
  { groupId }: Pick<GroupStore, 'groupId'>,
  authoring: Authoring,
  container: Container,
  inputs: readonly NewObject[],
  look: (position: number, check: () => void) => void = (_, check) => check(),
): Promise<PreparedObjects> {
  const pause = createPauses()
  const objects: PreparedObject[] = []
  const shown: MediaUse[] = []
  for (const [position, input] of inputs.entries()) {
    await pause()
    look(position, () => checkObjectValue(container.schema, groupId, input.value))
    objects.push(prepareRow(container, toRow(groupId, authoring, container, input)))
    shown.push(...mediaUsesIn(container.schema, input.value))
  }
  const prepareFor = (other: Container) => prepareObjects({ groupId }, authoring, other, inputs, look)
  return { container, objects, shown, prepareFor }
}

/** Stores what was prepared, all or none of it. `current` is the container as the transaction sees it. */
export async function insertPreparedObjects(
  writer: ContentWriter,
  current: Container,
  given: PreparedObjects,
): Promise<StoredObject[]> {
  const isCurrent = given.container.id === current.id && given.container.version === current.version
  const prepared = isCurrent ? given : await given.prepareFor(current)
  await refuseMissingMedia(writer, [], prepared.shown)
  const objects = await insertPrepared(writer, prepared.objects)
  for (const object of objects) {
    const change = { subjectId: object.id, containerId: current.id, version: object.version }
    writer.record({ type: 'content.created', ...change })
    if (isVisible(object, writer.noticedMs)) writer.record({ type: 'content.published', ...change })
  }
  if (objects.length > 0) writer.touch()
  return objects
}

/** Stores new objects, all or none of them. The container must have been read in the same transaction. */
export async function insertObjects(
  writer: ContentWriter,
  container: Container,
  inputs: readonly NewObject[],
): Promise<StoredObject[]> {
  return insertPreparedObjects(writer, container, await prepareObjects(writer.group, writer, container, inputs))
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
  const found: FoundObject[] = []
  for (const { items, characters } of inPieces(rows, ({ value }) => value.length)) {
    await takePiece(characters)
    found.push(...items.map((row) => ({ containerId: row.container_id, object: toStoredObject(row) })))
  }
  return found
}

/** Which container an object is in, whatever its state; reads no value. */
export async function findContainerIdOf({ groupId, database }: GroupStore, id: string): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('objects')
    .select('container_id')
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.container_id
}

/** How many bytes of JSON each of them holds; reads no value. */
export async function measureObjects(
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await database.read
    .selectFrom('objects')
    .select(['id', sql<number>`octet_length(value)`.as('bytes')])
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, bytes }) => [id, bytes]))
}

/** Whatever its state: for previews, which bypass visibility (spec §3). */
export async function findObject(group: GroupStore, id: string): Promise<FoundObject | undefined> {
  return (await findObjects(group, [id]))[0]
}
