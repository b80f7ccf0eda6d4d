import type { Container } from '../content/delivery.ts'
import { parseSchema } from '../content/schema.ts'
import { makeId } from '../ids.ts'
import type { GroupStore } from './groups.ts'
import { bumpRevision } from './revisions.ts'
import type { ContainerRow } from './tables.ts'

export type ContainerKind = ContainerRow['kind']
export type StoredContainer = Container & { kind: ContainerKind }

function toContainer(row: Pick<ContainerRow, 'id' | 'kind' | 'name' | 'schema'>): StoredContainer {
  return { id: row.id, kind: row.kind, name: row.name, schema: parseSchema(JSON.parse(row.schema)) }
}

/** A collection by its name, or an integration by its type. `schema` is as an author writes it. */
export async function createContainer(
  { groupId, database }: GroupStore,
  input: { kind: ContainerKind; name: string; schema: unknown },
  nowMs: number,
): Promise<StoredContainer> {
  const schema = parseSchema(input.schema)
  const row: ContainerRow = {
    id: makeId(),
    group_id: groupId,
    kind: input.kind,
    name: input.name,
    schema: JSON.stringify(Object.fromEntries(schema)),
    created_ms: nowMs,
    updated_ms: nowMs,
  }
  await database.write(async (db) => {
    await db.insertInto('containers').values(row).execute()
    await bumpRevision(db, groupId)
  })
  return { id: row.id, kind: row.kind, name: row.name, schema }
}

async function findContainer(
  { groupId, database }: GroupStore,
  kind: ContainerKind | undefined,
  column: 'id' | 'name',
  value: string,
): Promise<StoredContainer | undefined> {
  const row = await database.read
    .selectFrom('containers')
    .select(['id', 'kind', 'name', 'schema'])
    .where('group_id', '=', groupId)
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind as ContainerKind))
    .where(column, '=', value)
    .executeTakeFirst()
  return row && toContainer(row)
}

export const findCollection = (group: GroupStore, id: string): Promise<StoredContainer | undefined> =>
  findContainer(group, 'collection', 'id', id)

export const findIntegration = (group: GroupStore, type: string): Promise<StoredContainer | undefined> =>
  findContainer(group, 'integration', 'name', type)

export const findContainerById = (group: GroupStore, id: string): Promise<StoredContainer | undefined> =>
  findContainer(group, undefined, 'id', id)
