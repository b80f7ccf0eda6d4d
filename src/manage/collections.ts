import type { Static } from 'typebox'
import { type Container, type ContainerSettings, submissionTypes } from '../content/model.ts'
import { booleanRules, limitRules, nestedTypes, parseSchema, textRules } from '../content/parse-schema.ts'
import { isMirrored } from '../content/product-edits.ts'
import { fieldsReferringTo } from '../content/references.ts'
import { mediaTypes, scalarTypes, uniqueTypes } from '../content/schema.ts'
import { collectionIdsIn } from '../content/site-settings.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { changeSchema, reviewSchemaChange } from '../store/content/change-schema.ts'
import {
  countObjects,
  deleteContainer,
  findCollection,
  findContainerById,
  insertContainer,
  listContainers,
  updateContainer,
} from '../store/content/containers.ts'
import { readRevision } from '../store/content/revisions.ts'
import { listSites } from '../store/content/sites.ts'
import type { GroupStore } from '../store/store.ts'
import { completeList, done, doneShape, id, listOf, openObject, ownId, refuseStale } from './shapes.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

/** A collection, or an integration type that people write; undefined otherwise. */
export async function findEditable(group: GroupStore, containerId: string): Promise<Container | undefined> {
  const found = await findContainerById(group, containerId)
  return found && !isMirrored(found) ? found : undefined
}

export async function requireEditable(group: GroupStore, containerId: string): Promise<Container> {
  const found = await findEditable(group, containerId)
  if (!found) throw notFound('There is no such collection in this group.')
  return found
}

export const collectionShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  schema: openObject('Field name → field.'),
  accepts: Type.Array(Type.String()),
  moderation: Type.Boolean(),
  hourlyLimit: Type.Integer({ description: '0 if it has no separate limit.' }),
  version: Type.Integer(),
})

export const showCollection = (container: Container): Static<typeof collectionShape> => ({
  _id: container.id,
  name: container.name,
  schema: Object.fromEntries(container.schema),
  accepts: container.settings.accepts ?? [],
  moderation: container.settings.moderation ?? false,
  hourlyLimit: container.settings.hourlyLimit ?? 0,
  version: container.version,
})

export const collectionId = id('The collection.')
const name = Type.String({ minLength: 1, maxLength: 200, description: 'Unique in the group.' })
const schema = Type.Record(Type.String(), Type.Unknown(), {
  description: [
    'Field name → field, such as {"title": {"type": "text", "required": true}}.',
    `Types: ${[...scalarTypes, ...mediaTypes, ...nestedTypes].join(', ')}; list and variant, each "of" another.`,
    'An object has its fields, and blocks have {type: {label, fields}}, at most five levels deep; a reference may have collections and products, the names of those whose objects it accepts.',
    `Every field may be ${booleanRules.join(', ')}, and have ${Object.keys(textRules).join(', ')} and default for editors; an enum has its values.`,
    `Fields of these types may be unique: ${uniqueTypes.join(', ')}.`,
    `Limits: ${Object.keys(limitRules).join(', ')}.`,
  ].join(' '),
})
const settings = {
  accepts: Type.Optional(
    Type.Array(Type.Enum([...submissionTypes]), {
      maxItems: 2,
      description: `What visitors may submit through POST /tenant/definedCollectionObject: ${submissionTypes.join(', ')}. Default: nothing.`,
    }),
  ),
  moderation: Type.Optional(
    Type.Boolean({ description: 'Whether submissions are hidden until they are approved. Default: false.' }),
  ),
  hourlyLimit: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: 'Maximum submissions per hour. Default: 0, as many as its group may have.',
    }),
  ),
}
const countedShape = Type.Object({ ...collectionShape.properties, objectCount: Type.Integer() })
export const schemaChangeInput = {
  version: Type.Integer({ description: 'The version you started from.' }),
  schema,
  renames: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Old field name → new field name; in objects and blocks by path, such as seo.title → seo.headline.',
    }),
  ),
  defaults: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Field, or its path → value, for objects that have none.',
    }),
  ),
  allowLoss: Type.Optional(
    Type.Boolean({ description: 'Whether values of removed fields may be lost. Default: false.' }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only report what would happen. Default: false.' })),
}
export const schemaReportShape = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'The effects of the schema change: fields added, removed, renamed, retyped; values lost; objects failing.',
})

export async function requireCollection(group: GroupStore, wantedId: string): Promise<Container> {
  const found = await findCollection(group, wantedId)
  if (!found) throw notFound('There is no such collection in this group.')
  return found
}

type GivenSettings = { [Name in keyof ContainerSettings]: ContainerSettings[Name] | undefined }

/** Defaults are not stored, so that setting them changes nothing. */
function settingsOf({ accepts, moderation, hourlyLimit }: GivenSettings): ContainerSettings {
  return {
    ...(accepts?.length && { accepts: [...new Set(accepts)] }),
    ...(moderation && { moderation }),
    ...(hourlyLimit && { hourlyLimit }),
  }
}

