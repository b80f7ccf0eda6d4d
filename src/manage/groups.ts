import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { invalid } from '../core/errors.ts'
import { tiers } from '../core/tiers.ts'
import { Type } from '../core/type.ts'
import { removeWebhooks } from '../payments/connect.ts'
import { writeContent } from '../store/content/changes.ts'
import { deleteGroupContent } from '../store/content/purge.ts'
import { readUsage } from '../store/content/usage.ts'
import type { Group } from '../store/control/groups.ts'
import { createGroup, deleteGroupRow, listGroups, updateGroup } from '../store/control/groups.ts'
import { completeList, done, doneShape, listOf, moment, orNull, ownId } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb } from './verb.ts'

export const groupShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  tier: Type.Enum([...tiers]),
  frozen: Type.Boolean(),
  database: Type.String(),
  bucketName: Type.String(),
  versionsKept: Type.Integer(),
  createdAt: moment,
})

const bytes = (description: string) => Type.Integer({ description })

export const groupWithUsageShape = Type.Object({
  ...groupShape.properties,
  usage: Type.Object({
    databaseBytes: bytes('Objects with their versions and index, submissions, e-mails and the audit record.'),
    databaseQuotaBytes: orNull(bytes('The quota; null: no limit.')),
    mediaBytes: bytes('Files, and the smaller pictures that were derived from them.'),
    mediaQuotaBytes: orNull(bytes('The quota; null: no limit.')),
  }),
})

export const showGroup = (group: Group): Static<typeof groupShape> => ({
  _id: group.id,
  name: group.name,
  tier: group.tier,
  frozen: group.frozen,
  database: group.database,
  bucketName: group.bucketName,
  versionsKept: group.versionsKept,
  createdAt: toIso(group.createdMs),
})

const name = Type.String({ minLength: 1, maxLength: 200, description: 'A name for people.' })
const tier = Type.Enum([...tiers], { description: 'Determines the rate limit, the largest file and the quotas.' })

export const groupVerbs = [
  defineServiceVerb({
    name: 'group create',
    next: ({ _id }) => `npx sluice key create ${_id}`,
    args: ['name'],
    isCreation: true,
    summary: 'Create a group (tenant)',
    input: {
      name,
      tier: Type.Optional(tier),
      database: Type.Optional(Type.String({ description: 'Content database; groups can share one. Default: main.' })),
      bucketName: Type.Optional(Type.String({ description: 'Media bucket; groups can share one. Default: media.' })),
    },
    answer: groupShape,
    async run({ ctx, input }) {
      return showGroup(await createGroup(ctx.store, input, ctx.authoring))
    },
  }),
  defineServiceVerb({
    name: 'group list',
    summary: 'Show the groups that you can manage',
    input: {},
    answer: listOf(groupShape),
    columns: ['_id', 'name', 'tier', 'frozen', 'database', 'createdAt'],
    async run({ ctx: { store, actor } }) {
      const groups = await listGroups(store)
      return completeList(groups.filter(({ id }) => actor.administrator || actor.roleIn(id)).map(showGroup))
    },
  }),
  defineGroupVerb({
    name: 'group show',
    summary: 'Show a group',
    input: {},
    answer: groupWithUsageShape,
    async run({ ctx: { group, content, store } }) {
      const { databaseBytes, mediaBytes } = await readUsage(content)
      const { database, media } = store.quotas ?? {}
      const usage = {
        databaseBytes,
        databaseQuotaBytes: database?.[group.tier] ?? null,
        mediaBytes,
        mediaQuotaBytes: media?.[group.tier] ?? null,
      }
      return { ...showGroup(group), usage }
    },
  }),
  defineGroupVerb({
    name: 'group rename',
    args: ['name'],
    summary: 'Rename a group',
    input: { name },
    answer: groupShape,
    run: async ({ ctx, input }) => showGroup(await updateGroup(ctx.store, ctx.group, input, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group set-tier',
    args: ['tier'],
    summary: 'Move a group to another tier',
    input: { tier },
    answer: groupShape,
    async run({ ctx, input }) {
      const group = await updateGroup(ctx.store, ctx.group, input, ctx.authoring)
      // The tier is part of GET /tenant/siteDetails.
      if (group !== ctx.group) await writeContent(ctx.content, ctx.authoring, async (writer) => writer.bumpRevision())
      return showGroup(group)
    },
  }),
  defineGroupVerb({
    name: 'group set-versions',
    args: ['versionsKept'],
    summary: 'Set how many former versions of each object are kept',
    description: 'Older ones are removed at the next change of their object.',
    input: { versionsKept: Type.Integer({ minimum: 0, maximum: 10_000, description: 'Default: 50.' }) },
    answer: groupShape,
    run: async ({ ctx, input }) => showGroup(await updateGroup(ctx.store, ctx.group, input, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group freeze',
    summary: 'Refuse all delivery requests of a group',
    description: 'Takes effect within 1 second, on every server. The group can still be managed.',
    input: {},
    answer: groupShape,
    run: async ({ ctx }) => showGroup(await updateGroup(ctx.store, ctx.group, { frozen: true }, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group unfreeze',
    summary: 'Serve a group again',
    input: {},
    answer: groupShape,
    run: async ({ ctx }) => showGroup(await updateGroup(ctx.store, ctx.group, { frozen: false }, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group delete',
    summary: 'Delete a group with everything in it',
    description:
      'Permanently, with sites, content, versions, files, e-mails, keys and memberships. Nothing of the group is served from the moment it begins; if it is interrupted, repeat it.',
    input: {
      confirm: Type.String({ description: 'The name of the group, as a safeguard against deleting the wrong one.' }),
    },
    answer: doneShape,
    async run({ ctx, input }) {
      const { store, media, payments, mail, group, content, authoring } = ctx
      const removeFiles = async (): Promise<void> => {
        await media.storage.removeFolder(group.bucketName, group.id)
        await mail.forgetGroup(group.id)
      }
      if (input.confirm !== group.name) throw invalid('confirm must be the exact name of the group.')
      const deletingMs = group.deletingMs ?? authoring.nowMs
      const closed = await updateGroup(store, group, { frozen: true, deletingMs }, authoring)
      await removeWebhooks(payments, content)
      await deleteGroupContent(content, authoring.nowMs, () => {})
      await removeFiles()
      await deleteGroupRow(store, closed, authoring)
      await removeFiles() // again, for files that were being uploaded
      return done
    },
  }),
]
