import { type Container, type ContainerSettings, submissionTypes } from '../content/model.ts'
import { booleanRules, limitRules, mediaTypes, parseSchema, scalarTypes } from '../content/schema.ts'
import { collectionIdsIn } from '../content/site-settings.ts'
import { conflict, invalid, notFound } from '../errors.ts'
import { changeSchema, reviewSchemaChange } from '../store/change-schema.ts'
import {
  countObjects,
  deleteContainer,
  findCollection,
  insertContainer,
  listContainers,
  updateContainer,
} from '../store/containers.ts'
import type { GroupStore } from '../store/groups.ts'
import { readRevision } from '../store/revisions.ts'
import { listSites } from '../store/sites.ts'
import { Type } from '../type.ts'
import { collectionShape, showCollection } from './content-shapes.ts'
import { done, doneShape, id, listOf, wholeList } from './shapes.ts'
import { refuseStale } from './stale.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

export const collectionId = id('The collection.')
const name = Type.String({ minLength: 1, maxLength: 200, description: 'Unique in the group.' })
const schema = Type.Record(Type.String(), Type.Unknown(), {
  description: [
    'Field name → field, such as {"title": {"type": "text", "required": true}}.',
    `Types: ${[...scalarTypes, ...mediaTypes].join(', ')}; list and variant, each "of" another.`,
    `Every field may be ${booleanRules.join(', ')}, and have a label; an enum has its values.`,
    `Limits: ${Object.keys(limitRules).join(', ')}.`,
  ].join(' '),
})
const settings = {
  accepts: Type.Optional(
    Type.Array(Type.Enum([...submissionTypes]), {
      maxItems: 2,
      description: `What visitors may send in through POST /tenant/definedCollectionObject: ${submissionTypes.join(', ')}. Default: nothing.`,
    }),
  ),
  moderation: Type.Optional(
    Type.Boolean({ description: 'Whether submissions wait for approval before they are visible. Default: false.' }),
  ),
  hourlyLimit: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'How many submissions it takes in an hour. Default: 0, as many as its group may have.',
    }),
  ),
}
const countedShape = Type.Object({ ...collectionShape.properties, objectCount: Type.Integer() })
/** What a change of a schema takes. */
export const schemaChangeInput = {
  version: Type.Integer({ description: 'The version you started from.' }),
  schema,
  renames: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Old field name → new field name.' }),
  ),
  defaults: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'Field → value, for objects that have none there.' }),
  ),
  allowLoss: Type.Optional(
    Type.Boolean({ description: 'Whether values of removed fields may be lost. Default: false.' }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would happen. Default: false.' })),
}
export const schemaReportShape = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'What a change of the schema does: fields added, removed, renamed, retyped; values lost; objects failing.',
})

export async function takeCollection(group: GroupStore, wantedId: string): Promise<Container> {
  const found = await findCollection(group, wantedId)
  if (!found) throw notFound('There is no such collection in this group.')
  return found
}

type GivenSettings = { [Name in keyof ContainerSettings]: ContainerSettings[Name] | undefined }

/** What is as it would be anyway is not written down, so that to say it changes nothing. */
function settingsOf({ accepts, moderation, hourlyLimit }: GivenSettings): ContainerSettings {
  return {
    ...(accepts?.length && { accepts: [...new Set(accepts)] }),
    ...(moderation && { moderation }),
    ...(hourlyLimit && { hourlyLimit }),
  }
}

/** Without a place for the address nobody could ever subscribe. */
function checkSubscribing({ schema, settings: { accepts } }: Pick<Container, 'schema' | 'settings'>): void {
  if (accepts?.includes('subscribeUser') && schema.get('email')?.type !== 'text')
    throw invalid('A collection that accepts subscribeUser needs a field "email" of type text in its schema.')
}

/** A page that shows nothing any more, or a heap of content gone by one call: only for who says so. */
async function refuseInUse(group: GroupStore, collection: Container): Promise<void> {
  const objects = (await countObjects(group)).get(collection.id) ?? 0
  const bound = (await listSites(group)).filter(({ settings: of }) => collectionIdsIn(of).includes(collection.id))
  const reasons = [
    ...(objects > 0 ? [`it holds ${objects} ${objects === 1 ? 'object' : 'objects'}`] : []),
    ...bound.map((site) => `pages of the site "${site.name}" show it`),
  ]
  if (reasons.length > 0)
    throw conflict(`The collection is in use: ${reasons.join('; ')}. To delete it all the same, ask with force=true.`)
}