/** A subscription needs a field for its address. */
function checkSubscribing({ schema, settings: { accepts } }: Pick<Container, 'schema' | 'settings'>): void {
  if (accepts?.includes('subscribeUser') && schema.get('email')?.type !== 'text')
    throw invalid('A collection that accepts subscribeUser needs a field "email" of type text in its schema.')
}

/** The schemas that name a container, as reasons not to delete it. */
export const schemasReferringTo = async (group: GroupStore, { id: ownId, kind, name }: Container): Promise<string[]> =>
  (await listContainers(group))
    .filter((other) => other.id !== ownId)
    .flatMap((other) =>
      fieldsReferringTo(other.schema, kind, name).map(
        (field) => `the field "${field}" of "${other.name}" refers to it`,
      ),
    )

/** Breaking pages or deleting much content in one call requires `force`. */
async function refuseInUse(group: GroupStore, collection: Container): Promise<void> {
  const objects = (await countObjects(group)).get(collection.id) ?? 0
  const boundSites = (await listSites(group)).filter(({ settings: of }) => collectionIdsIn(of).includes(collection.id))
  const reasons = [
    ...(objects > 0 ? [`it holds ${objects} ${objects === 1 ? 'object' : 'objects'}`] : []),
    ...boundSites.map((site) => `pages of the site "${site.name}" show it`),
    ...(await schemasReferringTo(group, collection)),
  ]
  if (reasons.length > 0)
    throw conflict(`The collection is in use: ${reasons.join('; ')}. To delete it anyway, set force=true.`)
}

async function requireForUpdate(
  group: GroupStore,
  input: { collectionId: string; version: number },
): Promise<Container> {
  const { collectionId: wantedId, version, ...yours } = input
  const before = await requireCollection(group, wantedId)
  refuseStale('collection', before.version, version, () => ({ current: showCollection(before), yours }))
  return before
}

export const collectionVerbs = [
  defineGroupVerb({
    name: 'collection create',
    args: ['name'],
    isCreation: true,
    summary: 'Create a collection',
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
    input: {},
    answer: listOf(countedShape),
    columns: ['_id', 'name', 'objectCount', 'version'],
    async run({ ctx }) {
      const counts = await countObjects(ctx.content)
      const collections = await listContainers(ctx.content, 'collection')
      return completeList(collections.map((one) => ({ ...showCollection(one), objectCount: counts.get(one.id) ?? 0 })))
    },
  }),
  defineGroupVerb({
    name: 'collection show',
    summary: 'Show a collection with its schema',
    input: { collectionId },
    answer: collectionShape,
    run: async ({ ctx, input }) => showCollection(await requireCollection(ctx.content, input.collectionId)),
  }),
  defineGroupVerb({
    name: 'collection update',
    summary: 'Change a collection’s name, or what visitors may submit to it',
    description: 'Values that are left out stay. "collection change-schema" changes the schema.',
    input: {
      collectionId,
      version: Type.Integer({ description: 'The version you started from.' }),
      name: Type.Optional(name),
      ...settings,
    },
    answer: collectionShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const before = await requireForUpdate(writer.group, input)
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
      'Values are kept, and converted where that loses nothing. With dryRun nothing is changed, and the report shows what would be lost or fail, object by object. The change, all values and their index are one transaction.',
    maxBodyBytes: settingsBodyBytes,
    input: { collectionId, ...schemaChangeInput },
    answer: Type.Object({ collection: collectionShape, report: schemaReportShape }),
    async run({ ctx, input }) {
      const { renames = {}, defaults = {}, allowLoss = false, dryRun = false } = input
      const change = { schema: parseSchema(input.schema), renames, defaults }
      const revision = await readRevision(ctx.content)
      const current = await requireForUpdate(ctx.content, input)
      const review = await reviewSchemaChange(ctx.content, current, change)
      if (dryRun) return { collection: showCollection(current), report: review }
      return ctx.write(async (writer) => {
        const before = await requireForUpdate(writer.group, input)
        const reviewed = { revision, report: review }
        const { container, report } = await changeSchema(writer, before, change, { allowLoss, reviewed })
        return { collection: showCollection(container), report }
      })
    },
  }),
  defineGroupVerb({
    name: 'collection delete',
    summary: 'Delete a collection',
    description:
      'Permanently, with every object in it. Refused while it holds objects, a page shows it or a field refers to it, unless forced.',
    input: { collectionId, force: Type.Optional(Type.Boolean({ description: 'Delete it even if it is in use.' })) },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const collection = await requireCollection(writer.group, input.collectionId)
        if (!input.force) await refuseInUse(writer.group, collection)
        await deleteContainer(writer, collection)
        return done
      }),
  }),
]
