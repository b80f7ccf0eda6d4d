import type { Transaction } from 'kysely'
import type { Container, StoredObject } from '../content/delivery.ts'
import { indexRowsOf } from '../content/index-keys.ts'
import type { Filter } from '../content/list-query.ts'
import { searchTextOf } from '../content/search-text.ts'
import { checkObjectValue } from '../content/validate.ts'
import { unsetPublishMs } from '../content/visibility.ts'
import { makeId } from '../ids.ts'
import type { GroupStore } from './groups.ts'
import { bumpRevision } from './revisions.ts'
import type { ContentTables, ObjectFieldRow, ObjectRow } from './tables.ts'

/** Rows per statement: 7 columns each, well below PostgreSQL's 65,535 and SQLite's 32,766 bound values. */
const rowsPerInsert = 1000

/** A product's account is filtered like a field; the sign keeps it apart from any field a schema can name. */
const accountHandleField = '@accountHandle'
const accountHandleKey = (handle: string): string => `=${handle}`
export const accountFilter = (handle: string): Filter => ({
  field: accountHandleField,
  keys: [accountHandleKey(handle)],
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

function fieldRowsOf(container: Container, row: ObjectRow, value: Record<string, unknown>): ObjectFieldRow[] {
  const place = {
    object_id: row.id,
    container_id: container.id,
    archived: row.archived,
    publish_ms: row.publish_ms,
  }
  const rows = indexRowsOf(container.schema, value).map(({ field, filterKey, sortKey }) => ({
    ...place,
    field,
    filter_key: filterKey,
    sort_key: sortKey,
  }))
  if (row.account_handle === null) return rows
  return [
    ...rows,
    { ...place, field: accountHandleField, filter_key: accountHandleKey(row.account_handle), sort_key: null },
  ]
}

async function insertAll(
  db: Transaction<ContentTables>,
  table: 'objects' | 'object_fields',
  rows: object[],
): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerInsert) {
    await db
      .insertInto(table)
      .values(rows.slice(start, start + rowsPerInsert) as never)
      .execute()
  }
}

/** Stores objects and their index in one transaction, or none of them. */
export async function createObjects(
  { groupId, database }: GroupStore,
  container: Container,
  inputs: readonly NewObject[],
  nowMs: number,
): Promise<StoredObject[]> {
  const rows = inputs.map((input): ObjectRow => {
    checkObjectValue(container.schema, groupId, input.value)
    return {
      id: makeId(),
      group_id: groupId,
      container_id: container.id,
      external_id: input.externalId ?? null,
      account_handle: input.accountHandle ?? null,
      publish_ms: input.publishMs ?? unsetPublishMs,
      archived: input.archived ? 1 : 0,
      created_ms: input.createdMs ?? nowMs,
      updated_ms: nowMs,
      value: JSON.stringify(input.value),
      search_text: searchTextOf(container.schema, input.value),
    }
  })
  const fieldRows = rows.flatMap((row, position) => fieldRowsOf(container, row, inputs[position]?.value ?? {}))
  await database.write(async (db) => {
    await insertAll(db, 'objects', rows)
    await insertAll(db, 'object_fields', fieldRows)
    await bumpRevision(db, groupId)
  })
  return rows.map(toStoredObject)
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
