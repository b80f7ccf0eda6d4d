import type { Static } from 'typebox'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { mediaUsesIn } from '../content/media-uses.ts'
import { mergeParts } from '../content/merge.ts'
import type { Container, StoredObject } from '../content/model.ts'
import { parseDateTime, toIso } from '../content/moments.ts'
import { editableFields, isMirrored } from '../content/product-edits.ts'
import { checkObjectValue, problemsOf } from '../content/validate.ts'
import { compareThreeWay, isSameValue, relaxSchema } from '../content/working-copy.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { findContainerById } from '../store/content/containers.ts'
import { findObject } from '../store/content/objects.ts'
import {
  editedValue,
  publishWorkingCopy,
  scheduleWorkingCopy,
  threeValuesOf,
} from '../store/content/publish-working-copies.ts'
import { findReferenceProblems } from '../store/content/references.ts'
import {
  deleteWorkingCopy,
  findWorkingCopy,
  listWorkingCopyStates,
  saveWorkingCopy,
  updateWorkingCopy,
  type WorkingCopy,
} from '../store/content/working-copies.ts'
import { findMediaProblems } from '../store/media/uses.ts'
import type { GroupStore } from '../store/store.ts'
import { withMediaReferences } from './media-references.ts'
import { objectShape, showObject } from './object-shapes.ts'
import { done, doneShape, id, listOf, openObject, orNull, ownId } from './shapes.ts'
import { contentBodyBytes, defineGroupVerb, type GroupContext } from './verb.ts'
import { copyStateProperties, showCopyState } from './working-copy-states.ts'

const maxProblemsShown = 20

const objectId = id('The object or product.')
const objectValue = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Field → value. It may be unfinished: required fields may be missing, and limits exceeded, until it is published.',
})
export const ifRevision = Type.Optional(
  Type.Integer({
    description: 'The revision you started from, 0 for none: refused with 409 if someone else has saved since.',
  }),
)
export const publishAt = Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
  description: 'A time in the future; null: cancels it, and the working copy stays.',
})
export const staleInput = {
  onto: Type.Optional(
    Type.Integer({
      description: 'The live version that you compared the working copy with: it is replaced, though it is newer.',
    }),
  ),
  merge: Type.Optional(
    Type.Boolean({
      description: 'Whether to keep fields that only the live value changed; 409 if both sides changed a field.',
    }),
  ),
}

export const workingCopyShape = Type.Object({
  _id: ownId,
  collectionId: ownId,
  objectValue: openObject('The fields of the working copy, private ones too; media is not signed here.'),
  version: Type.Integer({ description: 'The live version; if it is not the base version, the object was changed.' }),
  problems: Type.Array(Type.String(), { description: 'What must be corrected before it can be published.' }),
  ...copyStateProperties,
})

const listedShape = Type.Object({
  _id: ownId,
  kind: Type.Enum(['object', 'site']),
  collectionId: orNull(ownId),
  ...copyStateProperties,
})

const fields = Type.Array(Type.String())
export const threeWayShape = <Name extends string>(what: Name) =>
  Type.Object({
    version: Type.Integer({ description: 'The live version.' }),
    baseVersion: Type.Integer(),
    base: openObject(`The ${what} that the working copy was begun with.`),
    live: openObject('What is delivered now.'),
    draft: openObject('The working copy.'),
    fields: Type.Object(
      { draft: fields, live: fields, both: fields },
      { description: 'Names of fields by the sides that changed them.' },
    ),
  })

export const noSuchCopy = () => notFound('There is no working copy.')

/** An object or product with its container, as the transaction sees them. */
async function requireSubject(group: GroupStore, wantedId: string) {
  const found = await findObject(group, wantedId)
  const container = found && (await findContainerById(group, found.containerId))
  if (!found || !container) throw notFound('There is no such object in this group.')
  return { container, object: found.object }
}

async function requireCopy(group: GroupStore, wantedId: string) {
  const subject = await requireSubject(group, wantedId)
  const copy = await findWorkingCopy(group, wantedId)
  if (!copy) throw noSuchCopy()
  return { ...subject, copy }
}

/** Optimistic locking among editors of one working copy. */
export function refuseOtherRevision(copy: WorkingCopy | undefined, wanted: number | undefined): void {
  const current = copy?.revision ?? 0
  if (wanted === undefined || wanted === current) return
  throw conflict(
    copy
      ? `${copy.savedBy} has saved this working copy: it is at revision ${current}, you started from ${wanted}.`
      : 'There is no working copy any more: it was published or discarded.',
    { current: copy ? { ...showCopyState(copy), value: copy.value } : null },
  )
}

