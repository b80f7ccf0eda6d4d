import type { TProperties } from 'typebox'
import { maxLimit, parseListQuery } from '../content/list-query.ts'
import { type Container, objectStatuses, reviewStates } from '../content/model.ts'
import { onlyFields, parseFields } from '../content/shown-fields.ts'
import { AppError, conflict, invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { checkInput } from '../http/check-input.ts'
import {
  afterParameter,
  fieldsParameter,
  filtersParameter,
  limitParameter,
  searchParameter,
  skipParameter,
  sortParameter,
} from '../http/query.ts'
import { requestLimits } from '../store/content/changes.ts'
import { readByContainer } from '../store/content/containers.ts'
import { findContainerIdOf, insertPreparedObjects, type NewObject, prepareObjects } from '../store/content/objects.ts'
import { listObjectsInState } from '../store/lists/list-objects.ts'
import type { GroupStore } from '../store/store.ts'
import { findByExternalIds } from '../store/transfer/import.ts'
import { findEditable, requireEditable } from './collections.ts'
import { withMediaReferences } from './media-references.ts'
import {
  actOnObjects,
  type ChangedObject,
  type ObjectAction,
  type ObjectItem,
  objectActions,
  requireObject,
  stateOf,
} from './object-actions.ts'
import { listReferrers, referrerShape } from './object-references.ts'
import { objectShape, showObject, storedObjectShape } from './object-shapes.ts'
import { completeList, cursorListOf, done, doneShape, id, listOf } from './shapes.ts'
import { contentBodyBytes, defineGroupVerb, type GroupContext, type Verb } from './verb.ts'
import { withWorkingCopies, withWorkingCopy } from './working-copy-states.ts'

export const objectId = id('The object.')
const maxItems = 1000
const writeLimitsText = `A call writes at most ${requestLimits.indexRows} index entries, one for each value that can be filtered or sorted by, and works on at most ${requestLimits.bytes / 1024 ** 2} MB of objects. If it is refused, send fewer at a time.`
const objectValue = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Field → value, according to the collection’s schema.',
})
const publishDate = Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
  description: 'When it becomes visible; null: always visible. Default for a new visible object: now.',
})
const version = Type.Integer({ description: 'The version you started from; a stale one is refused with 409.' })
export const state = {
  publishDate: Type.Optional(publishDate),
  draft: Type.Optional(
    Type.Boolean({ description: 'Whether it stays hidden until it is published. Use it instead of publishDate.' }),
  ),
  archived: Type.Optional(Type.Boolean({ description: 'Whether it is hidden, regardless of its publishDate.' })),
  archiveDate: Type.Optional(
    Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
      description: 'When it is archived, a time in the future; null: never.',
    }),
  ),
}

const containerId = id('The _id of the collection or integration type.')
const origin = {
  externalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[ -~]+$',
      description: 'For an object of an integration type: its id at the source. Default: its _id here.',
    }),
  ),
  accountHandle: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      description: 'For an object of an integration type: the account it comes from, as accountHandle=… filters it.',
    }),
  ),
}

/** Only objects of integration types have an origin, and an external id is unique in its account. */
async function checkOrigins(
  group: GroupStore,
  { id: ofId, kind }: Container,
  items: readonly NewItem[],
): Promise<void> {
  if (kind === 'collection' && items.some((item) => (item.externalId ?? item.accountHandle) !== undefined))
    throw invalid(
      'externalId and accountHandle are only for objects of integration types, not for those of a collection.',
    )
  const originKey = (externalId: string, handle = ''): string => JSON.stringify([handle, externalId])
  const given = items.flatMap(({ externalId }) => externalId ?? [])
  const found = await findByExternalIds(group, ofId, given)
  const taken = new Set(found.map(({ externalId, accountHandle }) => originKey(externalId ?? '', accountHandle)))
  for (const { externalId, accountHandle } of items) {
    if (externalId === undefined) continue
    const key = originKey(externalId, accountHandle)
    if (taken.has(key)) throw conflict(`There is already an object with the externalId "${externalId}".`)
    taken.add(key)
  }
}

function actionVerb(
  action: ObjectAction,
  definition: {
    summary: string
    description?: string
    args?: string[]
    maxBodyBytes?: number
    input: TProperties
  },
): Verb {
  const isDelete = action === 'delete'
  return defineGroupVerb({
    name: `object ${action}`,
    answer: isDelete ? doneShape : objectShape,
    ...definition,
    input: { objectId, ...definition.input },
    async run({ ctx, input }) {
      const items = await withMediaReferences(ctx, [input as ObjectItem])
      const show = ({ containerId, object }: ChangedObject) => showObject(containerId, object, ctx.nowMs)
      const [shown = done] = await ctx.write((writer) => actOnObjects<unknown>(writer, action, items, show))
      return shown
    },
  })
}

