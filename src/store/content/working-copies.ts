import { type Selectable, sql } from 'kysely'
import { yieldForHeavyWork } from '../../concurrency/time-slicing.ts'
import type { MediaUse } from '../../content/media-uses.ts'
import { conflict } from '../../core/errors.ts'
import { inBatches } from '../engine/database.ts'
import type { WorkingCopyRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import type { ContentWriter } from './changes.ts'
import { withinOneRead } from './objects.ts'

/** A preview of the whole site reads them all at once. */
export const maxWorkingCopies = 1000
const maxWorkingCopyBytes = 16 * 1024 ** 2

/** The unpublished edit of an object's value, or of a site's settings. */
export interface WorkingCopy {
  /** The id of the object or site. */
  id: string
  /** Of an object; null for a site. */
  containerId: string | null
  value: Record<string, unknown>
  /** The live value that the edit began with, and its version. */
  baseValue: Record<string, unknown>
  baseVersion: number
  /** Changes with every save. */
  revision: number
  /** When it is published; null if it is not scheduled. */
  dueMs: number | null
  /** The group's limit of versions when it was scheduled. */
  versionsKept: number
  /** Why it could not be published when it was due. */
  problem: string | null
  savedMs: number
  savedBy: string
}

const columns = [
  'id', 'container_id', 'value', 'base_value', 'base_version', 'revision', 'due_ms', 'versions_kept', 'problem',
  'saved_ms', 'saved_by',
] as const // biome-ignore format: two lines read better

const toWorkingCopy = (row: Pick<Selectable<WorkingCopyRow>, (typeof columns)[number]>): WorkingCopy => ({
  id: row.id,
  containerId: row.container_id,
  value: JSON.parse(row.value),
  baseValue: JSON.parse(row.base_value),
  baseVersion: row.base_version,
  revision: row.revision,
  dueMs: row.due_ms,
  versionsKept: row.versions_kept,
  problem: row.problem,
  savedMs: row.saved_ms,
  savedBy: row.saved_by,
})

export async function findWorkingCopies(
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<WorkingCopy[]> {
  if (ids.length === 0) return []
  const rows = await database.read
    .selectFrom('working_copies')
    .select(columns)
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .orderBy('id')
    .execute()
  return rows.map(toWorkingCopy)
}

export const findWorkingCopy = async (group: GroupStore, id: string): Promise<WorkingCopy | undefined> =>
  (await findWorkingCopies(group, [id]))[0]

/** A base may be as large as any object, though the copy is small. */
const bytesOfCopy = sql<number>`octet_length(value) + octet_length(base_value)`.as('bytes')

/** In parts, because they may be large. */
async function* readInParts(group: GroupStore, sizes: readonly { id: string; bytes: number }[]) {
  for (let rest = sizes; rest.length > 0; ) {
    const part = withinOneRead(rest)
    await yieldForHeavyWork()
    yield* await findWorkingCopies(group, part.map(({ id }) => id)) // biome-ignore format: one line reads better
    rest = rest.slice(part.length)
  }
}

/** All of a container. */
export async function* iterateWorkingCopies(group: GroupStore, containerId: string): AsyncGenerator<WorkingCopy> {
  const { groupId, database } = group
  const sizes = await database.read
    .selectFrom('working_copies')
    .select(['id', bytesOfCopy])
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .orderBy('id')
    .execute()
  yield* readInParts(group, sizes)
}

/** The values of a container's working copies as JSON. */
export const readCopiedValues = ({ groupId, database }: GroupStore, containerId: string) =>
  database.read
    .selectFrom('working_copies')
    .select(['id', 'value'])
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .orderBy('id')
    .execute()

/** The values of some objects' working copies as JSON, by id. */
export async function findCopiedValues(
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const values = new Map<string, string>()
  for (const batch of inBatches(ids)) {
    const rows = await database.read
      .selectFrom('working_copies')
      .select(['id', 'value'])
      .where('group_id', '=', groupId)
      .where('id', 'in', batch)
      .execute()
    for (const { id, value } of rows) values.set(id, value)
  }
  return values
}

/** Those that fell due, the earliest first; of one transaction at most `limit`, and at least one. */
export async function findDueCopies(group: GroupStore, nowMs: number, limit: number): Promise<WorkingCopy[]> {
  const { groupId, database } = group
  const rows = await database.read
    .selectFrom('working_copies')
    .select(['id', bytesOfCopy])
    .where('group_id', '=', groupId)
    .where('due_ms', 'is not', null)
    .where('due_ms', '<=', nowMs)
    .orderBy('due_ms')
    .orderBy('id')
    .limit(limit)
    .execute()
  const copies = await findWorkingCopies(
    group,
    withinOneRead(rows).map(({ id }) => id),
  )
  return copies.sort((one, other) => (one.dueMs ?? 0) - (other.dueMs ?? 0))
}

/** A working copy without its value. */
export type WorkingCopyState = Pick<
  WorkingCopy,
  'id' | 'containerId' | 'baseVersion' | 'revision' | 'dueMs' | 'problem' | 'savedMs' | 'savedBy'
>

const stateColumns = [
  'id', 'container_id', 'base_version', 'revision', 'due_ms', 'problem', 'saved_ms', 'saved_by',
] as const // biome-ignore format: one line reads better

const toState = (row: Pick<Selectable<WorkingCopyRow>, (typeof stateColumns)[number]>): WorkingCopyState => ({
  id: row.id,
  containerId: row.container_id,
  baseVersion: row.base_version,
  revision: row.revision,
  dueMs: row.due_ms,
  problem: row.problem,
  savedMs: row.saved_ms,
  savedBy: row.saved_by,
})

export async function findWorkingCopyStates(
  { groupId, database }: GroupStore,
  ids: readonly string[],
): Promise<WorkingCopyState[]> {
  if (ids.length === 0) return []
  const rows = await database.read
    .selectFrom('working_copies')
    .select(stateColumns)
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  return rows.map(toState)
}

/** A page of the group's working copies, those of sites included, the latest save first. */
export async function listWorkingCopyStates(
  { groupId, database }: GroupStore,
  { limit, skip }: { limit: number; skip: number },
): Promise<{ copies: WorkingCopyState[]; totalCount: number }> {
  const all = database.read.selectFrom('working_copies').where('group_id', '=', groupId)
  const { total } = await all.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await all
    .select(stateColumns)
    .orderBy('saved_ms', 'desc')
    .orderBy('id')
    .limit(limit)
    .offset(skip)
    .execute()
  return { copies: rows.map(toState), totalCount: Number(total) }
}

/** What a working copy belongs to, as it is live. */
export interface CopiedSubject {
  id: string
  /** Of an object; null for a site. */
  containerId: string | null
  value: Record<string, unknown>
  version: number
}

/** Each key is followed by a line feed, so that one is never found within another. */
const mediaKeysText = (uses: readonly MediaUse[]): string => [...new Set(uses.map(({ key }) => `${key}\n`))].join('')

async function refuseTooMany({ groupId, database }: GroupStore): Promise<void> {
  const { copies, bytes } = await database.read
    .selectFrom('working_copies')
    .select(({ fn }) => [fn.countAll<number>().as('copies'), sql<number | null>`sum(octet_length(value))`.as('bytes')])
    .where('group_id', '=', groupId)
    .executeTakeFirstOrThrow()
  const advice = 'Publish or discard some first ("object draft list" shows them). Nothing was saved.'
  if (Number(copies) > maxWorkingCopies)
    throw conflict(`A group has at most ${maxWorkingCopies} working copies. ${advice}`)
  if (Number(bytes) > maxWorkingCopyBytes)
    throw conflict(`The working copies of a group have at most ${maxWorkingCopyBytes / 1024 ** 2} MB. ${advice}`)
}

/** Stores a working copy as a whole. */
export async function putWorkingCopy(
  { db, group }: ContentWriter,
  copy: WorkingCopy,
  uses: readonly MediaUse[],
): Promise<void> {
  const isObject = copy.containerId !== null
  const row: WorkingCopyRow = {
    id: copy.id,
    group_id: group.groupId,
    object_id: isObject ? copy.id : null,
    site_id: isObject ? null : copy.id,
    container_id: copy.containerId,
    value: JSON.stringify(copy.value),
    base_value: JSON.stringify(copy.baseValue),
    base_version: copy.baseVersion,
    revision: copy.revision,
    media_keys: mediaKeysText(uses),
    due_ms: copy.dueMs,
    versions_kept: copy.versionsKept,
    problem: copy.problem,
    saved_ms: copy.savedMs,
    saved_by: copy.savedBy,
  }
  const { id: _, group_id: _g, object_id: _o, site_id: _s, container_id: _c, ...changing } = row
  await db
    .insertInto('working_copies')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changing))
    .execute()
}

