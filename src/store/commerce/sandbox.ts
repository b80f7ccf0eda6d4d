import { sql } from 'kysely'
import { dayMs } from '../../core/clock.ts'
import type { ContentWriter } from '../content/changes.ts'
import { type Database, deleteInBatches, inBatches } from '../engine/database.ts'
import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

const rowsPerRead = 200

/** Retention after the last write, by kind; other kinds are kept. Events were written up to 0.6. */
const keptMs = { kept_answer: dayMs, session: 30 * dayMs, event: 30 * dayMs }

/** An object of the sandbox, as JSON. `seq` numbers the objects of a kind. */
export interface SandboxObject {
  id: string
  kind: string
  data: string
  seq: number
}

const columns = ['id', 'kind', 'data', 'seq'] as const

export async function findSandboxObject(
  { groupId, database }: GroupStore,
  integrationId: string,
  id: string,
): Promise<SandboxObject | undefined> {
  return database.read
    .selectFrom('sandbox_objects')
    .select(columns)
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The objects of a kind, or those before `beforeSeq`, newest first. */
export async function* iterateSandboxObjects(
  { groupId, database }: GroupStore,
  integrationId: string,
  kind: string,
  beforeSeq?: number,
): AsyncGenerator<SandboxObject> {
  for (let last = beforeSeq ?? Number.MAX_SAFE_INTEGER; ; ) {
    const rows: SandboxObject[] = await database.read
      .selectFrom('sandbox_objects')
      .select(columns)
      .where('group_id', '=', groupId)
      .where('integration_id', '=', integrationId)
      .where('kind', '=', kind)
      .where('seq', '<', last)
      .orderBy('seq', 'desc')
      .limit(rowsPerRead)
      .execute()
    yield* rows
    const lastRow = rows.at(-1)
    if (!lastRow || rows.length < rowsPerRead) return
    last = lastRow.seq
  }
}

/** Replaces the object with this id, or adds it as the newest of its kind. */
export async function putSandboxObject(
  writer: ContentWriter,
  integrationId: string,
  { id, kind, data }: Omit<SandboxObject, 'seq'>,
): Promise<void> {
  const { numUpdatedRows } = await writer.db
    .updateTable('sandbox_objects')
    .set({ data, updated_ms: writer.nowMs })
    .where('group_id', '=', writer.group.groupId)
    .where('integration_id', '=', integrationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return
  await addSandboxObjects(writer, integrationId, kind, [{ id, data }])
}

/** Adds objects of a kind, oldest first. Their numbers are unique because a group has one writer at a time. */
export async function addSandboxObjects(
  { db, group: { groupId }, nowMs }: ContentWriter,
  integrationId: string,
  kind: string,
  objects: readonly Pick<SandboxObject, 'id' | 'data'>[],
): Promise<void> {
  const newest = await db
    .selectFrom('sandbox_objects')
    .select('seq')
    .where('integration_id', '=', integrationId)
    .where('kind', '=', kind)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const first = (newest?.seq ?? 0) + 1
  const rows = objects.map(({ id, data }, position) => ({
    integration_id: integrationId,
    id,
    group_id: groupId,
    kind,
    data,
    seq: first + position,
    updated_ms: nowMs,
  }))
  for (const batch of inBatches(rows)) await db.insertInto('sandbox_objects').values(batch).execute()
}

/** Deletes objects whose retention has ended. */
export async function pruneSandbox(database: Database<ContentTables>, nowMs: number): Promise<void> {
  for (const [kind, ms] of Object.entries(keptMs))
    await deleteInBatches(database, 'sandbox_objects', sql`kind = ${kind} and updated_ms <= ${nowMs - ms}`)
}
