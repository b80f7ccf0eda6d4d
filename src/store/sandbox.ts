import type { Transaction } from 'kysely'
import type { ContentWriter } from './changes.ts'
import type { Database } from './database.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import type { ContentTables } from './tables.ts'

const rowsPerRead = 200
const rowsPerDelete = 500
const dayMs = 24 * 3_600_000

/** Since it was written last. What is of another kind stays. */
const keptMs = { kept_answer: dayMs, session: 30 * dayMs, event: 30 * dayMs }

/** Something that the stand-in for a payment provider remembers, as JSON. `seq` counts those of its kind. */
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

/** All of a kind, or those that came before one of them, newest first. */
export async function* eachSandboxObject(
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

/** Takes the place of what has this id. Otherwise it is the newest of its kind: writers of a group take turns. */
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

/** New ones of a kind, the last of which is the newest. */
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

export async function deleteSandboxObject(
  { db, group: { groupId } }: ContentWriter,
  integrationId: string,
  id: string,
): Promise<void> {
  await db
    .deleteFrom('sandbox_objects')
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)
    .where('id', '=', id)
    .execute()
}

/** Deletes what nobody asks for any more, a part at a time, so that nobody waits long. */
export async function pruneSandbox(database: Database<ContentTables>, nowMs: number): Promise<void> {
  for (const [kind, ms] of Object.entries(keptMs))
    while (await database.write((db) => deleteSome(db, kind, nowMs - ms)));
}

async function deleteSome(db: Transaction<ContentTables>, kind: string, untilMs: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sandbox_objects')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('integration_id', 'id'),
        'in',
        selectFrom('sandbox_objects')
          .select(['integration_id', 'id'])
          .where('kind', '=', kind)
          .where('updated_ms', '<=', untilMs)
          .limit(rowsPerDelete)
          .$asTuple('integration_id', 'id'),
      ),
    )
    .executeTakeFirst()
  return numDeletedRows === BigInt(rowsPerDelete)
}
