import { sql } from 'kysely'
import type { Container, StoredObject } from '../../content/model.ts'
import { toIso } from '../../content/moments.ts'
import { editableFields, isMirrored } from '../../content/product-edits.ts'
import { compareThreeWay, haveSameFields, mergeThreeWay, type ThreeValues } from '../../content/working-copy.ts'
import { conflict } from '../../core/errors.ts'
import { changeObject, type PlannedChange } from './change-objects.ts'
import type { ContentWriter } from './changes.ts'
import { deleteWorkingCopy, iterateScheduledCopies, updateWorkingCopy, type WorkingCopy } from './working-copies.ts'

type Value = Record<string, unknown>

const editorsPart = (value: Value): Value =>
  Object.fromEntries(
    editableFields.flatMap((name) => (value[name] === undefined || value[name] === null ? [] : [[name, value[name]]])),
  )

/** The three values of an object; of a provider's product, only the fields that editors may change. */
export function threeValuesOf(container: Container, { value: live }: StoredObject, copy: WorkingCopy): ThreeValues {
  const values = { base: copy.baseValue, live, draft: copy.value }
  if (!isMirrored(container)) return values
  return { base: editorsPart(values.base), live: editorsPart(live), draft: editorsPart(values.draft) }
}

/** The live value with an edit; of a provider's product, its other fields stay the provider's. */
export function withEdit(container: Container, { value: live }: Pick<StoredObject, 'value'>, edited: Value): Value {
  if (!isMirrored(container)) return edited
  const isProviders = ([name]: [string, unknown]) => !(editableFields as readonly string[]).includes(name)
  return { ...Object.fromEntries(Object.entries(live).filter(isProviders)), ...edited }
}

/** The working copy as a value of the object. */
export const editedValue = (container: Container, object: StoredObject, copy: WorkingCopy): Value =>
  withEdit(container, object, { ...threeValuesOf(container, object, copy).draft })

/** What to do if the live value was changed since the edit began. */
export interface StaleBase {
  /** The live version that the caller has compared the working copy with: the working copy replaces it. */
  onto?: number | undefined
  /** Keep the fields that only the live value changed; refused if both changed a field. */
  merge?: boolean | undefined
}

/** The value that publishing makes live. Refuses a stale base with all three values, unless the caller resolved it. */
export function resolveStale(
  values: ThreeValues,
  copy: WorkingCopy,
  version: number,
  { onto, merge }: StaleBase,
): Value {
  const isStale = version !== copy.baseVersion && !haveSameFields(values.base, values.live)
  if (!isStale || onto === version) return { ...values.draft }
  const fields = compareThreeWay(values)
  if (merge && fields.both.length === 0) return mergeThreeWay(values)
  const remedy =
    fields.both.length > 0
      ? `Both changed ${fields.both.join(', ')}: save the values you want, and send onto: ${version}.`
      : `Send merge: true to keep what only the live value changed, or onto: ${version} to replace it.`
  throw conflict(
    `The live value was changed since the working copy was begun: it is at version ${version}, the working copy is based on ${copy.baseVersion}. ${remedy}`,
    { version, baseVersion: copy.baseVersion, ...values, fields },
  )
}

/** Replaces the live value by the working copy, which ends. */
export async function publishWorkingCopy(
  writer: ContentWriter,
  container: Container,
  object: StoredObject,
  copy: WorkingCopy,
  stale: StaleBase,
): Promise<StoredObject> {
  const edited = resolveStale(threeValuesOf(container, object, copy), copy, object.version, stale)
  const value = withEdit(container, object, edited)
  await deleteWorkingCopy(writer, copy)
  if (haveSameFields(value, object.value)) return object
  return changeObject(writer, container, object, { value }, 'working copy published')
}

/** Throws what publishing would throw, and changes nothing. */
export async function rehearse(
  writer: ContentWriter,
  publish: (writer: ContentWriter) => Promise<unknown>,
): Promise<void> {
  const { db } = writer
  const nothing = (): void => {}
  await sql`savepoint rehearsal`.execute(db)
  await publish({ ...writer, record: nothing, bumpRevision: nothing, bumpMediaRevision: nothing, changeDue: nothing })
  await sql`rollback to savepoint rehearsal`.execute(db)
  await sql`release savepoint rehearsal`.execute(db)
}

/** From `dueMs` on, the working copy is the live value. It could be published now, so that it can be then. */
export async function scheduleWorkingCopy(
  writer: ContentWriter,
  container: Container,
  object: StoredObject,
  copy: WorkingCopy,
  { dueMs, ...stale }: StaleBase & { dueMs: number },
): Promise<WorkingCopy> {
  const edited = resolveStale(threeValuesOf(container, object, copy), copy, object.version, stale)
  await rehearse(writer, (inside) => publishWorkingCopy(inside, container, object, copy, stale))
  const scheduled = {
    value: withEdit(container, object, edited),
    baseValue: object.value,
    baseVersion: object.version,
    dueMs,
    versionsKept: writer.versionsKept,
    problem: null,
  }
  await updateWorkingCopy(writer, object.id, scheduled)
  writer.record({
    type: 'draft.scheduled',
    subjectId: object.id,
    containerId: container.id,
    note: `for ${toIso(dueMs)}`,
  })
  return { ...copy, ...scheduled }
}

/** Refuses edits of fields that a scheduled change of the same object changes otherwise: one of the two would be lost. */
export async function refuseContradictions(
  { group }: ContentWriter,
  container: Container,
  planned: readonly PlannedChange[],
): Promise<void> {
  const edits = new Map(planned.flatMap(({ before, wanted }) => (wanted.value ? [[before.id, { before, value: wanted.value }]] : []))) // biome-ignore format: one line reads better
  for await (const copy of iterateScheduledCopies(group, [...edits.keys()])) {
    const edit = edits.get(copy.id)
    if (!edit || copy.dueMs === null) continue
    const { both } = compareThreeWay(threeValuesOf(container, { ...edit.before, value: edit.value }, copy))
    if (both.length > 0)
      throw conflict(
        `A change of ${both.join(', ')} is scheduled for ${toIso(copy.dueMs)}. Cancel it first (schedule the working copy for null), or edit other fields.`,
        { objectId: copy.id, publishAt: toIso(copy.dueMs), fields: both },
      )
  }
}