/**
 * Saves a working copy. Nothing that is delivered depends on it, so this is one small write: without a new revision, a
 * version or a recorded change.
 */
export async function saveWorkingCopy(
  writer: ContentWriter,
  subject: CopiedSubject,
  before: WorkingCopy | undefined,
  value: Record<string, unknown>,
  uses: readonly MediaUse[],
): Promise<WorkingCopy> {
  const { nowMs, author, group } = writer
  const copy: WorkingCopy = {
    id: subject.id,
    containerId: subject.containerId,
    value,
    baseValue: before?.baseValue ?? subject.value,
    baseVersion: before?.baseVersion ?? subject.version,
    // Times, so that a number never returns after the copy was discarded and begun again.
    revision: Math.max(nowMs, (before?.revision ?? 0) + 1),
    dueMs: null,
    versionsKept: 0,
    problem: null,
    savedMs: nowMs,
    savedBy: author.name,
  }
  await putWorkingCopy(writer, copy, uses)
  await refuseTooMany(group)
  return copy
}

/** Published or discarded. */
export async function deleteWorkingCopy(
  { db, group, changeDue, bumpRevision }: ContentWriter,
  { id, dueMs }: Pick<WorkingCopy, 'id' | 'dueMs'>,
): Promise<void> {
  await db.deleteFrom('working_copies').where('group_id', '=', group.groupId).where('id', '=', id).execute()
  if (dueMs === null) return
  changeDue()
  bumpRevision() // cached answers end when it is due
}

