import { sql } from 'kysely'
import { splitIntoSlices, yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import { answerTooLong } from '../../content/answer-limit.ts'
import type { ObjectVersionRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'

/** The current or a former state of an object. */
export interface ObjectVersion {
  version: number
  value: Record<string, unknown>
  publishMs: number
  archived: boolean
  changedMs: number
  changedBy: string
  change: string
}

const versionColumns = ['object_id', 'version', 'group_id', 'value', 'publish_ms', 'archived'] as const

/** Saves the current state before a change, and deletes versions beyond the group's limit. */
export async function saveVersions({ db, versionsKept }: ContentWriter, objectIds: readonly string[]): Promise<void> {
  if (objectIds.length === 0) return
  await db
    .insertInto('object_versions')
    .columns([...versionColumns, 'changed_ms', 'changed_by', 'change'])
    .expression((eb) =>
      eb
        .selectFrom('objects')
        .select(['id', 'version', 'group_id', 'value', 'publish_ms', 'archived', 'updated_ms', 'changed_by', 'change'])
        .where('id', 'in', objectIds),
    )
    .execute()
  await db
    .deleteFrom('object_versions')
    .where('object_id', 'in', objectIds)
    .where('version', '<=', (eb) =>
      eb
        .selectFrom('objects')
        .select((of) => of('objects.version', '-', versionsKept).as('oldest'))
        .whereRef('objects.id', '=', 'object_versions.object_id'),
    )
    .execute()
}

const stateColumns = ['version', 'value', 'publish_ms', 'archived', 'changed_by', 'change'] as const

/** The current version and all saved ones. */
function selectVersions({ groupId, database }: GroupStore, objectId: string) {
  const current = database.read
    .selectFrom('objects')
    .select([...stateColumns, 'updated_ms as changed_ms'])
    .where('group_id', '=', groupId)
    .where('id', '=', objectId)
  const former = database.read
    .selectFrom('object_versions')
    .select([...stateColumns, 'changed_ms'])
    .where('group_id', '=', groupId)
    .where('object_id', '=', objectId)
  return database.read.selectFrom(current.unionAll(former).as('versions')).selectAll()
}

export function toVersion(row: Omit<ObjectVersionRow, 'object_id' | 'group_id'>): ObjectVersion {
  return {
    version: row.version,
    value: JSON.parse(row.value),
    publishMs: row.publish_ms,
    archived: row.archived !== 0,
    changedMs: row.changed_ms,
    changedBy: row.changed_by,
    change: row.change,
  }
}

/** A page of versions or all, newest first. */
export async function listVersions(
  group: GroupStore,
  objectId: string,
  page?: { limit: number; skip: number; maxBytes: number },
): Promise<ObjectVersion[]> {
  const all = selectVersions(group, objectId).orderBy('version', 'desc')
  if (!page) return (await all.execute()).map(toVersion)
  const wanted = all.limit(page.limit).offset(page.skip)
  const sizes = await wanted.clearSelect().select(sql<number>`octet_length(value)`.as('bytes')).execute()
  const bytes = sizes.reduce((sum, size) => sum + size.bytes, 0)
  if (bytes > page.maxBytes) throw answerTooLong(page.maxBytes)
  const versions: ObjectVersion[] = []
  for (const { items, characters } of splitIntoSlices(await wanted.execute(), ({ value }) => value.length)) {
    await yieldForHeavyWork(characters)
    versions.push(...items.map(toVersion))
  }
  return versions
}

export async function countVersions({ groupId, database }: GroupStore, objectId: string): Promise<number> {
  const row = await database.read
    .selectFrom('object_versions')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('group_id', '=', groupId)
    .where('object_id', '=', objectId)
    .executeTakeFirstOrThrow()
  return Number(row.total) + 1 // the current one
}

export async function findVersion(
  group: GroupStore,
  objectId: string,
  version: number,
): Promise<ObjectVersion | undefined> {
  const row = await selectVersions(group, objectId).where('version', '=', version).executeTakeFirst()
  return row && toVersion(row)
}
