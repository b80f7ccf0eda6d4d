import { sql } from 'kysely'
import { createLruMap } from '../../cache/lru-map.ts'
import { compareThreeWay, mergeThreeWay } from '../../content/working-copy.ts'
import { AppError, conflict } from '../../core/errors.ts'
import { isDatabaseUnavailable } from '../engine/unavailable.ts'
import type { GroupStore } from '../store.ts'
import { changeObject } from './change-objects.ts'
import {
  type ContentChange,
  type ContentWriter,
  type Spend,
  scheduleAuthor,
  shortNote,
  writeContent,
} from './changes.ts'
import { findContainerById } from './containers.ts'
import { isDue, objectsToArchive, readDueMs } from './due.ts'
import { countIndexRows, moveIndexRows, sumOfRows } from './object-index.ts'
import { findObject } from './objects.ts'
import { publishDueSiteCopy } from './publish-site-copies.ts'
import { threeValuesOf, withEdit } from './publish-working-copies.ts'
import { findSite } from './sites.ts'
import { deleteWorkingCopy, findDueCopies, updateWorkingCopy, type WorkingCopy } from './working-copies.ts'

/** Limits of one transaction, for which other writers wait. A change takes some twenty statements; objects are archived together. */
const maxCopies = 50
const maxArchived = 200
const maxIndexRows = 10_000

/** The first objects, as many as fit one transaction. */
async function objectsDue({ group, settlesUntilMs }: ContentWriter) {
  const rows = await objectsToArchive(group.database.read, group.groupId)
    .select(['id', 'container_id', 'publish_ms', 'archive_ms', 'version'])
    .where('archive_ms', '<=', settlesUntilMs)
    .limit(maxArchived)
    .execute()
  const counts = Map.groupBy(await countIndexRows(group, rows.map(({ id }) => id)), ({ objectId }) => objectId) // biome-ignore format: one line reads better
  let indexRows = 0
  const objects = rows.map((row) => ({ ...row, counts: counts.get(row.id) ?? [] }))
  return objects.filter((object, position) => {
    indexRows += sumOfRows(object.counts)
    return position === 0 || indexRows <= maxIndexRows
  })
}

/** Like a publish date that passes, this makes no version. */
async function archiveDue(writer: ContentWriter): Promise<void> {
  const { db, group, nowMs } = writer
  const objects = await objectsDue(writer)
  for (const [publishMs, together] of Map.groupBy(objects, (object) => object.publish_ms)) {
    const counts = together.flatMap((object) => object.counts)
    await moveIndexRows(writer, counts, { archived: true, publishMs })
  }
  const ids = objects.map(({ id }) => id)
  if (ids.length > 0)
    await db
      .updateTable('objects')
      .set({ archived: 1 })
      .where('group_id', '=', group.groupId)
      .where('id', 'in', ids)
      .execute()
  for (const { id, container_id, version, archive_ms } of objects)
    writer.record({
      type: 'content.updated',
      subjectId: id,
      containerId: container_id,
      version,
      note: 'archived by its archive date',
      atMs: archive_ms ?? nowMs,
    })
  if (objects.length > 0) writer.bumpRevision()
}

/** Fields that only the live value changed since are kept. */
async function publishDue(writer: ContentWriter, copy: WorkingCopy): Promise<void> {
  if (copy.containerId === null) {
    const site = await findSite(writer.group, copy.id)
    return site ? publishDueSiteCopy(writer, site, copy) : deleteWorkingCopy(writer, copy)
  }
  const found = await findObject(writer.group, copy.id)
  const container = found && (await findContainerById(writer.group, found.containerId))
  if (!found || !container) return deleteWorkingCopy(writer, copy)
  const values = threeValuesOf(container, found.object, copy)
  const { both } = compareThreeWay(values)
  if (both.length > 0) throw conflict(`The live value was changed in the same fields: ${both.join(', ')}.`)
  await deleteWorkingCopy(writer, copy)
  const value = withEdit(container, found.object, mergeThreeWay(values))
  await changeObject(writer, container, found.object, { value }, 'scheduled change published')
}

/**
 * A change that cannot be made stays a working copy, with the problem; the others are made all the same. So one that fails
 * because of a bug does not stop them either.
 */
async function attempt(writer: ContentWriter, copy: WorkingCopy, dueMs: number): Promise<void> {
  const { db } = writer
  const changes: ContentChange[] = []
  const inside: ContentWriter = {
    ...writer,
    nowMs: dueMs,
    versionsKept: copy.versionsKept,
    author: { ...scheduleAuthor, name: copy.savedBy },
    allowsMissing: true, // as in the live value, whose files and targets may be deleted, too
    record: (change) => void changes.push(change),
  }
  await sql`savepoint due_change`.execute(db)
  try {
    await publishDue(inside, copy)
    for (const change of changes) writer.record({ ...change, atMs: dueMs })
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    await sql`rollback to savepoint due_change`.execute(db)
    const { message } = error as Error
    const problem = shortNote(error instanceof AppError ? message : `Unexpected error: ${message}`)
    await updateWorkingCopy(writer, copy.id, { dueMs: null, problem })
    const subject = { subjectId: copy.id, ...(copy.containerId !== null && { containerId: copy.containerId }) }
    // The problem may quote a value, as of a unique field; the change log, which outlives values, has none.
    writer.record({ type: 'draft.failed', ...subject, note: 'the working copy has the problem', atMs: dueMs })
  }
  await sql`release savepoint due_change`.execute(db)
}

/** Applies what fits one transaction. */
const settlePart = (group: GroupStore, nowMs: number): Promise<void> =>
  writeContent(
    group,
    { author: scheduleAuthor, verb: 'schedule', nowMs, versionsKept: 0, settlesDue: true },
    async (writer) => {
      await archiveDue(writer)
      let indexRows = 0
      const spend: Spend = (cost) => {
        indexRows += cost.indexRows ?? 0
      }
      for (const copy of await findDueCopies(writer.group, writer.settlesUntilMs, maxCopies)) {
        if (indexRows > maxIndexRows) break // the next transaction makes the others
        await attempt({ ...writer, spend }, copy, copy.dueMs ?? nowMs)
      }
      writer.changeDue()
    },
  )

async function settleAll(group: GroupStore, nowMs: number): Promise<void> {
  do await settlePart(group, nowMs)
  while (isDue(await readDueMs(group), nowMs))
}

/** For this long after a failure, readers see the former state without another attempt. */
const pauseMs = 1000
const maxFailures = 1000

/** Applies everything due in a group, in several transactions if it is much. Concurrent callers share the work. */
export function createSettler(
  database: GroupStore['database'],
  now: () => number = () => performance.now(),
): GroupStore['database']['settleDue'] {
  const running = new Map<string, Promise<void>>()
  const failures = createLruMap<string, { error: unknown; untilMs: number }>(maxFailures)

  async function settle(groupId: string, nowMs: number): Promise<void> {
    try {
      await settleAll({ groupId, database }, nowMs)
      failures.delete(groupId)
    } catch (error) {
      failures.set(groupId, { error, untilMs: now() + pauseMs })
      throw error
    } finally {
      running.delete(groupId)
    }
  }

  return async (groupId, nowMs) => {
    const failure = failures.peek(groupId)
    if (failure && now() < failure.untilMs) throw failure.error
    const work = running.get(groupId) ?? settle(groupId, nowMs)
    running.set(groupId, work)
    await work
  }
}
