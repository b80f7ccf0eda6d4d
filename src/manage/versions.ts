import type { Static } from 'typebox'
import { maxLimit } from '../content/list-query.ts'
import { toIso } from '../content/moments.ts'
import { problemsOf } from '../content/validate.ts'
import { invalid, notFound } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import { changedFields, changeObject } from '../store/content/change-objects.ts'
import { refuseContradictions } from '../store/content/publish-working-copies.ts'
import { countVersions, findVersion, listVersions, type ObjectVersion } from '../store/content/versions.ts'
import type { GroupStore } from '../store/store.ts'
import { checkObjectVersion, requireObject } from './object-actions.ts'
import { objectShape, publishDateOf, showObject } from './object-shapes.ts'
import { objectId } from './objects.ts'
import { completeList, listOf, moment, openObject, orNull } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

export const versionShape = Type.Object({
  version: Type.Integer(),
  objectValue: openObject('The fields in this version.'),
  publishDate: orNull(moment),
  archived: Type.Boolean(),
  change: Type.String({ description: 'The change that created it.' }),
  changedBy: Type.String(),
  changedAt: moment,
})

export const showVersion = (version: ObjectVersion): Static<typeof versionShape> => ({
  version: version.version,
  objectValue: version.value,
  publishDate: publishDateOf(version.publishMs),
  archived: version.archived,
  change: version.change,
  changedBy: version.changedBy,
  changedAt: toIso(version.changedMs),
})

const versionNumber = (description: string) => Type.Integer({ minimum: 1, maximum: 2_000_000_000, description })

async function requireVersion(group: GroupStore, wantedId: string, version: number): Promise<ObjectVersion> {
  const found = await findVersion(group, wantedId, version)
  if (!found)
    throw notFound(`Version ${version} of this object is not retained. "object versions" lists those that are.`)
  return found
}

interface Difference {
  field: string
  from: unknown
  to: unknown
}

/** The fields in which two versions differ; undefined on a side without the field, and so omitted. */
function differences(from: ObjectVersion, to: ObjectVersion): Difference[] {
  const state = ({ publishMs, archived }: ObjectVersion) => ({ publishDate: publishDateOf(publishMs), archived })
  const parts = [
    [state(from), state(to), ''],
    [from.value, to.value, 'objectValue.'],
  ] as const
  return parts.flatMap(([before, after, prefix]) =>
    changedFields(before, after).map((name) => ({
      field: prefix + name,
      from: (before as Record<string, unknown>)[name],
      to: (after as Record<string, unknown>)[name],
    })),
  )
}

export const versionVerbs = [
  defineGroupVerb({
    name: 'object versions',
    summary: 'Show the versions of an object: who changed it, when and how',
    input: { objectId, limit: limitParameter, skip: skipParameter },
    answer: listOf(versionShape),
    columns: ['version', 'change', 'changedBy', 'changedAt', 'publishDate', 'archived'],
    async run({ ctx, input }) {
      const { limit = maxLimit, skip = 0 } = input
      const { object } = await requireObject(ctx.content, input.objectId)
      const versions = await listVersions(ctx.content, object.id, { limit, skip, maxBytes: ctx.maxAnswerBytes })
      return { items: versions.map(showVersion), totalCount: await countVersions(ctx.content, object.id) }
    },
  }),
  defineGroupVerb({
    name: 'object diff',
    args: ['from', 'to'],
    summary: 'Show the differences between two versions of an object',
    input: { objectId, from: versionNumber('The earlier version.'), to: versionNumber('The later version.') },
    answer: listOf(
      Type.Object({ field: Type.String(), from: Type.Optional(Type.Unknown()), to: Type.Optional(Type.Unknown()) }),
    ),
    columns: ['field', 'from', 'to'],
    async run({ ctx, input }) {
      const { object } = await requireObject(ctx.content, input.objectId)
      const [from, to] = await Promise.all(
        [input.from, input.to].map((version) => requireVersion(ctx.content, object.id, version)),
      )
      return completeList(from && to ? differences(from, to) : [])
    },
  }),
  defineGroupVerb({
    name: 'object restore-version',
    summary: 'Restore an object to one of its versions',
    description: 'This creates a new version, so it can be undone. Refused if the old value no longer fits the schema.',
    input: {
      objectId,
      toVersion: versionNumber('The version to restore.'),
      version: Type.Optional(Type.Integer({ description: 'The version you started from.' })),
    },
    answer: objectShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object } = await requireObject(writer.group, input.objectId)
        checkObjectVersion(container.id, object, input, ctx.nowMs)
        const { value, publishMs, archived } = await requireVersion(writer.group, object.id, input.toVersion)
        const wanted = { value, publishMs, archived }
        const problems = problemsOf(container.schema, value)
        if (problems.length > 0) {
          const reason = `the schema was changed since: ${problems.join('; ')}`
          throw invalid(
            `Version ${input.toVersion} cannot be restored, because ${reason}. Copy what you need from it with "object diff".`,
          )
        }
        await refuseContradictions(writer, container, [{ before: object, wanted }])
        const restored = await changeObject(writer, container, object, wanted, `restored version ${input.toVersion}`)
        return showObject(container.id, restored, ctx.nowMs)
      }),
  }),
]
