import type { TProperties } from 'typebox'
import { parseListQuery } from '../content/list-query.ts'
import { type Container, objectStatuses, reviewStates } from '../content/model.ts'
import { AppError, conflict, invalid, notFound } from '../errors.ts'
import { checkInput } from '../http/check-input.ts'
import { filtersParameter, limitParameter, searchParameter, skipParameter, sortParameter } from '../http/parameters.ts'
import { readByContainer } from '../store/containers.ts'
import type { GroupStore } from '../store/groups.ts'
import { findByExternalIds } from '../store/import-lookups.ts'
import { listObjectsInState } from '../store/list-objects.ts'
import { insertPreparedObjects, type NewObject, prepareObjects } from '../store/objects.ts'
import { requestLimits } from '../store/write-limits.ts'
import { Type } from '../type.ts'
import { findFilled, takeFilled } from './containers.ts'
import { objectShape, showObject } from './content-shapes.ts'
import {
  type ActedOn,
  actOnObjects,
  type ObjectAction,
  type ObjectItem,
  objectActions,
  stateOf,
  takeObject,
} from './object-actions.ts'
import { withReferences } from './references.ts'
import { done, doneShape, id, listOf, wholeList } from './shapes.ts'
import { contentBodyBytes, defineGroupVerb, type GroupContext, type Verb } from './verb.ts'

export const objectId = id('The object.')
const maxItems = 1000
const writeLimitsText = `A call writes at most ${requestLimits.indexRows} index entries, one for each value that can be filtered or sorted by, and works on at most ${requestLimits.bytes / 1024 ** 2} MB of objects: send fewer at a time where it is refused.`
const objectValue = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Field → value, as the collection’s schema says.',
})
const publishDate = Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
  description: 'From when on it is visible; null: always. Left out of something new that is visible: now.',
})
const version = Type.Integer({ description: 'The version you started from; a stale one is refused with 409.' })
export const state = {
  publishDate: Type.Optional(publishDate),
  draft: Type.Optional(
    Type.Boolean({ description: 'Whether it is hidden until it is published, in the place of a publishDate.' }),
  ),
  archived: Type.Optional(Type.Boolean({ description: 'Hidden, whatever the publishDate.' })),
}

const containerId = id('The collection; or the integration type, by its _id.')
const origin = {
  externalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[ -~]+$',
      description: 'Of an object of an integration type: its id where it comes from. Default: its _id here.',
    }),
  ),
  accountHandle: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
      description: 'Of an object of an integration type: the account that it comes from, for accountHandle=….',
    }),
  ),
}

/** Where objects come from is said of integration types only, and each comes once from an account. */
async function checkOrigins(
  group: GroupStore,
  { id: ofId, kind }: Container,
  items: readonly NewItem[],
): Promise<void> {
  if (kind === 'collection' && items.some((item) => (item.externalId ?? item.accountHandle) !== undefined))
    throw invalid('externalId and accountHandle are for objects of integration types; a collection’s have none.')
  const placeOf = (externalId: string, handle = ''): string => JSON.stringify([handle, externalId])
  const given = items.flatMap(({ externalId }) => externalId ?? [])
  const found = await findByExternalIds(group, ofId, given)
  const taken = new Set(found.map(({ externalId, accountHandle }) => placeOf(externalId ?? '', accountHandle)))
  for (const { externalId, accountHandle } of items) {
    if (externalId === undefined) continue
    const place = placeOf(externalId, accountHandle)
    if (taken.has(place)) throw conflict(`There is already an object with the externalId "${externalId}".`)
    taken.add(place)
  }
}

/** A verb that does one thing to one object. */
function actionVerb(
  action: ObjectAction,
  definition: {
    summary: string
    description?: string
    args?: string[]
    maxBodyBytes?: number
    route: `${Verb['method']} /manage${string}`
    input: TProperties
  },
): Verb {
  const isDelete = action === 'delete'
  return defineGroupVerb({
    name: `object ${action}`,
    needs: 'editor',
    answer: isDelete ? doneShape : objectShape,
    ...definition,
    input: { objectId, ...definition.input },
    async run({ ctx, input }) {
      const items = await withReferences(ctx, [input as ObjectItem])
      const show = ({ containerId, object }: ActedOn) => showObject(containerId, object, ctx.nowMs)
      const [shown = done] = await ctx.write((writer) => actOnObjects<unknown>(writer, action, items, show))
      return shown
    },
  })
}

