import type { ContentWriter } from './changes.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'

const rowsPerRead = 200

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

/** All of a kind that are older than one of them, newest first; or those that are newer, oldest first. */
export async function* eachSandboxObject(
  { groupId, database }: GroupStore,
  integrationId: string,
  kind: string,
  beyond: { olderThan?: number | undefined } | { newerThan: number } = {},
): AsyncGenerator<SandboxObject> {
  const ascending = 'newerThan' in beyond
  for (let last = ascending ? beyond.newerThan : beyond.olderThan; ; ) {
    const rows: SandboxObject[] = await database.read
      .selectFrom('sandbox_objects')
      .select(columns)
      .where('group_id', '=', groupId)
      .where('integration_id', '=', integrationId)
      .where('kind', '=', kind)
      .$if(last !== undefined, (query) => query.where('seq', ascending ? '>' : '<', last as number))
      .orderBy('seq', ascending ? 'asc' : 'desc')
      .limit(rowsPerRead)
      .execute()
    yield* rows
    if (rows.length < rowsPerRead) return
    last = rows.at(-1)?.seq
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
    .set({ data })
    .where('group_id', '=', writer.group.groupId)
    .where('integration_id', '=', integrationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) return
  await addSandboxObjects(writer, integrationId, kind, [{ id, data }])
}

/** New ones of a kind, the last of which is the newest. */
export async function addSandboxObjects(
  { db, group: { groupId } }: ContentWriter,
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