/** What is scheduled was valid when it was scheduled, and stays as it was. */
export function refuseScheduled(copy: WorkingCopy | undefined): void {
  if (copy?.dueMs == null) return
  throw conflict(
    `The working copy is scheduled for ${toIso(copy.dueMs)}. To change it, cancel that first: schedule it for null.`,
  )
}

export function dueMsOf(publishAt: string | null, nowMs: number): number | null {
  if (publishAt === null) return null
  const dueMs = parseDateTime(publishAt)
  if (dueMs === undefined) throw invalid('publishAt must be a moment such as 2026-03-01T09:30:00Z, or null.')
  if (dueMs <= nowMs) throw invalid('publishAt must lie in the future; to publish at once, publish.')
  return dueMs
}

export async function unscheduleCopy(writer: ContentWriter, copy: WorkingCopy): Promise<WorkingCopy> {
  if (copy.dueMs === null) return copy
  await updateWorkingCopy(writer, copy.id, { dueMs: null })
  const { id: subjectId, containerId } = copy
  writer.record({ type: 'draft.unscheduled', subjectId, ...(containerId !== null && { containerId }) })
  return { ...copy, dueMs: null }
}

/** What would stop publishing. */
async function problemsIn(
  group: GroupStore,
  container: Container,
  { id: ofObject, value: live }: StoredObject,
  value: Record<string, unknown>,
): Promise<string[]> {
  const { schema } = container
  const missing = await findMediaProblems(group, mediaUsesIn(schema, live), mediaUsesIn(schema, value))
  const targets = await findReferenceProblems(group, container, [{ id: ofObject, before: live, value }])
  return [...problemsOf(schema, value), ...missing, ...targets].slice(0, maxProblemsShown)
}

async function showWorkingCopy(
  group: GroupStore,
  container: Container,
  object: StoredObject,
  copy: WorkingCopy,
): Promise<Static<typeof workingCopyShape>> {
  const value = editedValue(container, object, copy)
  return {
    _id: object.id,
    collectionId: container.id,
    objectValue: value,
    version: object.version,
    problems: await problemsIn(group, container, object, value),
    ...showCopyState(copy),
  }
}

/** Other fields of a product are the provider's. */
function refuseProvidersFields(container: Container, object: StoredObject, value: Record<string, unknown>): void {
  if (!isMirrored(container)) return
  const editable: readonly string[] = editableFields
  const changed = Object.keys(value).filter((name) => !editable.includes(name) && !isSameValue(value[name], object.value[name])) // biome-ignore format: one line reads better
  if (changed.length > 0)
    throw invalid(
      `objectValue.${changed[0]} comes from the provider. Of a product, ${editable.join(' and ')} can be changed here.`,
    )
}

interface Save {
  objectId: string
  ifRevision?: number | undefined
  objectValue: Record<string, unknown>
}

async function save(
  ctx: GroupContext,
  given: Save,
  wanted: (before: Record<string, unknown>, objectValue: Record<string, unknown>) => Record<string, unknown>,
) {
  const [item = given] = await withMediaReferences(ctx, [given])
  const { container, object, copy } = await ctx.write(async (writer: ContentWriter) => {
    const { group } = writer
    const { container, object } = await requireSubject(group, item.objectId)
    const before = await findWorkingCopy(group, object.id)
    refuseOtherRevision(before, item.ifRevision)
    refuseScheduled(before)
    const value = wanted(before?.value ?? object.value, item.objectValue)
    refuseProvidersFields(container, object, value)
    checkObjectValue(relaxSchema(container.schema), group.groupId, value)
    const isSaved = before !== undefined && isSameValue(before.value, value)
    const uses = mediaUsesIn(container.schema, value)
    const subject = { id: object.id, containerId: container.id, value: object.value, version: object.version }
    const copy = isSaved ? before : await saveWorkingCopy(writer, subject, before, value, uses)
    return { container, object, copy }
  })
  // Outside of the transaction, for which other writers wait.
  await yieldForHeavyWork(JSON.stringify(copy.value).length)
  return showWorkingCopy(ctx.content, container, object, copy)
}

