import type { Static } from 'typebox'
import type { CurrentFile } from '../content/delivery.ts'
import { toIso } from '../content/moments.ts'
import { mediaTypes } from '../content/schema.ts'
import { conflict } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { limitParameter, skipParameter } from '../http/query.ts'
import { deriveMissing } from '../media/derive-missing.ts'
import type { ReceivedFile } from '../media/inbox.ts'
import { addMedia, displayName, type Library, removeMedia, replaceMedia, requireMedia } from '../media/library.ts'
import { sweepMedia } from '../media/sweep.ts'
import type { ContentWriter } from '../store/content/changes.ts'
import { mediaQuotaExceeded, readMediaBytes } from '../store/content/usage.ts'
import { findMediaUsages, listMedia, type MediaItem, updateMedia } from '../store/media/items.ts'
import { done, doneShape, id, listOf, moment, orNull, ownId } from './shapes.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const currentFileShape = Type.Object(
  {
    source: Type.String({ description: 'A signed URL.' }),
    expiresAt: moment,
    srcset: Type.Optional(Type.String()),
    avifSrcset: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer()),
    height: Type.Optional(Type.Integer()),
    color: Type.Optional(Type.String()),
    placeholder: Type.Optional(Type.String()),
  },
  { description: 'The file as it is delivered.' },
)

export const mediaShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  key: Type.String({ description: 'How content refers to it. It stays the same when the file is replaced.' }),
  type: Type.Enum([...mediaTypes]),
  contentType: Type.String({ examples: ['image/jpeg'] }),
  bytes: Type.Integer(),
  width: orNull(Type.Integer()),
  height: orNull(Type.Integer()),
  problem: orNull(Type.String({ description: 'Why no smaller pictures were derived from it.' })),
  currentFile: currentFileShape,
  version: Type.Integer(),
  createdAt: moment,
  updatedAt: moment,
})

export const showMedia = (media: MediaItem, currentFile: CurrentFile): Static<typeof mediaShape> => ({
  _id: media.id,
  name: media.name,
  key: media.key,
  type: media.type,
  contentType: media.file.contentType,
  bytes: media.file.bytes,
  width: media.file.width,
  height: media.file.height,
  problem: media.file.problem,
  currentFile,
  version: media.version,
  createdAt: toIso(media.createdMs),
  updatedAt: toIso(media.updatedMs),
})

export const usageShape = Type.Object({
  kind: Type.Enum(['object', 'site']),
  _id: ownId,
  collectionId: orNull(ownId),
  draft: Type.Boolean({ description: 'Whether its working copy uses the file.' }),
})

export const sweptShape = Type.Object({
  dryRun: Type.Boolean(),
  items: Type.Integer({ description: 'Items of the library.' }),
  strays: Type.Integer({ description: 'Files in the bucket that belonged to no item.' }),
  uploads: orNull(
    Type.Integer({
      description: 'Multipart uploads that were never completed (S3 only); null where the store does not list them.',
    }),
  ),
  bytes: Type.Integer(),
  removed: Type.Array(Type.Object({ key: Type.String(), name: orNull(Type.String()), bytes: Type.Integer() }), {
    description: 'The first hundred items and files.',
  }),
})

const mediaId = id('The file’s _id in the library.')
const name = Type.String({ minLength: 1, maxLength: 200, description: 'A name for people.' })

const libraryOf = ({ content, group, media, authoring }: GroupContext): Library => ({
  group: content,
  bucketName: group.bucketName,
  storage: media.storage,
  authoring,
  quotaBytes: media.quotas[group.tier],
})

/** Receives the file within the quota of the group, towards which concurrent uploads count too. */
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
  return media.incomingBytes.count(group.id, async (add) => {
    refuse(media.incomingBytes.of(group.id) + (upload.minUploadBytes ?? 0))
    const finish = async (received: ReceivedFile): Promise<Result> => {
      await ctx.confirm()
      return work(received, upload.name)
    }
    return media.inbox.receive(upload, media.maxBytes[group.tier], finish, (bytes) => {
      add(bytes)
      refuse(media.incomingBytes.of(group.id))
    })
  })
}

/** Shows items with signed URLs. */
async function show(ctx: GroupContext, shown: readonly MediaItem[]): Promise<Static<typeof mediaShape>[]> {
  const keys = shown.map(({ key }) => key)
  const { sign } = await ctx.media.currentFiles.prepare(ctx.content, ctx.group.bucketName, keys)
  return shown.map((media) => showMedia(media, sign(media.key) as CurrentFile)) // all keys are the group's own
}

async function showOne(ctx: GroupContext, media: MediaItem) {
  const [shown] = await show(ctx, [media])
  return shown
}

