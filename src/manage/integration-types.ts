import type { Static } from 'typebox'
import type { Container } from '../content/model.ts'
import { parseSchema } from '../content/parse-schema.ts'
import { isMirrored } from '../content/product-edits.ts'
import { declareMetadata } from '../content/product-metadata.ts'
import { productSchema } from '../content/product-schema.ts'
import type { Schema } from '../content/schema.ts'
import { conflict, invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { requestSync } from '../payments/connect.ts'
import { listIntegrations } from '../store/commerce/integrations.ts'
import { changeSchema, declareFields, reviewDeclaration, reviewSchemaChange } from '../store/content/change-schema.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import {
  countObjects,
  deleteContainer,
  findIntegration,
  insertContainer,
  listContainers,
} from '../store/content/containers.ts'
import type { GroupStore } from '../store/store.ts'
import { schemaChangeInput, schemaReportShape, schemasReferringTo } from './collections.ts'
import { completeList, done, doneShape, listOf, ownId, refuseStale } from './shapes.ts'
import { defineGroupVerb, settingsBodyBytes } from './verb.ts'

const type = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  description: 'The type in GET /tenant/integrationObjects?type=…: letters, digits, . _ -.',
  examples: ['instagram'],
})

const typeShape = Type.Object({
  _id: ownId,
  type: Type.String(),
  mirrored: Type.Boolean({ description: 'Whether its objects mirror the products of a payment provider.' }),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: 'Field name → field.' }),
  version: Type.Integer(),
})
const countedShape = Type.Object({ ...typeShape.properties, objectCount: Type.Integer() })

const showType = (container: Container): Static<typeof typeShape> => ({
  _id: container.id,
  type: container.name,
  mirrored: isMirrored(container),
  schema: Object.fromEntries(container.schema),
  version: container.version,
})

async function requireType(group: GroupStore, wanted: string): Promise<Container> {
  const found = await findIntegration(group, wanted)
  if (!found) throw notFound('There is no such integration type in this group. "integration-type list" names them.')
  return found
}

async function requireForUpdate(group: GroupStore, input: { type: string; version: number }): Promise<Container> {
  const { type: wanted, version, ...yours } = input
  const before = await requireType(group, wanted)
  refuseStale('integration type', before.version, version, () => ({ current: showType(before), yours }))
  return before
}

/** Requests a sync, which converts values to the new types and reports those that do not fit. */
async function declare(writer: ContentWriter, before: Container, schema: Schema): Promise<Container> {
  const container = await declareFields(writer, before, schema)
  const accounts = container === before ? [] : await listIntegrations(writer.group, before.name)
  for (const { id, status } of accounts) if (status === 'active') await requestSync(writer, id)
  return container
}

function refuseRenamesAndDefaults({
  renames,
  defaults,
}: {
  renames?: object | undefined
  defaults?: object | undefined
}): void {
  if (renames !== undefined || defaults !== undefined)
    throw invalid(
      'renames and defaults do not apply to the products of a payment provider, which owns their names and values.',
    )
}

export const integrationTypeVerbs = [
  defineGroupVerb({
    name: 'integration-type create',
    args: ['type'],
    isCreation: true,
    summary: 'Create an integration type, such as the posts of a social network',
    description:
      'Its objects are created and changed by the "object" verbs, with its _id (at the terminal its type) instead of a collection’s, and delivered by GET /tenant/integrationObjects?type=…. For a payment provider’s type, the schema names the metadata that is not text.',
    maxBodyBytes: settingsBodyBytes,
    input: { type, schema: schemaChangeInput.schema },
    answer: typeShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const written = parseSchema(input.schema)
        const isProvider = isMirrored({ kind: 'integration', name: input.type })
        const schema = isProvider ? declareMetadata(productSchema, written) : written
        return showType(await insertContainer(writer, { kind: 'integration', name: input.type, schema }))
      }),
  }),
  defineGroupVerb({
    name: 'integration-type list',
    summary: 'Show the integration types of a group',
    input: {},
    answer: listOf(countedShape),
    columns: ['_id', 'type', 'mirrored', 'objectCount', 'version'],
    async run({ ctx }) {
      const counts = await countObjects(ctx.content)
      const types = await listContainers(ctx.content, 'integration')
      return completeList(types.map((one) => ({ ...showType(one), objectCount: counts.get(one.id) ?? 0 })))
    },
  }),
  defineGroupVerb({
    name: 'integration-type show',
    summary: 'Show an integration type with its schema',
    input: { type },
    answer: typeShape,
    run: async ({ ctx, input }) => showType(await requireType(ctx.content, input.type)),
  }),
  defineGroupVerb({
    name: 'integration-type change-schema',
    summary: 'Change the fields of an integration type',
    description:
      'Like "collection change-schema". For a payment provider’s type, name the metadata that is not text, such as {"quantityOptions": {"type": "list", "of": {"type": "integer"}}} for "1,6,12"; all other metadata is text. Values that do not fit are left out and reported, here and in lastSync.problems of the account; the provider still has them.',
    maxBodyBytes: settingsBodyBytes,
    input: { type, ...schemaChangeInput },
    answer: Type.Object({ integrationType: typeShape, report: schemaReportShape }),
    async run({ ctx, input }) {
      const { renames = {}, defaults = {}, allowLoss = false, dryRun = false } = input
      const written = parseSchema(input.schema)
      const prepare = async (group: GroupStore) => {
        const before = await requireForUpdate(group, input)
        if (!isMirrored(before)) return { before, schema: undefined }
        refuseRenamesAndDefaults(input)
        return { before, schema: declareMetadata(before.schema, written) }
      }
      const change = { schema: written, renames, defaults }
      if (dryRun) {
        const { before, schema } = await prepare(ctx.content)
        const report = schema
          ? await reviewDeclaration(ctx.content, before, schema)
          : await reviewSchemaChange(ctx.content, before, change)
        return { integrationType: showType(before), report }
      }
      return ctx.write(async (writer) => {
        const { before, schema } = await prepare(writer.group)
        if (schema) {
          const report = await reviewDeclaration(writer.group, before, schema)
          return { integrationType: showType(await declare(writer, before, schema)), report }
        }
        const { container, report } = await changeSchema(writer, before, change, { allowLoss })
        return { integrationType: showType(container), report }
      })
    },
  }),
  defineGroupVerb({
    name: 'integration-type delete',
    summary: 'Delete an integration type',
    description:
      'Permanently, with every object in it. Refused while it holds objects or a field refers to it, unless forced, and while a payment account fills it.',
    input: { type, force: Type.Optional(Type.Boolean({ description: 'Delete it even if it is in use.' })) },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const found = await requireType(writer.group, input.type)
        if ((await listIntegrations(writer.group, found.name)).length > 0)
          throw conflict('An account fills this integration type. Disconnect it first.')
        const objects = (await countObjects(writer.group)).get(found.id) ?? 0
        const reasons = [
          ...(objects > 0 ? [`it holds ${objects} ${objects === 1 ? 'object' : 'objects'}`] : []),
          ...(await schemasReferringTo(writer.group, found)),
        ]
        if (reasons.length > 0 && !input.force)
          throw conflict(`The integration type is in use: ${reasons.join('; ')}. To delete it anyway, set force=true.`)
        await deleteContainer(writer, found)
        return done
      }),
  }),
]