const force = Type.Optional(Type.Boolean({ description: 'Delete it even if other objects refer to it.' }))
const optionalVersion = { version: Type.Optional(version) }

export const objectVerbs: Verb[] = [
  defineGroupVerb({
    name: 'object create',
    isCreation: true,
    summary: 'Create an object in a collection',
    maxBodyBytes: contentBodyBytes,
    input: { collectionId: containerId, objectValue, ...state, ...origin },
    answer: objectShape,
    async run({ ctx, input }) {
      const items = await withMediaReferences(ctx, [input], input.collectionId)
      const [object] = await createObjects(ctx, input.collectionId, items, (_position, work) => work())
      if (!object) throw new Error('No object was stored.')
      return object
    },
  }),
  defineGroupVerb({
    name: 'object list',
    summary: 'Show the objects of a collection, in every state',
    description: 'Filters, sorts and searches like the delivery API.',
    input: {
      collectionId: containerId,
      status: Type.Optional(Type.Enum([...objectStatuses], { description: 'Only objects in this state.' })),
      review: Type.Optional(Type.Enum([...reviewStates], { description: 'Only submissions in this state.' })),
      limit: limitParameter,
      skip: skipParameter,
      after: afterParameter,
      sort: sortParameter,
      filters: filtersParameter({ category: ['Recipes'] }),
      search: searchParameter,
      fields: fieldsParameter,
    },
    answer: cursorListOf(storedObjectShape),
    columns: ['_id', 'status', 'publishDate', 'version', 'updatedAt', 'objectValue'],
    async run({ ctx, input }) {
      const { content, nowMs } = ctx
      const { status, review } = input
      const answer = await readByContainer(
        content,
        () => findEditable(content, input.collectionId),
        async (collection) => {
          const query = parseListQuery(collection.schema, input)
          const shown = parseFields(collection.schema, input.fields, () => true)
          const { objects, ...total } = await listObjectsInState(
            content,
            collection,
            query,
            { status, review },
            nowMs,
            ctx.maxAnswerBytes,
          )
          const items = objects.map((object) => showObject(collection.id, onlyFields(object, shown), nowMs))
          return { items: await withWorkingCopies(content, items), ...total }
        },
      )
      if (!answer) throw notFound('There is no such collection in this group.')
      return answer
    },
  }),
  defineGroupVerb({
    name: 'object show',
    summary: 'Show one object',
    input: { objectId },
    answer: storedObjectShape,
    async run({ ctx, input }) {
      const { container, object } = await requireObject(ctx.content, input.objectId)
      return withWorkingCopy(ctx.content, showObject(container.id, object, ctx.nowMs))
    },
  }),
  defineGroupVerb({
    name: 'object references',
    summary: 'Show the objects that refer to an object',
    description:
      'In any state, each with the places in its value. Former versions do not count. The object may be a product.',
    input: { objectId, limit: limitParameter, skip: skipParameter },
    answer: listOf(referrerShape),
    columns: ['_id', 'collectionId', 'paths'],
    async run({ ctx, input }) {
      const { objectId: target, limit = maxLimit, skip = 0 } = input
      if ((await findContainerIdOf(ctx.content, target)) === undefined)
        throw notFound('There is no such object in this group.')
      return listReferrers(ctx.content, target, { limit, skip })
    },
  }),
  actionVerb('update', {
    summary: 'Replace the value of an object',
    description: 'The publish date and the archived flag stay as they are unless given.',
    maxBodyBytes: contentBodyBytes,
    input: { version, objectValue, ...state },
  }),
  actionVerb('patch', {
    summary: 'Change some fields of an object',
    description: 'Fields that are left out stay; null removes a field.',
    maxBodyBytes: contentBodyBytes,
    input: { version, objectValue: Type.Optional(objectValue), ...state },
  }),
  actionVerb('delete', {
    summary: 'Delete an object',
    description:
      'Permanently, with its versions and preview links. To hide it, archive it. Refused while other objects refer to it, unless forced; their references are then left without a target.',
    input: { ...optionalVersion, force },
  }),
  actionVerb('duplicate', { summary: 'Copy an object', description: 'The copy is a draft.', input: {} }),
  actionVerb('publish', {
    summary: 'Make an object visible now',
    description: 'Sets its publish date to now if it has none or one in the future.',
    input: optionalVersion,
  }),
  actionVerb('schedule', {
    summary: 'Schedule when an object becomes visible',
    args: ['publishDate'],
    input: { publishDate: Type.String({ maxLength: 40, description: 'A time in the future.' }), ...optionalVersion },
  }),
  actionVerb('unpublish', { summary: 'Make an object a draft again', input: optionalVersion }),
  actionVerb('archive', { summary: 'Archive an object, which hides it', input: optionalVersion }),
  actionVerb('restore', { summary: 'Restore an object from the archive', input: optionalVersion }),
  defineGroupVerb({
    name: 'object create-many',
    isCreation: true,
    summary: 'Create many objects in a collection, all or none',
    description: writeLimitsText,
    maxBodyBytes: contentBodyBytes,
    input: {
      collectionId: containerId,
      items: Type.Array(Type.Object({ objectValue, ...state, ...origin }, { additionalProperties: false }), {
        minItems: 1,
        maxItems,
      }),
    },
    answer: cursorListOf(objectShape),
    columns: ['_id', 'status', 'objectValue'],
    async run({ ctx, input }) {
      const items = await withMediaReferences(ctx, input.items, input.collectionId)
      return completeList(await createObjects(ctx, input.collectionId, items, forNamedItem))
    },
  }),
  defineGroupVerb({
    name: 'object bulk',
    summary: 'Apply one action to many objects, all or none',
    description: `Actions: ${objectActions.join(', ')}. Each item has the fields that the endpoint of the action takes. ${writeLimitsText}`,
    maxBodyBytes: contentBodyBytes,
    input: {
      action: Type.Enum([...objectActions]),
      items: Type.Array(
        Type.Object(
          { objectId, version: Type.Optional(version), objectValue: Type.Optional(objectValue), ...state, force },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems },
      ),
    },
    answer: listOf(Type.Omit(objectShape, ['objectValue'])),
    columns: ['_id', 'status', 'publishDate', 'version'],
    async run({ ctx, input }) {
      const { action } = input
      const items = await withMediaReferences(ctx, input.items)
      return ctx.write(async (writer) => {
        const single = objectVerbs.find(({ name }) => name === `object ${action}`) as Verb
        for (const [position, item] of items.entries())
          forNamedItem(position, () => checkInput(single.input, { groupId: ctx.group.id, ...item }))
        // Without values: a thousand of them may exceed the limit of an answer.
        const show = ({ containerId, object }: ChangedObject) => {
          const { objectValue: _, ...state } = showObject(containerId, object, ctx.nowMs)
          return state
        }
        return { items: await actOnObjects(writer, action, items, show, forNamedItem), totalCount: items.length }
      })
    },
  }),
]

