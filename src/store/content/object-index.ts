import { CompiledQuery, type Transaction } from 'kysely'
import { inBatches } from '../engine/database.ts'
import { createSqlBuilder, isOneOf, type SqlBuilder } from '../engine/statement.ts'
import type { ContentTables, ObjectFieldRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'

/** Bounds how long one statement blocks the event loop with SQLite. */
const rowsPerStatement = 1000

type IndexWriter = Pick<ContentWriter, 'db' | 'group'>

/** Raw SQL, because compiling such a statement with Kysely takes longer than running it. */
async function run(db: Transaction<ContentTables>, text: string, { parameters }: SqlBuilder): Promise<void> {
  await db.executeQuery(CompiledQuery.raw(text, parameters))
}

const listOf = ({ bind }: SqlBuilder, values: readonly unknown[]): string => `(${values.map(bind).join(', ')})`

const columns = ['object_id', 'field', 'filter_key', 'sort_key', 'container_id', 'archived', 'publish_ms'] as const

/** Existing stale rows are corrected, so that a write repairs the index. */
const onConflict = `on conflict (object_id, field, filter_key) do update set ${[
  'sort_key',
  'container_id',
  'archived',
  'publish_ms',
]
  .map((column) => `${column} = excluded.${column}`)
  .join(', ')}`

export async function insertIndexRows({ db, group }: IndexWriter, rows: readonly ObjectFieldRow[]): Promise<void> {
  for (const batch of inBatches(rows)) {
    const draft = createSqlBuilder(group.database)
    const values = batch.map((row) => listOf(draft, columns.map((column) => row[column]))) // biome-ignore format: short
    await run(
      db,
      `insert into ${draft.table('object_fields')} (${columns.join(', ')}) values ${values.join(', ')} ${onConflict}`,
      draft,
    )
  }
}

/** Must equal `indexRowBytes` of the migration. */
export const indexBytesOf = (rows: readonly Pick<ObjectFieldRow, 'filter_key' | 'sort_key'>[]): number =>
  rows.reduce(
    (sum, row) => sum + 250 + 4 * Buffer.byteLength(row.filter_key) + 2 * Buffer.byteLength(row.sort_key ?? ''),
    0,
  )

type RowKey = Pick<ObjectFieldRow, 'object_id' | 'field' | 'filter_key'>

export async function deleteIndexRows({ db, group }: IndexWriter, keys: readonly RowKey[]): Promise<void> {
  for (const batch of inBatches(keys)) {
    const draft = createSqlBuilder(group.database)
    const values = batch.map(({ object_id, field, filter_key }) => listOf(draft, [object_id, field, filter_key]))
    const isNamed = `(object_id, field, filter_key) in (values ${values.join(', ')})`
    await run(db, `delete from ${draft.table('object_fields')} where ${isNamed}`, draft)
  }
}

interface WantedRows {
  containerIds: readonly string[]
  field: string
  filterKeys: readonly string[]
}

/**
 * Selects index rows by their keys. PostgreSQL looks up each key by itself: without statistics, after many writes, it would
 * otherwise read all rows of the field. The order is that of the index by key, so that this one is chosen.
 */
export function selectByKeys(draft: SqlBuilder, { containerIds, field, filterKeys }: WantedRows): string {
  const table = draft.table('object_fields')
  const columns = 'object_id, container_id, filter_key'
  if (draft.engine === 'sqlite')
    return `select ${columns} from ${table} where ${isOneOf(draft, 'container_id', containerIds)} and field = ${draft.bind(field)} and ${isOneOf(draft, 'filter_key', filterKeys)}`
  const listed = (values: readonly string[]): string => `unnest(${draft.bind(values)}::text[])`
  return `select f.* from ${listed(containerIds)} as c(id) cross join ${listed(filterKeys)} as k(key) cross join lateral (select ${columns} from ${table} where container_id = c.id and field = ${draft.bind(field)} and filter_key = k.key order by archived, publish_ms, object_id) as f`
}

/** The number of rows for each field of some objects. */
export interface FieldCount {
  objectId: string
  field: string
  rows: number
}

export async function countIndexRows({ database }: GroupStore, objectIds: readonly string[]): Promise<FieldCount[]> {
  if (objectIds.length === 0) return []
  const rows = await database.read
    .selectFrom('object_fields')
    .select(({ fn }) => ['object_id as objectId', 'field', fn.countAll<number>().as('rows')])
    .where('object_id', 'in', objectIds)
    .groupBy(['object_id', 'field'])
    .execute()
  return rows.map((row) => ({ ...row, rows: Number(row.rows) }))
}

export const sumOfRows = (counts: readonly FieldCount[]): number => counts.reduce((sum, { rows }) => sum + rows, 0)

/** Some objects as a whole, or some fields of a large one. */
interface Part {
  objectIds: string[]
  fields?: string[]
}

/** Batches items up to `rowsPerStatement`; a larger item is a batch of its own. */
function* inParts<Item>(items: readonly Item[], rowsOf: (item: Item) => number): Generator<Item[]> {
  let part: Item[] = []
  let rows = 0
  for (const item of items) {
    if (rows + rowsOf(item) > rowsPerStatement && part.length > 0) {
      yield part
      part = []
      rows = 0
    }
    part.push(item)
    rows += rowsOf(item)
  }
  if (part.length > 0) yield part
}

function* statementsOf(counts: readonly FieldCount[]): Generator<Part> {
  const objects = [...Map.groupBy(counts, ({ objectId }) => objectId)]
  const [large, small] = [true, false].map((isLarge) =>
    objects.filter(([, fields]) => sumOfRows(fields) > rowsPerStatement === isLarge),
  )
  for (const part of inParts(small ?? [], ([, fields]) => sumOfRows(fields)))
    yield { objectIds: part.map(([objectId]) => objectId) }
  for (const [objectId, ofObject] of large ?? [])
    for (const part of inParts(ofObject, ({ rows }) => rows))
      yield { objectIds: [objectId], fields: part.map(({ field }) => field) }
}

function isAmong(draft: SqlBuilder, { objectIds, fields }: Part): string {
  const isObject = isOneOf(draft, 'object_id', objectIds)
  return fields ? `${isObject} and ${isOneOf(draft, 'field', fields)}` : isObject
}

/** Updates the state of objects in all their index rows. */
export async function moveIndexRows(
  { db, group }: IndexWriter,
  counts: readonly FieldCount[],
  { archived, publishMs }: { archived: boolean; publishMs: number },
): Promise<void> {
  for (const part of statementsOf(counts)) {
    const draft = createSqlBuilder(group.database)
    const state = `archived = ${draft.bind(archived ? 1 : 0)}, publish_ms = ${draft.bind(publishMs)}`
    await run(db, `update ${draft.table('object_fields')} set ${state} where ${isAmong(draft, part)}`, draft)
  }
}

/** Before objects are deleted; the database's cascade would delete all rows in one statement. */
export async function deleteWholeIndex({ db, group }: IndexWriter, counts: readonly FieldCount[]): Promise<void> {
  for (const part of statementsOf(counts)) {
    const draft = createSqlBuilder(group.database)
    await run(db, `delete from ${draft.table('object_fields')} where ${isAmong(draft, part)}`, draft)
  }
}