async function refuseUsed(writer: ContentWriter, media: MediaItem): Promise<void> {
  const { users, totalCount } = await findMediaUsages(writer.group, media.key)
  const [first] = users
  if (!first) return
  const others = totalCount > 1 ? ` and ${totalCount - 1} more` : ''
  const details = {
    usedBy: users.map(({ kind, id: userId, isDraft }) => ({ kind, _id: userId, ...(isDraft && { draft: true }) })),
  }
  throw conflict(
    `This file is used by ${first.isDraft ? 'the working copy of ' : ''}the ${first.kind} ${first.id}${others}. Remove it there first, or delete it with force, which leaves it missing there.`,
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
      'Its type is detected from its content. Put `name`, `key` and `type` of the answer into a media field, or `media:<key>` into the src or href of a text. Location data is removed from pictures, and smaller ones are derived soon after. The same bytes under the same name are not stored twice.',
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
    input: {
      type: Type.Optional(Type.Enum([...mediaTypes], { description: 'Only files of this type.' })),
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
    input: { mediaId },
    answer: mediaShape,
    run: async ({ ctx, input }) => showOne(ctx, await requireMedia(ctx.content, input.mediaId)),
  }),
  defineGroupVerb({
    name: 'media usage',
    summary: 'Show what uses a file',
    description:
      'Objects and sites that show it now, published or not, and working copies. Older versions do not count.',
    input: { mediaId, limit: limitParameter, skip: skipParameter },
    answer: listOf(usageShape),
    columns: ['kind', '_id', 'collectionId', 'draft'],
    async run({ ctx, input }) {
      const { limit = 100, skip = 0 } = input
      const { key } = await requireMedia(ctx.content, input.mediaId)
      const { users, totalCount } = await findMediaUsages(ctx.content, key, { limit, skip })
      const items = users.map(({ kind, id: userId, containerId, isDraft }) => ({
        kind,
        _id: userId,
        collectionId: containerId,
        draft: isDraft,
      }))
      return { items, totalCount }
    },
  }),
  defineGroupVerb({
    name: 'media rename',
    args: ['name'],
    summary: 'Rename a file',
    description: 'Its key stays, so content still refers to it.',
    input: { mediaId, name },
    answer: mediaShape,
    async run({ ctx, input }) {
      const renamed = await ctx.write(async (writer) =>
        updateMedia(writer, await requireMedia(writer.group, input.mediaId), { name: displayName(input.name) }),
      )
      return showOne(ctx, renamed)
    },
  }),
  defineGroupVerb({
    name: 'media replace',
    takesFile: true,
    summary: 'Replace a file',
    description:
      'All content that shows it shows the new file from now on, under a new URL. The old file is retained until its last signed URL has expired.',
    input: { mediaId },
    answer: mediaShape,
    async run({ ctx, input }) {
      await requireMedia(ctx.content, input.mediaId) // before the file is read
      return receiveFile(ctx, async (received, fileName) => {
        const replacement = { id: input.mediaId, name: fileName, keepMs: ctx.media.signedUrlLifetimeMs }
        return showOne(ctx, await replaceMedia(libraryOf(ctx), received, replacement))
      })
    },
  }),
  defineGroupVerb({
    name: 'media delete',
    summary: 'Delete a file',
    description: 'Permanently. Refused while content shows it, unless forced.',
    input: {
      mediaId,
      force: Type.Optional(Type.Boolean({ description: 'Delete it even if content shows it.' })),
    },
    answer: doneShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const media = await requireMedia(writer.group, input.mediaId)
        if (!input.force) await refuseUsed(writer, media)
        await removeMedia(writer, media)
        return done
      }),
  }),
  defineGroupVerb({
    name: 'media derive',
    summary: 'Derive smaller pictures where they are missing',
    description: 'For pictures that were uploaded while sharp was not installed, or for which it had failed.',
    isExclusive: true,
    input: {},
    answer: Type.Object({
      begun: Type.Integer({ description: 'How many pictures were queued, without those that were already waiting.' }),
    }),
    run: async ({ ctx }) => ({
      begun: await deriveMissing(ctx.content, ctx.authoring, { retryFailed: true }),
    }),
  }),
  defineGroupVerb({
    name: 'media sweep',
    summary: 'Remove unused files',
    description:
      'Items of the library that no object, no retained version and no site shows, files in the bucket that belong to no item, and multipart uploads to S3 that were never completed. Nothing younger than a day is removed. With dryRun it only reports what it would remove.',
    isExclusive: true,
    input: { dryRun: Type.Optional(Type.Boolean({ description: 'Only report what would be removed.' })) },
    answer: sweptShape,
    run: ({ ctx, input }) => sweepMedia(libraryOf(ctx), { dryRun: input.dryRun ?? false }),
  }),
]
