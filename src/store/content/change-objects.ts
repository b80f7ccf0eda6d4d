import { searchTextOf } from '../../content/index-keys.ts'
import { mediaUsesIn } from '../../content/media-uses.ts'
import { type Container, isVisible, type ReviewState, type StoredObject } from '../../content/model.ts'
import { datedWhenSeen } from '../../content/submissions.ts'
import { checkObjectValue } from '../../content/validate.ts'
import { inBatches } from '../engine/database.ts'
import { refuseMissingMedia } from '../media/uses.ts'
import type { ObjectFieldRow, ObjectRow } from '../schema/tables.ts'
import type { ContentWriter } from './changes.ts'
import {
  countIndexRows,
  deleteIndexRows,
  deleteWholeIndex,
  indexBytesOf,
  insertIndexRows,
  moveIndexRows,
  sumOfRows,
} from './object-index.ts'
import { fieldRowsOf } from './objects.ts'
import { refuseMissingTargets } from './references.ts'
import { refuseTaken } from './unique.ts'
import { saveVersions } from './versions.ts'

/** A partial update of an object. */
export interface ObjectChange {
  value?: Record<string, unknown>
  publishMs?: number
  archived?: boolean
  archiveMs?: number | null
  review?: ReviewState
}

export function changedFields(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
}

const shownNames: Record<string, string> = { publishMs: 'publishDate', archiveMs: 'archiveDate' }

/** The names of differing parts, as recorded with the change. */
export function differencesOf(before: StoredObject, after: StoredObject): string[] {
  const state = (['publishMs', 'archived', 'archiveMs', 'review'] as const).filter(
    (name) => before[name] !== after[name],
  )
  return [
    ...state.map((name) => shownNames[name] ?? name),
    ...(before.value === after.value ? [] : changedFields(before.value, after.value)),
  ]
}

interface Step {
  before: StoredObject
  after: StoredObject
  /** Empty if only the schema changed. */
  differences: string[]
}

/** A step that changes the value or the schema, and so the index and the search text. */
interface ValueStep extends Step {
  /** As JSON. */
  valueText: string
  /** Under the old schema and under the new one. */
  searchTexts: [before: string, after: string]
  removedRows: ObjectFieldRow[]
  addedRows: ObjectFieldRow[]
  indexBytes: number
}

/** Identity of an index row; the object's state is repeated in every row. */
const rowKey = ({ field, filter_key, sort_key }: ObjectFieldRow): string =>
  JSON.stringify([field, filter_key, sort_key])

function planValue(former: Container, container: Container, step: Step): ValueStep {
  const { before, after } = step
  const old = new Map(fieldRowsOf(former, before).map((row) => [rowKey(row), row]))
  const wanted = new Map(fieldRowsOf(container, after).map((row) => [rowKey(row), row]))
  return {
    ...step,
    valueText: JSON.stringify(after.value),
    searchTexts: [searchTextOf(former.schema, before.value), searchTextOf(container.schema, after.value)],
    removedRows: [...old].flatMap(([key, row]) => (wanted.has(key) ? [] : [row])),
    addedRows: [...wanted].flatMap(([key, row]) => (old.has(key) ? [] : [row])),
    indexBytes: indexBytesOf([...wanted.values()]),
  }
}

const stateOf = ({ archived, publishMs, archiveMs, review }: StoredObject): string =>
  JSON.stringify([archived, publishMs, archiveMs, review])

const isMoved = ({ before, after }: Step): boolean =>
  before.archived !== after.archived || before.publishMs !== after.publishMs