async function takeForUpdate(group: GroupStore, input: { collectionId: string; version: number }): Promise<Container> {
  const { collectionId: wantedId, version, ...yours } = input
  const before = await takeCollection(group, wantedId)
  refuseStale('collection', before.version, version, () => ({ current: showCollection(before), yours }))
  return before
}

export const collectionVerbs = [
  defineGroupVerb({
    name: 'collection create',
    args: ['name'],
    isCreation: true,
    summary: 'Make a collection',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/collections',
    maxBodyBytes: settingsBodyBytes,
    input: { name, schema, ...settings },
    answer: collectionShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { name: wantedName, schema: written, ...rest } = input
        const container = {
          kind: 'collection' as const,
          name: wantedName,
          schema: parseSchema(written),
          settings: settingsOf(rest),
        }
        checkSubscribing(container)
        return showCollection(await insertContainer(writer, container))
      }),
  }),
  defineGroupVerb({
    name: 'collection list',
    summary: 'Show the collections of a group',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/collections',
    input: {},
    answer: listOf(countedShape),
    columns: ['_id', 'name', 'objectCount', 'version'],
    async run({ ctx }) {
      const counts = await countObjects(ctx.content)
      const collections = await listContainers(ctx.content, 'collection')
      return wholeList(collections.map((one) => ({ ...showCollection(one), objectCount: counts.get(one.id) ?? 0 })))
    },
  }),
  defineGroupVerb({
    name: 'collection show',
    summary: 'Show a collection with its schema',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/collections/:collectionId',
    input: { collectionId },
    answer: collectionShape,
    run: async ({ ctx, input }) => showCollection(await takeCollection(ctx.content, input.collectionId)),
  }),
  defineGroupVerb({
    name: 'collection update',
    summary: 'Change a collection’s name, or what it takes from visitors',
    description: 'What is left out stays. The schema is changed by "collection change-schema".',
    needs: 'owner',
    route: 'PATCH /manage/groups/:groupId/collections/:collectionId',
    input: {
      collectionId,
      version: Type.Integer({ description: 'The version you started from.' }),
      name: Type.Optional(name),
      ...settings,
    },
    answer: collectionShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const before = await takeForUpdate(writer.group, input)
        const { name: wantedName = before.name, ...given } = input
        const { accepts, moderation, hourlyLimit } = { ...before.settings, ...given }
        const wanted = { name: wantedName, settings: settingsOf({ accepts, moderation, hourlyLimit }) }
        if (input.accepts) checkSubscribing({ ...before, ...wanted })
        return showCollection(await updateContainer(writer, before, wanted))
      }),
  }),
  defineGroupVerb({
    name: 'collection change-schema',
    summary: 'Add, rename, retype or remove fields',
    description:
      'Values are carried over and converted where that loses nothing. With dryRun nothing is changed, and the report says what would be lost or fail, object by object. The change, all values and their index are one transaction.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/collections/:collectionId/schema',
    maxBodyBytes: settingsBodyBytes,
    input: {
      collectionId,
      ...schemaChangeInput,
    },
    answer: Type.Object({ collection: collectionShape, report: schemaReportShape }),
    async run({ ctx, input }) {
      const { renames = {}, defaults = {}, allowLoss = false, dryRun = false } = input
      const change = { schema: parseSchema(input.schema), renames, defaults }
      const revision = await readRevision(ctx.content)
      const current = await takeForUpdate(ctx.content, input)
      const review = await reviewSchemaChange(ctx.content, current, change)
      if (dryRun) return { collection: showCollection(current), report: review }
      return ctx.write(async (writer) => {
        const before = await takeForUpdate(writer.group, input)
        const reviewed = { revision, report: review }
        const { container, report } = await changeSchema(writer, before, change, { allowLoss, reviewed })
        return { collection: showCollection(container), report }
      })
    },
  }),
  defineGroupVerb({
    name: 'collection delete',
    summary: 'Delete a collection',
    description: 'With every object in it, for good. Refused while it holds objects or a page shows it, unless forced.',
    needs: 'owner',
    route: 'DELETE /manage/groups/:groupId/collections/:collectionId',
    input: { collectionId, force: Type.Optional(Type.Boolean({ description: 'Delete it although it is in use.' })) },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const collection = await takeCollection(writer.group, input.collectionId)
        if (!input.force) await refuseInUse(writer.group, collection)
        await deleteContainer(writer, collection)
        return done
      }),
  }),
]
