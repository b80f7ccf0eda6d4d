import { mediaUsesIn } from '../content/media-uses.ts'
import { type Container, isVisible, type ReviewState, type StoredObject } from '../content/model.ts'
import { searchTextOf } from '../content/search-text.ts'
import { datedWhenSeen } from '../content/submissions.ts'
import { checkObjectValue } from '../content/validate.ts'
import type { ContentWriter } from './changes.ts'
import { inBatches } from './in-batches.ts'
import { refuseMissingMedia } from './media-uses.ts'
import { fieldRowsOf } from './objects.ts'
import type { ObjectFieldRow, ObjectRow } from './tables.ts'
import { keepVersions } from './versions.ts'

/** What may become different about an object. What is left out stays. */
export interface ObjectChange {
  value?: Record<string, unknown>
  publishMs?: number
  archived?: boolean
  review?: ReviewState
}

export function changedFields(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
}

/** The names of what differs between two states, which is also what the record says of a change. */
export function differencesOf(before: StoredObject, after: StoredObject): string[] {
  const state = (['publishMs', 'archived', 'review'] as const).filter((name) => before[name] !== after[name])
  return [
    ...state.map((name) => (name === 'publishMs' ? 'publishDate' : name)),
    ...changedFields(before.value, after.value),
  ]
}

const rowKey = ({ field, filter_key, sort_key, archived, publish_ms }: ObjectFieldRow): string =>
  JSON.stringify([field, filter_key, sort_key, archived, publish_ms])

interface Step {
  before: StoredObject
  after: StoredObject
  /** Empty where only the schema changed around an object. */
  differences: string[]
  /** Under the old schema and under the new one. */
  searchTexts: [before: string, after: string]
}

/** Writes the index of objects anew where it differs. `former` is the container as the index was made by it. */
async function reindex(
  { db }: ContentWriter,
  former: Container,
  container: Container,
  steps: readonly Step[],
): Promise<void> {
  const rowsOf = (step: Step) => ({
    old: new Map(fieldRowsOf(former, step.before).map((row) => [rowKey(row), row])),
    wanted: new Map(fieldRowsOf(container, step.after).map((row) => [rowKey(row), row])),
  })
  const pairs = steps.map(rowsOf)
  // A field's rows are few: where one differs, all of them go and come again, rather than each by its key.
  const fields = new Set(
    pairs.flatMap(({ old, wanted }) => [
      ...[...old].filter(([key]) => !wanted.has(key)).map(([, row]) => row.field),
      ...[...wanted].filter(([key]) => !old.has(key)).map(([, row]) => row.field),
    ]),
  )
  if (fields.size === 0) return
  await db
    .deleteFrom('object_fields')
    .where(
      'object_id',
      'in',
      steps.map(({ before }) => before.id),
    )
    .where('field', 'in', [...fields])
    .execute()
  const fresh = pairs.flatMap(({ wanted }) => [...wanted.values()]).filter(({ field }) => fields.has(field))
  for (const batch of inBatches(fresh)) await db.insertInto('object_fields').values(batch).execute()
}

/** Writes objects over themselves, many in one statement. Of some only what searches look at has changed. */
async function overwrite(
  { db, group, author }: ContentWriter,
  container: Container,
  steps: readonly Step[],
  change: string,
  columns: readonly (keyof ObjectRow)[],
): Promise<void> {
  const rows = steps.map(
    ({ after, searchTexts }): ObjectRow => ({
      id: after.id,
      group_id: group.groupId,
      container_id: container.id,
      external_id: after.externalId,
      account_handle: after.accountHandle,
      publish_ms: after.publishMs,
      archived: after.archived ? 1 : 0,
      created_ms: after.createdMs,
      updated_ms: after.updatedMs,
      value: JSON.stringify(after.value),
      search_text: searchTexts[1],
      version: after.version,
      changed_by: author.name,
      change,
      review: after.review,
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
] as const // biome-ignore format: one line reads better

export interface PlannedChange {
  /** As it was read in the same transaction. */
  before: StoredObject
  wanted: ObjectChange
}

/**
 * Changes objects of one container, keeps what they were as versions, and answers what they are now. A change that changes
 * nothing leaves no trace. `change` says in a word what was done. Where the schema itself changes, `former` is the
 * container as it was.
 */
export async function changeObjects(
  writer: ContentWriter,
  container: Container,
  planned: readonly PlannedChange[],
  change: string,
  former: Container = container,
): Promise<StoredObject[]> {
  const { group, nowMs, noticedMs } = writer
  const steps = planned.map(({ before, wanted }): Step => {
    const state = { ...before, ...wanted, ...datedWhenSeen(before, wanted, nowMs) }
    const differences = differencesOf(before, state)
    const after = differences.length > 0 ? { ...state, version: before.version + 1, updatedMs: nowMs } : state
    const searchTexts: Step['searchTexts'] = [
      searchTextOf(former.schema, before.value),
      searchTextOf(container.schema, after.value),
    ]
    return { before, after, differences, searchTexts }
  })
  const changed = steps.filter(({ differences }) => differences.length > 0)
  for (const { after } of changed) checkObjectValue(container.schema, group.groupId, after.value)
  await refuseMissingMedia(
    writer,
    changed.flatMap(({ before }) => mediaUsesIn(former.schema, before.value)),
    changed.flatMap(({ after }) => mediaUsesIn(container.schema, after.value)),
  )
  await keepVersions(
    writer,
    changed.map(({ before }) => before.id),
  )
  await overwrite(writer, container, changed, change, changingColumns)
  const searchedAnew = steps.filter(
    ({ differences, searchTexts: [old, fresh] }) => differences.length === 0 && old !== fresh,
  )
  await overwrite(writer, container, searchedAnew, change, ['search_text'])
  await reindex(writer, former, container, steps)
  for (const { before, after, differences } of changed) {
    const recorded = { subjectId: before.id, containerId: container.id, version: after.version }
    writer.record({ type: 'content.updated', ...recorded, note: `${change}: ${differences.join(', ')}` })
    if (!isVisible(before, noticedMs) && isVisible(after, noticedMs))
      writer.record({ type: 'content.published', ...recorded })
  }
  if (changed.length > 0) writer.touch()
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

/** For good: with its versions, its index and its preview links. */
export async function deleteObject(writer: ContentWriter, containerId: string, object: StoredObject): Promise<void> {
  const { db, group } = writer
  await db.deleteFrom('objects').where('group_id', '=', group.groupId).where('id', '=', object.id).execute()
  writer.record({ type: 'content.deleted', subjectId: object.id, containerId, version: object.version })
  writer.touch()
}