/** Updates the index rows of objects whose state changes. */
async function moveIndex(writer: ContentWriter, steps: readonly Step[], isAlone: boolean): Promise<void> {
  const moved = steps.filter(isMoved)
  const counts = Map.groupBy(
    await countIndexRows(
      writer.group,
      moved.map(({ before }) => before.id),
    ),
    ({ objectId }) => objectId,
  )
  // A single object can always be archived, regardless of its size.
  if (!isAlone) writer.spend({ indexRows: sumOfRows([...counts.values()].flat()) })
  for (const together of Map.groupBy(moved, ({ after }) => stateOf(after)).values()) {
    const rows = together.flatMap(({ before }) => counts.get(before.id) ?? [])
    if (together[0]) await moveIndexRows(writer, rows, together[0].after)
  }
}

/** Updates objects whose value stays the same. */
async function overwriteState(
  { db, author, nowMs }: ContentWriter,
  steps: readonly Step[],
  change: string,
): Promise<void> {
  for (const together of Map.groupBy(steps, ({ after }) => stateOf(after)).values()) {
    const [{ after } = {}] = together
    if (!after) continue
    for (const batch of inBatches(together)) {
      await db
        .updateTable('objects')
        .set((eb) => ({
          publish_ms: after.publishMs,
          archived: after.archived ? 1 : 0,
          archive_ms: after.archiveMs,
          review: after.review,
          updated_ms: nowMs,
          version: eb('version', '+', 1),
          changed_by: author.name,
          change,
        }))
        .where(
          'id',
          'in',
          batch.map(({ before }) => before.id),
        )
        .execute()
    }
  }
}

/** Bulk update by upsert of the given columns. */
async function overwrite(
  { db, group, author }: ContentWriter,
  container: Container,
  steps: readonly ValueStep[],
  change: string,
  columns: readonly (keyof ObjectRow)[],
): Promise<void> {
  const rows = steps.map(
    ({ after, searchTexts, valueText, indexBytes }): ObjectRow => ({
      id: after.id,
      group_id: group.groupId,
      container_id: container.id,
      external_id: after.externalId,
      account_handle: after.accountHandle,
      publish_ms: after.publishMs,
      archived: after.archived ? 1 : 0,
      created_ms: after.createdMs,
      updated_ms: after.updatedMs,
      value: valueText,
      search_text: searchTexts[1],
      version: after.version,
      changed_by: author.name,
      change,
      review: after.review,
      index_bytes: indexBytes,
      archive_ms: after.archiveMs,
    }),
  )
  for (const batch of inBatches(rows)) {
    await db
      .insertInto('objects')
      .values(batch)
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet((eb) => Object.fromEntries(columns.map((column) => [column, eb.ref(`excluded.${column}`)]))),
      )
      .execute()
  }
}

const changingColumns = [
  'value', 'search_text', 'publish_ms', 'archived', 'review', 'updated_ms', 'version', 'changed_by', 'change',
  'index_bytes', 'archive_ms',
] as const // biome-ignore format: one line reads better

export interface PlannedChange {
  /** As it was read in the same transaction. */
  before: StoredObject
  wanted: ObjectChange
}

/** What is taken out of the archive is not archived again by a date that has passed. */
const isPastArchiving = (before: StoredObject, { archived, archiveMs }: StoredObject, nowMs: number): boolean =>
  before.archived && !archived && archiveMs !== null && archiveMs <= nowMs

const mayBeDue = ({ before, after }: Step): boolean =>
  before.archiveMs !== after.archiveMs || (after.archiveMs !== null && before.archived !== after.archived)

/**
 * Changes objects of one container, saves their former versions and returns the new states. A no-op writes nothing.
 * `change` names the action; `former` is the container before a schema change.
 */
