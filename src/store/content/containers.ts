import { type Selectable, sql } from 'kysely'
import type { Container, ContainerSettings } from '../../content/model.ts'
import { fieldsReferringTo, withRenamedCollection } from '../../content/references.ts'
import type { Schema } from '../../content/schema.ts'
import { isName } from '../../content/texts.ts'
import { conflict, invalid } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import { createSqlBuilder, isOneOf, runStatement, type SqlBuilder } from '../engine/statement.ts'
import { insertJob } from '../jobs/jobs.ts'
import type { ContainerRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { deleteIfFew, hideContainer } from './purge.ts'
import { dueColumn, revisionColumns } from './revisions.ts'
import { parseStoredSchema, schemaText } from './stored-schema.ts'

const containerColumns = ['id', 'kind', 'name', 'schema', 'settings', 'version'] as const

type StoredContainer = Pick<Selectable<ContainerRow>, (typeof containerColumns)[number]>

function toContainer(row: StoredContainer): Container {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    schema: parseStoredSchema(row.schema),
    settings: JSON.parse(row.settings),
    version: row.version,
  }
}

export interface NewContainer {
  kind: Container['kind']
  /** A collection by its name, or an integration by its type. */
  name: string
  schema: Schema
  settings?: ContainerSettings
}

async function checkName(writer: ContentWriter, kind: Container['kind'], name: string): Promise<void> {
  if (!isName(name)) throw invalid('name must be 1 to 200 characters, all of them printable.')
  if (await findContainer(writer.group, { kind, name })) throw conflict(`There is already a ${kind} "${name}".`)
}

export async function insertContainer(writer: ContentWriter, input: NewContainer): Promise<Container> {
  const { kind, name, schema, settings = {} } = input
  const id = makeId()
  const { db, group, nowMs } = writer
  await checkName(writer, kind, name)
  await db
    .insertInto('containers')
    .values({
      id,
      group_id: group.groupId,
      kind,
      name,
      schema: schemaText(schema),
      settings: JSON.stringify(settings),
      created_ms: nowMs,
      updated_ms: nowMs,
    })
    .execute()
  writer.record({ type: `${kind}.created`, subjectId: id, version: 1, note: name })
  writer.bumpRevision()
  return { id, kind, name, schema, settings, version: 1 }
}

/** Writes the differences; `changeSchema` migrates objects and their index. Schemas that name the container follow its name. */
export async function updateContainer(
  writer: ContentWriter,
  before: Container,
  wanted: Partial<Pick<Container, 'name' | 'schema' | 'settings'>>,
): Promise<Container> {
  const { name = before.name, schema: wantedSchema = before.schema } = wanted
  const isRenamed = before.kind === 'collection' && name !== before.name
  const schema = isRenamed ? withRenamedCollection(wantedSchema, before.name, name) : wantedSchema
  const after = { ...before, ...wanted, schema, version: before.version + 1 }
  const texts = ({ name, schema, settings }: Container) => ({
    name,
    schema: schemaText(schema),
    settings: JSON.stringify(settings),
  })
  const [old, fresh] = [texts(before), texts(after)]
  const differences = (['name', 'schema', 'settings'] as const).filter((part) => old[part] !== fresh[part])
  if (differences.length === 0) return before
  if (differences.includes('name')) await checkName(writer, before.kind, after.name)
  await writer.db
    .updateTable('containers')
    .set({ ...fresh, version: after.version, updated_ms: writer.nowMs })
    .where('group_id', '=', writer.group.groupId)
    .where('id', '=', before.id)
    .execute()
  const note = differences.join(', ')
  writer.record({ type: `${before.kind}.updated`, subjectId: before.id, version: after.version, note })
  if (differences.some((part) => part !== 'settings')) writer.bumpRevision()
  if (isRenamed)
    for (const other of await listContainers(writer.group))
      if (other.id !== before.id && fieldsReferringTo(other.schema, 'collection', before.name).length > 0)
        await updateContainer(writer, other, { schema: withRenamedCollection(other.schema, before.name, name) })
  return after
}

export const purgeKind = 'content.purge'

/** The job that purges a deleted container. */
export interface Purge {
  containerId: string
}

/** With its objects. If there are many, the container becomes a tombstone that a job purges. */
export async function deleteContainer(writer: ContentWriter, container: Container): Promise<void> {
  const { db, group } = writer
  if (await deleteIfFew(writer, container.id)) {
    await db.deleteFrom('containers').where('group_id', '=', group.groupId).where('id', '=', container.id).execute()
  } else {
    await hideContainer(db, group.groupId, container.id)
    await insertJob(writer, { kind: purgeKind, payload: { containerId: container.id } satisfies Purge })
  }
  writer.record({ type: `${container.kind}.deleted`, subjectId: container.id, note: container.name })
  writer.bumpRevision()
}

async function findContainer(
  { groupId, database }: GroupStore,
  where: Partial<Pick<ContainerRow, 'id' | 'kind' | 'name'>>,
): Promise<Container | undefined> {
  const row = await database.read
    .selectFrom('containers')
    .select(containerColumns)
    .where((eb) => eb.and({ group_id: groupId, ...where }))
    .executeTakeFirst()
  return row && toContainer(row)
}

/** How the delivery API names a container. */
export type ContainerRef = { kind: 'collection'; id: string } | { kind: 'integration'; name: string }

export interface ContainerAtRevision {
  container: Container | undefined
  revision: number
  /** When the next object falls due; never because of a draft. */
  nextPublishMs: number
  /** When the next scheduled change or archive date of the group is due. */
  dueMs: number | null
}

