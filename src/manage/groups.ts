import { invalid } from '../errors.ts'
import { removeWebhooks } from '../payments/connect.ts'
import { writeContent } from '../store/changes.ts'
import { createGroup, deleteContent, deleteGroupRow, listGroups, updateGroup } from '../store/groups.ts'
import { readUsage } from '../store/usage.ts'
import { tiers } from '../tiers.ts'
import { Type } from '../type.ts'
import { groupShape, groupWithUsageShape, showGroup } from './access-shapes.ts'
import { done, doneShape, listOf, wholeList } from './shapes.ts'
import { defineGroupVerb, defineServiceVerb } from './verb.ts'

const name = Type.String({ minLength: 1, maxLength: 200, description: 'What people call it.' })
const tier = Type.Enum([...tiers], { description: 'Sets the rate limit, the largest file and the storage.' })

export const groupVerbs = [
  defineServiceVerb({
    name: 'group create',
    next: ({ _id }) => `npx sluice key create ${_id}`,
    args: ['name'],
    isCreation: true,
    summary: 'Make a group (tenant)',
    needs: 'administrator',
    route: 'POST /manage/groups',
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
    needs: 'anyone',
    route: 'GET /manage/groups',
    input: {},
    answer: listOf(groupShape),
    columns: ['_id', 'name', 'tier', 'frozen', 'database', 'createdAt'],
    async run({ ctx: { store, actor } }) {
      const groups = await listGroups(store)
      return wholeList(groups.filter(({ id }) => actor.administrator || actor.roleIn(id)).map(showGroup))
    },
  }),
  defineGroupVerb({
    name: 'group show',
    summary: 'Show a group',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId',
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
    summary: 'Give a group another name',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/rename',
    input: { name },
    answer: groupShape,
    run: async ({ ctx, input }) => showGroup(await updateGroup(ctx.store, ctx.group, input, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group set-tier',
    args: ['tier'],
    summary: 'Move a group to another tier',
    needs: 'administrator',
    route: 'POST /manage/groups/:groupId/tier',
    input: { tier },
    answer: groupShape,
    async run({ ctx, input }) {
      const group = await updateGroup(ctx.store, ctx.group, input, ctx.authoring)
      // The tier is part of GET /tenant/siteDetails.
      if (group !== ctx.group) await writeContent(ctx.content, ctx.authoring, async (writer) => writer.touch())
      return showGroup(group)
    },
  }),
  defineGroupVerb({
    name: 'group set-versions',
    args: ['versionsKept'],
    summary: 'Set how many former versions of each object are kept',
    description: 'Older ones are let go of at the next change of their object.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/versionsKept',
    input: { versionsKept: Type.Integer({ minimum: 0, maximum: 10_000, description: 'Default: 50.' }) },
    answer: groupShape,
    run: async ({ ctx, input }) => showGroup(await updateGroup(ctx.store, ctx.group, input, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group freeze',
    summary: 'Refuse all delivery requests of a group',
    description: 'Takes effect within 1 second, on every server. The group can still be managed.',
    needs: 'administrator',
    route: 'POST /manage/groups/:groupId/freeze',
    input: {},
    answer: groupShape,
    run: async ({ ctx }) => showGroup(await updateGroup(ctx.store, ctx.group, { frozen: true }, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group unfreeze',
    summary: 'Serve a group again',
    needs: 'administrator',
    route: 'POST /manage/groups/:groupId/unfreeze',
    input: {},
    answer: groupShape,
    run: async ({ ctx }) => showGroup(await updateGroup(ctx.store, ctx.group, { frozen: false }, ctx.authoring)),
  }),
  defineGroupVerb({
    name: 'group delete',
    summary: 'Delete a group with everything in it',
    description:
      'Sites, content, versions, files, e-mails, keys and memberships, for good. From its beginning on nothing of the group is served; when it is interrupted, ask for it again.',
    needs: 'administrator',
    route: 'POST /manage/groups/:groupId/delete',
    input: { confirm: Type.String({ description: 'The name of the group, so that nobody deletes the wrong one.' }) },
    answer: doneShape,
    async run({ ctx, input }) {
      const { store, media, payments, mail, group, content, authoring } = ctx
      const removeFiles = async (): Promise<void> => {
        await media.storage.removeFolder(group.bucketName, group.id)
        await mail.forgetGroup(group.id)
      }
      if (input.confirm !== group.name)
        throw invalid('confirm must be the name of the group, exactly as it is written.')
      const deletingMs = group.deletingMs ?? authoring.nowMs
      const closed = await updateGroup(store, group, { frozen: true, deletingMs }, authoring)
      await removeWebhooks(payments, content)
      await deleteContent(content, authoring.nowMs, () => {})
      await removeFiles()
      await deleteGroupRow(store, closed, authoring)
      await removeFiles() // and what was on its way there
      return done
    },
  }),
]