export async function changeObjects(
  writer: ContentWriter,
  container: Container,
  planned: readonly PlannedChange[],
  change: string,
  former: Container = container,
): Promise<StoredObject[]> {
  const { group, nowMs, sweptMs } = writer
  const steps = planned.map(({ before, wanted }): Step => {
    const state = { ...before, ...wanted, ...datedWhenSeen(before, wanted, nowMs) }
    if (isPastArchiving(before, state, nowMs)) state.archiveMs = null
    const differences = differencesOf(before, state)
    const after = differences.length > 0 ? { ...state, version: before.version + 1, updatedMs: nowMs } : state
    return { before, after, differences }
  })
  const changed = steps.filter(({ differences }) => differences.length > 0)
  const isOfValue = ({ before, after }: Step): boolean => former !== container || before.value !== after.value
  const valueSteps = steps.filter(isOfValue).map((step) => planValue(former, container, step))
  const stateSteps = changed.filter((step) => !isOfValue(step))
  writer.spend({
    indexRows: valueSteps.reduce((sum, { removedRows, addedRows }) => sum + removedRows.length + addedRows.length, 0),
    bytes: valueSteps.reduce((sum, { valueText }) => sum + Buffer.byteLength(valueText), 0),
  })
  const changedValues = valueSteps.filter(({ differences }) => differences.length > 0)
  for (const { after } of changedValues) checkObjectValue(container.schema, group.groupId, after.value)
  await refuseMissingMedia(
    writer,
    changedValues.flatMap(({ before }) => mediaUsesIn(former.schema, before.value)),
    changedValues.flatMap(({ after }) => mediaUsesIn(container.schema, after.value)),
  )
  if (former === container) {
    const written = changedValues.map(({ before, after }) => ({
      id: after.id,
      before: before.value,
      value: after.value,
    }))
    await refuseMissingTargets(writer, container, written)
    await refuseTaken(writer, container, written) // a schema change has been reviewed for unique values as a whole
  }
  await saveVersions(
    writer,
    changed.map(({ before }) => before.id),
  )
  await overwriteState(writer, stateSteps, change)
  await overwrite(writer, container, changedValues, change, changingColumns)
  const reindexed = valueSteps.filter(
    ({ differences, searchTexts: [old, fresh], removedRows, addedRows }) =>
      differences.length === 0 && (old !== fresh || removedRows.length + addedRows.length > 0),
  )
  await overwrite(writer, container, reindexed, change, ['search_text', 'index_bytes'])
  await deleteIndexRows(
    writer,
    valueSteps.flatMap(({ removedRows }) => removedRows),
  )
  await moveIndex(writer, changed, planned.length === 1)
  await insertIndexRows(
    writer,
    valueSteps.flatMap(({ addedRows }) => addedRows),
  )
  for (const { before, after, differences } of changed) {
    const recorded = { subjectId: before.id, containerId: container.id, version: after.version }
    writer.record({ type: 'content.updated', ...recorded, note: `${change}: ${differences.join(', ')}` })
    if (!isVisible(before, sweptMs) && isVisible(after, sweptMs))
      writer.record({ type: 'content.published', ...recorded })
  }
  if (changed.some(mayBeDue)) writer.changeDue()
  if (changed.length > 0) writer.bumpRevision()
  return steps.map(({ before, after, differences }) => (differences.length > 0 ? after : before))
}

export async function changeObject(
  writer: ContentWriter,
  container: Container,
  before: StoredObject,
  wanted: ObjectChange,
  change: string,
  former?: Container,
): Promise<StoredObject> {
  const [after] = await changeObjects(writer, container, [{ before, wanted }], change, former)
  return after ?? before
}

/** With their versions, their index and their preview links. */
export async function deleteObjects(
  writer: ContentWriter,
  objects: readonly { containerId: string; object: StoredObject }[],
): Promise<void> {
  const { db, group } = writer
  const ids = objects.map(({ object }) => object.id)
  const counts = await countIndexRows(group, ids)
  if (objects.length > 1) writer.spend({ indexRows: sumOfRows(counts) }) // a single object can always be deleted, regardless of its size
  await deleteWholeIndex(writer, counts)
  for (const batch of inBatches(ids))
    await db.deleteFrom('objects').where('group_id', '=', group.groupId).where('id', 'in', batch).execute()
  for (const { containerId, object } of objects)
    writer.record({ type: 'content.deleted', subjectId: object.id, containerId, version: object.version })
  if (objects.length > 0) writer.bumpRevision()
}