type NewItem = {
  objectValue: Record<string, unknown>
  externalId?: string | undefined
  accountHandle?: string | undefined
} & Parameters<typeof stateOf>[0]

/** A visible object gets the current time as its publish date, unless the input has another. */
function toNewObject({ objectValue: value, externalId, accountHandle, ...given }: NewItem, nowMs: number): NewObject {
  return {
    value,
    ...(externalId !== undefined && { externalId }),
    ...(accountHandle !== undefined && { accountHandle }),
    ...(!given.archived && { publishMs: nowMs }),
    ...stateOf(given, nowMs),
  }
}

/** Prepares as much as possible before the transaction, which blocks the group's other writers. */
async function createObjects(
  { content, authoring, nowMs, write }: GroupContext,
  ofCollection: string,
  items: readonly NewItem[],
  forItem: <Result>(position: number, work: () => Result) => Result,
) {
  const collection = await requireEditable(content, ofCollection)
  const wanted = items.map((item, position) => forItem(position, () => toNewObject(item, nowMs)))
  const prepared = await prepareObjects(content, authoring, collection, wanted, forItem)
  return write(async (writer) => {
    const current = await requireEditable(writer.group, ofCollection)
    await checkOrigins(writer.group, current, items)
    const objects = await insertPreparedObjects(writer, current, prepared)
    return objects.map((object) => showObject(current.id, object, nowMs))
  })
}

/** Names the item in the errors of its work. */
function forNamedItem<Result>(position: number, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const details = error.details && { details: error.details }
    throw new AppError(error.code, `items[${position}]: ${error.message} Nothing was changed.`, details)
  }
}