/** A statement for containers with the group's revision; without a match it returns a row of nulls. */
function atRevision(
  { database, groupId }: GroupStore,
  nowMs: number,
  isWanted: (draft: SqlBuilder) => string,
): [text: string, draft: SqlBuilder] {
  const draft = createSqlBuilder(database)
  const { table, bind } = draft
  const columns = containerColumns.map((column) => `c.${column}`).join(', ')
  const nextPublish = `select min(o.publish_ms) from ${table('objects')} as o where o.container_id = c.id and o.archived = 0 and o.publish_ms > ${bind(nowMs)}`
  const text = `select r.revision, r.due_ms, ${columns}, (${nextPublish}) as next_publish_ms from (select ${revisionColumns(draft, groupId)}, ${dueColumn(draft, groupId)}) as r left join ${table('containers')} as c on c.group_id = ${bind(groupId)} and ${isWanted(draft)}`
  return [text, draft]
}

/** A container with its revision, and the time until which its visible objects change only by writes. */
export async function readContainerAtRevision(
  group: GroupStore,
  ref: ContainerRef,
  nowMs: number,
): Promise<ContainerAtRevision> {
  const [text, draft] = atRevision(group, nowMs, ({ bind }) => {
    const isNamed = ref.kind === 'collection' ? `c.id = ${bind(ref.id)}` : `c.name = ${bind(ref.name)}`
    return `c.kind = ${bind(ref.kind)} and ${isNamed}`
  })
  const [row] = await runStatement<FoundRow | AbsentRow>(group, text, draft)
  return {
    container: row && row.id !== null ? toContainer(row) : undefined,
    revision: row?.revision ?? 0,
    nextPublishMs: row?.next_publish_ms ?? Number.POSITIVE_INFINITY,
    dueMs: row?.due_ms ?? null,
  }
}

/** Containers as of one revision, in no particular order. */
export async function readContainersAtRevision(
  group: GroupStore,
  ids: readonly string[],
  nowMs: number,
): Promise<{ found: { container: Container; nextPublishMs: number }[]; revision: number; dueMs: number | null }> {
  const [text, draft] = atRevision(group, nowMs, (one) => isOneOf(one, 'c.id', ids))
  const rows = await runStatement<FoundRow | AbsentRow>(group, text, draft)
  const found = rows.flatMap((row) =>
    row.id === null
      ? []
      : { container: toContainer(row), nextPublishMs: row.next_publish_ms ?? Number.POSITIVE_INFINITY },
  )
  return { found, revision: rows[0]?.revision ?? 0, dueMs: rows[0]?.due_ms ?? null }
}

/** The sizes of the schemas of a group, or of some containers of it; reads no schema. */
export const measureSchemas = (
  { groupId, database }: GroupStore,
  ids?: readonly string[],
): Promise<{ id: string; bytes: number }[]> =>
  database.read
    .selectFrom('containers')
    .select(['id', sql<number>`octet_length(schema)`.as('bytes')])
    .where('group_id', '=', groupId)
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
    .orderBy('id')
    .execute()

interface AtRevision {
  revision: number
  next_publish_ms: number | null
  due_ms: number | null
}
type FoundRow = StoredContainer & AtRevision
type AbsentRow = { id: null } & AtRevision

export const findCollection = (group: GroupStore, id: string): Promise<Container | undefined> =>
  findContainer(group, { kind: 'collection', id })

export const findCollectionByName = (group: GroupStore, name: string): Promise<Container | undefined> =>
  findContainer(group, { kind: 'collection', name })

export const findIntegration = (group: GroupStore, type: string): Promise<Container | undefined> =>
  findContainer(group, { kind: 'integration', name: type })

export const findContainerById = (group: GroupStore, id: string): Promise<Container | undefined> =>
  findContainer(group, { id })

export interface ListedContainer extends Container {
  createdMs: number
  updatedMs: number
}

/** In order of creation. */
export async function listContainers(
  { groupId, database }: GroupStore,
  kind?: Container['kind'],
): Promise<ListedContainer[]> {
  const rows = await database.read
    .selectFrom('containers')
    .select([...containerColumns, 'created_ms', 'updated_ms'])
    .where((eb) => eb.and({ group_id: groupId, ...(kind && { kind }) }))
    .orderBy('id')
    .execute()
  return rows.map((row) => ({ ...toContainer(row), createdMs: row.created_ms, updatedMs: row.updated_ms }))
}

/** The number of objects in each container of a group, in all states. */
export async function countObjects({ groupId, database }: GroupStore): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('objects')
    .innerJoin('containers', 'containers.id', 'objects.container_id')
    .select(({ fn }) => ['containers.id', fn.countAll<number>().as('total')])
    .where('containers.group_id', '=', groupId)
    .groupBy('containers.id')
    .execute()
  return new Map(rows.map(({ id, total }) => [id, Number(total)]))
}

/**
 * Optimistic locking for reads: if the container's version changed meanwhile, reading the container and `read` are repeated.
 * A schema and its index change in one transaction, so everything read at one version is consistent.
 */
export async function readByContainer<Result>(
  group: GroupStore,
  find: () => Promise<Container | undefined>,
  read: (container: Container) => Promise<Result>,
): Promise<Result | undefined> {
  for (;;) {
    const container = await find()
    if (!container) return undefined
    const result = await read(container).catch(async (error: unknown) => {
      if (await isCurrent(group, container)) throw error
      return superseded
    })
    if (result !== superseded && (await isCurrent(group, container))) return result as Result
  }
}

const superseded = Symbol('the schema was changed meanwhile')

async function isCurrent({ groupId, database }: GroupStore, { id, version }: Container): Promise<boolean> {
  const row = await database.read
    .selectFrom('containers')
    .select('version')
    .where('group_id', '=', groupId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.version === version
}
