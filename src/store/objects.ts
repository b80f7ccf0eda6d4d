import type { Transaction } from 'kysely'
import { filterKeyOfText, indexRowsOf } from '../content/index-keys.ts'
import type { Filter } from '../content/list-query.ts'
import { type Container, type StoredObject, unsetPublishMs } from '../content/model.ts'
import { searchTextOf } from '../content/search-text.ts'
import { checkObjectValue } from '../content/validate.ts'
import { makeId } from '../ids.ts'
import type { GroupStore } from './groups.ts'
import { writeContent } from './revisions.ts'
import type { ContentTables, ObjectFieldRow, ObjectRow } from './tables.ts'

/** Few enough for a statement that is worth keeping prepared, many enough to make the trip worth it. */
const rowsPerInsert = 100

/** A product's account is filtered like a field; the sign keeps it apart from any field a schema can name. */
const accountHandleField = '@accountHandle'

export const accountFilter = (handle: string): Filter => ({
  field: accountHandleField,
  keys: [filterKeyOfText(handle)],
})

export interface NewObject {
  value: Record<string, unknown>
  publishMs?: number
  archived?: boolean
  createdMs?: number
  externalId?: string
  accountHandle?: string
}

export function toStoredObject(row: Omit<ObjectRow, 'group_id' | 'search_text'>): StoredObject {
  return {
    id: row.id,
    value: JSON.parse(row.value),
    publishMs: row.publish_ms,
    archived: row.archived !== 0,
    createdMs: row.created_ms,
    updatedMs: row.updated_ms,
    externalId: row.external_id,
    accountHandle: row.account_handle,
  }
}

function toRow({ groupId }: GroupStore, container: Container, input: NewObject, nowMs: number): ObjectRow {
  checkObjectValue(container.schema, groupId, input.value)
  return {
    id: makeId(),
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
  }
}

function fieldRowsOf(container: Container, row: ObjectRow): ObjectFieldRow[] {
  const { id, archived, publish_ms } = row
  const place = { object_id: id, container_id: container.id, archived, publish_ms }
  const account = { field: accountHandleField, filterKey: filterKeyOfText(row.account_handle), sortKey: null }
  return [
    ...indexRowsOf(container.schema, JSON.parse(row.value)),
    ...(container.kind === 'integration' ? [account] : []),
  ].map(({ field, filterKey, sortKey }) => ({ ...place, field, filter_key: filterKey, sort_key: sortKey }))
}

function* inBatches<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += rowsPerInsert) yield rows.slice(start, start + rowsPerInsert)
}

/** Objects and their index belong together: nothing else inserts into either table. */
export async function insertObjects(
  db: Transaction<ContentTables>,
  group: GroupStore,
  container: Container,
  inputs: readonly NewObject[],
  nowMs: number,
): Promise<StoredObject[]> {
  const rows = inputs.map((input) => toRow(group, container, input, nowMs))
  for (const batch of inBatches(rows)) await db.insertInto('objects').values(batch).execute()
  const fieldRows = rows.flatMap((row) => fieldRowsOf(container, row))
  for (const batch of inBatches(fieldRows)) await db.insertInto('object_fields').values(batch).execute()
  return rows.map(toStoredObject)
}

/** Stores all of the objects, or none of them. */
export function createObjects(
  group: GroupStore,
  container: Container,
  inputs: readonly NewObject[],
  nowMs: number,
): Promise<StoredObject[]> {
  return writeContent(group, (db) => insertObjects(db, group, container, inputs, nowMs))
}

/** Whatever its state: for previews, which bypass visibility (spec §3). */
export async function findObject(
  { groupId, database }: GroupStore,
  id: string,
): Promise<{ containerId: string; object: StoredObject } | undefined> {
  const row = await database.read
    .selectFrom('objects')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && { containerId: row.container_id, object: toStoredObject(row) }
}