/** Changes a working copy otherwise than by a save. */
export async function updateWorkingCopy(
  { db, group, changeDue, bumpRevision }: ContentWriter,
  id: string,
  wanted: Partial<Pick<WorkingCopy, 'value' | 'baseValue' | 'baseVersion' | 'dueMs' | 'versionsKept' | 'problem'>>,
): Promise<void> {
  const { value, baseValue, baseVersion, dueMs, versionsKept, problem } = wanted
  await db
    .updateTable('working_copies')
    .set({
      ...(value && { value: JSON.stringify(value) }),
      ...(baseValue && { base_value: JSON.stringify(baseValue) }),
      ...(baseVersion !== undefined && { base_version: baseVersion }),
      ...(dueMs !== undefined && { due_ms: dueMs }),
      ...(versionsKept !== undefined && { versions_kept: versionsKept }),
      ...(problem !== undefined && { problem }),
    })
    .where('group_id', '=', group.groupId)
    .where('id', '=', id)
    .execute()
  if (dueMs === undefined) return
  changeDue()
  bumpRevision() // cached answers end when it is due
}

/** The scheduled ones of these objects. */
export async function* iterateScheduledCopies(group: GroupStore, ids: readonly string[]): AsyncGenerator<WorkingCopy> {
  for (const batch of inBatches(ids)) {
    const sizes = await group.database.read
      .selectFrom('working_copies')
      .select(['id', bytesOfCopy])
      .where('group_id', '=', group.groupId)
      .where('id', 'in', batch)
      .where('due_ms', 'is not', null)
      .orderBy('id')
      .execute()
    yield* readInParts(group, sizes)
  }
}

/** The working copies that refer to a file. */
export async function findCopiesWithMedia(
  { groupId, database }: GroupStore,
  key: string,
): Promise<Pick<WorkingCopy, 'id' | 'containerId'>[]> {
  const position = database.engine === 'sqlite' ? sql`instr` : sql`strpos`
  // Keys do not contain line feeds, and all begin with the group's id, which occurs once in each.
  const rows = await database.read
    .selectFrom('working_copies')
    .select(['id', 'container_id as containerId'])
    .where('group_id', '=', groupId)
    .where(sql<boolean>`${position}(media_keys, ${`${key}\n`}) > 0`)
    .orderBy('id')
    .execute()
  return rows
}

/** The keys of files that any working copy refers to. */
export async function listCopiedMediaKeys({ groupId, database }: GroupStore): Promise<string[]> {
  const rows = await database.read
    .selectFrom('working_copies')
    .select('media_keys')
    .where('group_id', '=', groupId)
    .execute()
  return rows.flatMap(({ media_keys }) => media_keys.split('\n').filter((key) => key !== ''))
}