const optionalVersion = { version: Type.Optional(version) }
const path = '/manage/groups/:groupId/objects/:objectId'

export const objectVerbs: Verb[] = [
  defineGroupVerb({
    name: 'object create',
    isCreation: true,
    summary: 'Make an object in a collection',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/collections/:collectionId/objects',
    maxBodyBytes: contentBodyBytes,
    input: { collectionId: containerId, objectValue, ...state, ...origin },
    answer: objectShape,
    async run({ ctx, input }) {
      const items = await withReferences(ctx, [input])
      const [object] = await createObjects(ctx, input.collectionId, items, (_position, look) => look())
      if (!object) throw new Error('Nothing was stored.')
      return object
    },
  }),
  defineGroupVerb({
    name: 'object list',
    summary: 'Show the objects of a collection, in every state',
    description: 'Filters, sorts and searches as the delivery API does.',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/collections/:collectionId/objects',
    input: {
      collectionId: containerId,
      status: Type.Optional(Type.Enum([...objectStatuses], { description: 'Only objects in this state.' })),
      review: Type.Optional(Type.Enum([...reviewStates], { description: 'Only submissions in this state.' })),
      limit: limitParameter,
      skip: skipParameter,
      sort: sortParameter,
      filters: filtersParameter({ category: ['Recipes'] }),
      search: searchParameter,
    },
    answer: listOf(objectShape),
    columns: ['_id', 'status', 'publishDate', 'version', 'updatedAt', 'objectValue'],
    async run({ ctx, input }) {
      const { content, nowMs } = ctx
      const { status, review } = input
      const answer = await readByContainer(
        content,
        () => findFilled(content, input.collectionId),
        async (collection) => {
          const query = parseListQuery(collection.schema, input)
          const { objects, totalCount } = await listObjectsInState(
            content,
            collection,
            query,
            { status, review },
            nowMs,
            ctx.maxAnswerBytes,
          )
          return { items: objects.map((object) => showObject(collection.id, object, nowMs)), totalCount }
        },
      )
      if (!answer) throw notFound('There is no such collection in this group.')
      return answer
    },
  }),
  defineGroupVerb({
    name: 'object show',
    summary: 'Show one object',
    needs: 'viewer',
    route: `GET ${path}`,
    input: { objectId },
    answer: objectShape,
    async run({ ctx, input }) {
      const { container, object } = await takeObject(ctx.content, input.objectId)
      return showObject(container.id, object, ctx.nowMs)
    },
  }),
  actionVerb('update', {
    summary: 'Put another value in the place of an object’s',
    description: 'The publish date and the archived flag stay where they are left out.',
    route: `PUT ${path}`,
    maxBodyBytes: contentBodyBytes,
    input: { version, objectValue, ...state },
  }),
  actionVerb('patch', {
    summary: 'Change some fields of an object',
    description: 'What is left out stays; null takes a field away.',
    route: `PATCH ${path}`,
    maxBodyBytes: contentBodyBytes,
    input: { version, objectValue: Type.Optional(objectValue), ...state },
  }),
  actionVerb('delete', {
    summary: 'Delete an object',
    description: 'With its versions and preview links, for good. To hide it, archive it.',
    route: `DELETE ${path}`,
    input: optionalVersion,
  }),
  actionVerb('duplicate', {
    summary: 'Copy an object',
    description: 'The copy is a draft.',
    route: `POST ${path}/duplicate`,
    input: {},
  }),
  actionVerb('publish', {
    summary: 'Make an object visible now',
    description: 'Its publish date becomes now where it has none or one in the future.',
    route: `POST ${path}/publish`,
    input: optionalVersion,
  }),
  actionVerb('schedule', {
    summary: 'Let an object appear at a moment',
    args: ['publishDate'],
    route: `POST ${path}/schedule`,
    input: { publishDate: Type.String({ maxLength: 40, description: 'A moment in the future.' }), ...optionalVersion },
  }),
  actionVerb('unpublish', {
    summary: 'Make an object a draft again',
    route: `POST ${path}/unpublish`,
    input: optionalVersion,
  }),
  actionVerb('archive', {
    summary: 'Hide an object and put it away',
    route: `POST ${path}/archive`,
    input: optionalVersion,
  }),
  actionVerb('restore', {
    summary: 'Take an object out of the archive',
    route: `POST ${path}/restore`,
    input: optionalVersion,
  }),
  defineGroupVerb({
    name: 'object create-many',
    isCreation: true,
    summary: 'Make many objects in a collection, all or none',
    description: writeLimitsText,
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/collections/:collectionId/objects/bulk',
    maxBodyBytes: contentBodyBytes,
    input: {
      collectionId: containerId,
      items: Type.Array(Type.Object({ objectValue, ...state, ...origin }, { additionalProperties: false }), {
        minItems: 1,
        maxItems,
      }),
    },
    answer: listOf(objectShape),
    columns: ['_id', 'status', 'objectValue'],
    async run({ ctx, input }) {
      const items = await withReferences(ctx, input.items)
      return wholeList(await createObjects(ctx, input.collectionId, items, namingItem))
    },
  }),
  defineGroupVerb({
    name: 'object bulk',
    summary: 'Do one thing to many objects, all or none',
    description: `Actions: ${objectActions.join(', ')}. Items carry what the action needs, as its own endpoint takes it. ${writeLimitsText}`,
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/objects/bulk',
    maxBodyBytes: contentBodyBytes,
    input: {
      action: Type.Enum([...objectActions]),
      items: Type.Array(
        Type.Object(
          { objectId, version: Type.Optional(version), objectValue: Type.Optional(objectValue), ...state },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems },
      ),
    },
    answer: listOf(Type.Omit(objectShape, ['objectValue'])),
    columns: ['_id', 'status', 'publishDate', 'version'],
    async run({ ctx, input }) {
      const { action } = input
      const items = await withReferences(ctx, input.items)
      return ctx.write(async (writer) => {
        const single = objectVerbs.find(({ name }) => name === `object ${action}`) as Verb
        for (const [position, item] of items.entries())
          namingItem(position, () => checkInput(single.input, { groupId: ctx.group.id, ...item }))
        // Without values: a thousand of them may be more than an answer can hold.
        const show = ({ containerId, object }: ActedOn) => {
          const { objectValue: _, ...state } = showObject(containerId, object, ctx.nowMs)
          return state
        }
        return { items: await actOnObjects(writer, action, items, show, namingItem), totalCount: items.length }
      })
    },
  }),
]

