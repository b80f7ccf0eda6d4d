import type { Container } from '../content/model.ts'
import { type Field, parseSchema } from '../content/schema.ts'
import { makeId } from '../ids.ts'
import type { GroupStore } from './groups.ts'
import { writeContent } from './revisions.ts'
import type { ContainerRow } from './tables.ts'

/** A stored schema was checked when it was written; a rule that is tightened later must not break what is there. */
function toContainer(row: Pick<ContainerRow, 'id' | 'kind' | 'name' | 'schema'>): Container {
  const schema = new Map(Object.entries(JSON.parse(row.schema) as Record<string, Field>))
  return { id: row.id, kind: row.kind, name: row.name, schema }
}

/** A collection by its name, or an integration by its type. `schema` is as an author writes it. */
export async function createContainer(
  group: GroupStore,
  input: { kind: Container['kind']; name: string; schema: unknown },
  nowMs: number,
): Promise<Container> {
  const schema = parseSchema(input.schema)
  const row: ContainerRow = {
    id: makeId(),
    group_id: group.groupId,
    kind: input.kind,
    name: input.name,
    schema: JSON.stringify(Object.fromEntries(schema)),
    created_ms: nowMs,
    updated_ms: nowMs,
  }
  await writeContent(group, (db) => db.insertInto('containers').values(row).execute())
  return { id: row.id, kind: row.kind, name: row.name, schema }
}

async function findContainer(
  { groupId, database }: GroupStore,
  where: Partial<Pick<ContainerRow, 'id' | 'kind' | 'name'>>,
): Promise<Container | undefined> {
  const row = await database.read
    .selectFrom('containers')
    .select(['id', 'kind', 'name', 'schema'])
    .where((eb) => eb.and({ group_id: groupId, ...where }))
    .executeTakeFirst()
  return row && toContainer(row)
}

export const findCollection = (group: GroupStore, id: string): Promise<Container | undefined> =>
  findContainer(group, { kind: 'collection', id })

export const findIntegration = (group: GroupStore, type: string): Promise<Container | undefined> =>
  findContainer(group, { kind: 'integration', name: type })

export const findContainerById = (group: GroupStore, id: string): Promise<Container | undefined> =>
  findContainer(group, { id })
