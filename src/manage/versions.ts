import { maxLimit } from '../content/list-query.ts'
import { problemsOf } from '../content/validate.ts'
import { invalid, notFound } from '../errors.ts'
import { limitParameter, skipParameter } from '../http/parameters.ts'
import { changedFields, changeObject } from '../store/change-objects.ts'
import type { GroupStore } from '../store/groups.ts'
import { countVersions, findVersion, listVersions, type ObjectVersion } from '../store/versions.ts'
import { Type } from '../type.ts'
import { objectShape, publishDateOf, showObject, showVersion, versionShape } from './content-shapes.ts'
import { checkObjectVersion, takeObject } from './object-actions.ts'
import { objectId } from './objects.ts'
import { listOf, wholeList } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

const versionNumber = (description: string) => Type.Integer({ minimum: 1, maximum: 2_000_000_000, description })

async function takeVersion(group: GroupStore, wantedId: string, version: number): Promise<ObjectVersion> {
  const found = await findVersion(group, wantedId, version)
  if (!found) throw notFound(`Version ${version} of this object is not kept. "object versions" lists those that are.`)
  return found
}

interface Difference {
  field: string
  from: unknown
  to: unknown
}

/** What one version says and another says differently; undefined, and so left out, where a side says nothing. */
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
    summary: 'Show what an object was: who changed it, when and how',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/objects/:objectId/versions',
    input: { objectId, limit: limitParameter, skip: skipParameter },
    answer: listOf(versionShape),
    columns: ['version', 'change', 'changedBy', 'changedAt', 'publishDate', 'archived'],
    async run({ ctx, input }) {
      const { limit = maxLimit, skip = 0 } = input
      const { object } = await takeObject(ctx.content, input.objectId)
      const versions = await listVersions(ctx.content, object.id, { limit, skip, maxBytes: ctx.maxAnswerBytes })
      return { items: versions.map(showVersion), totalCount: await countVersions(ctx.content, object.id) }
    },
  }),
  defineGroupVerb({
    name: 'object diff',
    args: ['from', 'to'],
    summary: 'Show what differs between two versions of an object',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/objects/:objectId/diff',
    input: { objectId, from: versionNumber('The earlier version.'), to: versionNumber('The later version.') },
    answer: listOf(
      Type.Object({ field: Type.String(), from: Type.Optional(Type.Unknown()), to: Type.Optional(Type.Unknown()) }),
    ),
    columns: ['field', 'from', 'to'],
    async run({ ctx, input }) {
      const { object } = await takeObject(ctx.content, input.objectId)
      const [from, to] = await Promise.all(
        [input.from, input.to].map((version) => takeVersion(ctx.content, object.id, version)),
      )
      return wholeList(from && to ? differences(from, to) : [])
    },
  }),
  defineGroupVerb({
    name: 'object restore-version',
    summary: 'Make an object what it was in one of its versions',
    description: 'That is a new version, so it can be undone. Refused where the old value no longer fits the schema.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/objects/:objectId/versions/:toVersion/restore',
    input: {
      objectId,
      toVersion: versionNumber('The version to go back to.'),
      version: Type.Optional(Type.Integer({ description: 'The version you started from.' })),
    },
    answer: objectShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const { container, object } = await takeObject(writer.group, input.objectId)
        checkObjectVersion(container.id, object, input, ctx.nowMs)
        const { value, publishMs, archived } = await takeVersion(writer.group, object.id, input.toVersion)
        const wanted = { value, publishMs, archived }
        const problems = problemsOf(container.schema, value)
        if (problems.length > 0) {
          const reason = `the schema was changed since: ${problems.join('; ')}`
          throw invalid(
            `Version ${input.toVersion} cannot be restored, because ${reason}. Take what you need from it by "object diff".`,
          )
        }
        const restored = await changeObject(writer, container, object, wanted, `restored version ${input.toVersion}`)
        return showObject(container.id, restored, ctx.nowMs)
      }),
  }),
]