type NewItem = {
  objectValue: Record<string, unknown>
  externalId?: string | undefined
  accountHandle?: string | undefined
} & Parameters<typeof stateOf>[0]

/** What is seen from now on has this moment as its publish date, unless another or none is asked for. */
function toNewObject({ objectValue: value, externalId, accountHandle, ...given }: NewItem, nowMs: number): NewObject {
  return {
    value,
    ...(externalId !== undefined && { externalId }),
    ...(accountHandle !== undefined && { accountHandle }),
    ...(!given.archived && { publishMs: nowMs }),
    ...stateOf(given, nowMs),
  }
}

/** What can be made ready outside of the transaction is: others cannot write meanwhile. */
async function createObjects(
  { content, authoring, nowMs, write }: GroupContext,
  ofCollection: string,
  items: readonly NewItem[],
  lookAt: <Result>(position: number, look: () => Result) => Result,
) {
  const collection = await takeFilled(content, ofCollection)
  const wanted = items.map((item, position) => lookAt(position, () => toNewObject(item, nowMs)))
  const prepared = await prepareObjects(content, authoring, collection, wanted, lookAt)
  return write(async (writer) => {
    const current = await takeFilled(writer.group, ofCollection)
    await checkOrigins(writer.group, current, items)
    const objects = await insertPreparedObjects(writer, current, prepared)
    return objects.map((object) => showObject(current.id, object, nowMs))
  })
}

/** Says which of many was the one. */
function namingItem<Result>(position: number, look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const details = error.details && { details: error.details }
    throw new AppError(error.code, `items[${position}]: ${error.message} Nothing was changed.`, details)
  }
}
