import type { Static } from 'typebox'
import type { CurrentFile } from '../content/delivery.ts'
import { mediaTypes } from '../content/schema.ts'
import { conflict } from '../errors.ts'
import { limitParameter, skipParameter } from '../http/parameters.ts'
import { deriveForgotten } from '../media/forgotten.ts'
import { addMedia, displayName, type Library, removeMedia, replaceMedia, takeItem } from '../media/library.ts'
import type { ReceivedFile } from '../media/receive.ts'
import { sweepMedia } from '../media/sweep.ts'
import type { ContentWriter } from '../store/changes.ts'
import { listMedia, type MediaItem, updateMedia } from '../store/media.ts'
import { findUsers } from '../store/media-users.ts'
import { mediaQuotaExceeded, readMediaBytes } from '../store/usage.ts'
import { Type } from '../type.ts'
import { mediaShape, showMedia, sweptShape, usageShape } from './media-shapes.ts'
import { done, doneShape, id, listOf } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const mediaId = id('The file’s _id in the library.')
const name = Type.String({ minLength: 1, maxLength: 200, description: 'What people call it.' })

const libraryOf = ({ content, group, media, authoring }: GroupContext): Library => ({
  group: content,
  bucketName: group.bucketName,
  storage: media.storage,
  authoring,
  quotaBytes: media.quotas[group.tier],
})

/** Takes the file in, as long as the group has room for it, and for all others that are coming in for it. */
async function receiveFile<Result>(
  ctx: GroupContext,
  work: (received: ReceivedFile, fileName: string) => Promise<Result>,
): Promise<Result> {
  const { group, content, media } = ctx
  const quotaBytes = media.quotas[group.tier]
  const usedBytes = await readMediaBytes(content)
  const refuse = (bytes: number): void => {
    if (usedBytes + bytes > quotaBytes) throw mediaQuotaExceeded(usedBytes, quotaBytes)
  }
  refuse(1)
  const upload = await ctx.upload()
  return media.arriving.count(group.id, async (add) => {
    refuse(media.arriving.of(group.id) + (upload.leastBytes ?? 0))
    const finish = async (received: ReceivedFile): Promise<Result> => {
      await ctx.confirm()
      return work(received, upload.name)
    }
    return media.inbox.receive(upload, media.maxBytes[group.tier], finish, (bytes) => {
      add(bytes)
      refuse(media.arriving.of(group.id))
    })
  })
}

/** As a person manages it: with addresses to look at it. */
async function show(ctx: GroupContext, shown: readonly MediaItem[]): Promise<Static<typeof mediaShape>[]> {
  const keys = shown.map(({ key }) => key)
  const { sign } = await ctx.media.currentFiles.prepare(ctx.content, ctx.group.bucketName, keys)
  return shown.map((media) => showMedia(media, sign(media.key) as CurrentFile)) // all are the group's own
}

async function showOne(ctx: GroupContext, media: MediaItem) {
  const [shown] = await show(ctx, [media])
  return shown
}

async function refuseUsed(writer: ContentWriter, media: MediaItem): Promise<void> {
  const { users, totalCount } = await findUsers(writer.group, media.key)
  const [first] = users
  if (!first) return
  const others = totalCount > 1 ? ` and ${totalCount - 1} more` : ''
  const details = { usedBy: users.map(({ kind, id: userId }) => ({ kind, _id: userId })) }
  throw conflict(
    `This file is shown by the ${first.kind} ${first.id}${others}. Take it out there first, or delete it with force: then it is missing there.`,
    details,
  )
}