export const workingCopyVerbs = [
  defineGroupVerb({
    name: 'object draft save',
    summary: 'Save the working copy of an object, without publishing it',
    description:
      'The first save begins a working copy beside the live object. Nothing that is delivered changes until it is published, so an editor can save as often as it likes. The answer names the problems that would stop publishing.',
    maxBodyBytes: contentBodyBytes,
    input: { objectId, ifRevision, objectValue },
    answer: workingCopyShape,
    run: ({ ctx, input }) => save(ctx, input, (_before, value) => value),
  }),
  defineGroupVerb({
    name: 'object draft patch',
    summary: 'Save some fields of the working copy of an object',
    description: 'Fields that are left out stay as they are in the working copy, or else as they are live; null removes a field.', // biome-ignore format: one line reads better
    maxBodyBytes: contentBodyBytes,
    input: { objectId, ifRevision, objectValue },
    answer: workingCopyShape,
    run: ({ ctx, input }) => save(ctx, input, mergeParts),
  }),
  defineGroupVerb({
    name: 'object draft show',
    summary: 'Show the working copy of an object',
    input: { objectId },
    answer: workingCopyShape,
    async run({ ctx, input }) {
      const { container, object, copy } = await requireCopy(ctx.content, input.objectId)
      return showWorkingCopy(ctx.content, container, object, copy)
    },
  }),
  defineGroupVerb({
    name: 'object draft diff',
    summary: 'Compare the working copy of an object with its base and its live value',
    description: 'Names the fields that were changed in the working copy, in the live object, and in both.',
    input: { objectId },
    answer: threeWayShape('value'),
    async run({ ctx, input }) {
      const { container, object, copy } = await requireCopy(ctx.content, input.objectId)
      const values = threeValuesOf(container, object, copy)
      return { version: object.version, baseVersion: copy.baseVersion, ...values, fields: compareThreeWay(values) }
    },
  }),
  defineGroupVerb({
    name: 'object draft discard',
    summary: 'Discard the working copy of an object',
    description: 'The live object stays as it is. A scheduled change is cancelled.',
    input: { objectId, ifRevision },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object, copy } = await requireCopy(writer.group, input.objectId)
        refuseOtherRevision(copy, input.ifRevision)
        await deleteWorkingCopy(writer, copy)
        writer.record({ type: 'draft.discarded', subjectId: object.id, containerId: container.id })
        return done
      }),
  }),
  defineGroupVerb({
    name: 'object draft publish',
    summary: 'Replace the live value of an object by its working copy',
    description:
      'At once and as a whole; the object gets a new version, and its publish date and archived flag stay. If the object was changed since the working copy was begun, this is 409 with all three values in details.',
    input: { objectId, ifRevision, ...staleInput },
    answer: objectShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object, copy } = await requireCopy(writer.group, input.objectId)
        refuseOtherRevision(copy, input.ifRevision)
        const published = await publishWorkingCopy(writer, container, object, copy, input)
        return showObject(container.id, published, ctx.nowMs)
      }),
  }),
  defineGroupVerb({
    name: 'object draft schedule',
    args: ['publishAt'],
    summary: 'Schedule when the working copy of an object is published',
    description:
      'From that second on it is delivered, in every process, and without a job. It must be valid now, and cannot be changed while it is scheduled. An edit of the live object that contradicts it is refused; other fields are merged.',
    input: { objectId, publishAt, ifRevision, ...staleInput },
    answer: workingCopyShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { publishAt, ifRevision, ...stale } = input
        const { container, object, copy } = await requireCopy(writer.group, input.objectId)
        refuseOtherRevision(copy, ifRevision)
        const dueMs = dueMsOf(publishAt, ctx.nowMs)
        const after =
          dueMs === null
            ? await unscheduleCopy(writer, copy)
            : await scheduleWorkingCopy(writer, container, object, copy, { ...stale, dueMs })
        return showWorkingCopy(writer.group, container, object, after)
      }),
  }),
  defineGroupVerb({
    name: 'object draft list',
    summary: 'Show the working copies of a group, the latest first',
    input: { limit: limitParameter, skip: skipParameter },
    answer: listOf(listedShape),
    columns: ['_id', 'kind', 'savedAt', 'savedBy', 'publishAt', 'problem'],
    async run({ ctx, input }) {
      const { limit = 100, skip = 0 } = input
      const { copies, totalCount } = await listWorkingCopyStates(ctx.content, { limit, skip })
      const items = copies.map((copy) => ({
        _id: copy.id,
        kind: copy.containerId === null ? 'site' : 'object',
        collectionId: copy.containerId,
        ...showCopyState(copy),
      }))
      return { items, totalCount }
    },
  }),
]