export const mediaVerbs = [
  defineGroupVerb({
    name: 'media add',
    takesFile: true,
    isCreation: true,
    summary: 'Upload a file',
    description:
      'What it is, is decided by its content. Put `name`, `key` and `type` of the answer into a media field, or `media:<key>` into the src or href of a text. Of pictures smaller ones are made soon after, and location data is removed. The same bytes under the same name are not stored again.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/media',
    input: { name: Type.Optional(name) },
    answer: mediaShape,
    async run({ ctx, input }) {
      return receiveFile(ctx, async (received, fileName) =>
        showOne(ctx, await addMedia(libraryOf(ctx), received, input.name ?? fileName)),
      )
    },
  }),
  defineGroupVerb({
    name: 'media list',
    summary: 'Show the files of a group',
    description: 'The newest first.',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/media',
    input: {
      type: Type.Optional(Type.Enum([...mediaTypes], { description: 'Only these.' })),
      search: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'A part of the name.' })),
      limit: limitParameter,
      skip: skipParameter,
    },
    answer: listOf(mediaShape),
    columns: ['_id', 'name', 'type', 'bytes', 'width', 'height', 'key'],
    async run({ ctx, input }) {
      const { limit = 100, skip = 0 } = input
      const { media, totalCount } = await listMedia(ctx.content, { ...input, limit, skip })
      return { items: await show(ctx, media), totalCount }
    },
  }),
  defineGroupVerb({
    name: 'media show',
    summary: 'Show a file',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/media/:mediaId',
    input: { mediaId },
    answer: mediaShape,
    run: async ({ ctx, input }) => showOne(ctx, await takeItem(ctx.content, input.mediaId)),
  }),
  defineGroupVerb({
    name: 'media usage',
    summary: 'Show what uses a file',
    description: 'Objects and sites that show it now, published or not. Former versions do not count.',
    needs: 'viewer',
    route: 'GET /manage/groups/:groupId/media/:mediaId/usage',
    input: { mediaId, limit: limitParameter, skip: skipParameter },
    answer: listOf(usageShape),
    columns: ['kind', '_id', 'collectionId'],
    async run({ ctx, input }) {
      const { limit = 100, skip = 0 } = input
      const { key } = await takeItem(ctx.content, input.mediaId)
      const { users, totalCount } = await findUsers(ctx.content, key, { limit, skip })
      const items = users.map((user) => ({ kind: user.kind, _id: user.id, collectionId: user.containerId }))
      return { items, totalCount }
    },
  }),
  defineGroupVerb({
    name: 'media rename',
    args: ['name'],
    summary: 'Give a file another name',
    description: 'Its key stays, and content keeps pointing to it.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/media/:mediaId/rename',
    input: { mediaId, name },
    answer: mediaShape,
    async run({ ctx, input }) {
      const renamed = await ctx.write(async (writer) =>
        updateMedia(writer, await takeItem(writer.group, input.mediaId), { name: displayName(input.name) }),
      )
      return showOne(ctx, renamed)
    },
  }),
  defineGroupVerb({
    name: 'media replace',
    takesFile: true,
    summary: 'Put another file in the place of one',
    description:
      'Everything that shows it shows the new one from now on, under a new address. The old file is kept until the last address that was handed out has expired.',
    needs: 'editor',
    route: 'PUT /manage/groups/:groupId/media/:mediaId/file',
    input: { mediaId },
    answer: mediaShape,
    async run({ ctx, input }) {
      await takeItem(ctx.content, input.mediaId) // before the file is read
      return receiveFile(ctx, async (received, fileName) => {
        const replacement = { id: input.mediaId, name: fileName, keepMs: ctx.media.addressLifeMs }
        return showOne(ctx, await replaceMedia(libraryOf(ctx), received, replacement))
      })
    },
  }),
  defineGroupVerb({
    name: 'media delete',
    summary: 'Delete a file',
    description: 'For good, and refused while something shows it, unless forced.',
    needs: 'editor',
    route: 'DELETE /manage/groups/:groupId/media/:mediaId',
    input: {
      mediaId,
      force: Type.Optional(Type.Boolean({ description: 'Also when something shows it.' })),
    },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const media = await takeItem(writer.group, input.mediaId)
        if (!input.force) await refuseUsed(writer, media)
        await removeMedia(writer, media)
        return done
      }),
  }),
  defineGroupVerb({
    name: 'media derive',
    summary: 'Make smaller pictures of those that have none',
    description: 'For pictures that came in while sharp was not installed, or that were given up on.',
    needs: 'editor',
    isExclusive: true,
    route: 'POST /manage/groups/:groupId/media/derive',
    input: {},
    answer: Type.Object({
      begun: Type.Integer({ description: 'So many pictures were put to work; those that wait already do not count.' }),
    }),
    run: async ({ ctx }) => ({
      begun: await deriveForgotten(ctx.content, ctx.authoring, { alsoGivenUp: true }),
    }),
  }),
  defineGroupVerb({
    name: 'media sweep',
    summary: 'Remove files that nothing uses',
    description:
      'Items of the library that no object, no former version and no site shows, files in the bucket that belong to no item, and uploads to an S3 store that were never completed. What is younger than a day is left alone. With dryRun it only says what it would remove.',
    needs: 'owner',
    isExclusive: true,
    route: 'POST /manage/groups/:groupId/media/sweep',
    input: { dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would be removed.' })) },
    answer: sweptShape,
    run: ({ ctx, input }) => sweepMedia(libraryOf(ctx), { dryRun: input.dryRun ?? false }),
  }),
]
