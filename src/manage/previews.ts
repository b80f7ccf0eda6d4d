import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { Type } from '../core/type.ts'
import type { PreviewToken } from '../store/content/preview-tokens.ts'
import {
  createPreviewToken,
  listPreviewTokens,
  previewLifeSeconds,
  revokePreviewToken,
} from '../store/content/preview-tokens.ts'
import { completeList, durationInput, id, isoOrNull, listOf, moment, oneTimeSecret, orNull, ownId } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

export const previewShape = Type.Object({
  _id: ownId,
  objectId: orNull(Type.String({ description: 'Null for a preview of the whole site.' })),
  createdAt: moment,
  expiresAt: moment,
  maxUses: orNull(Type.Integer()),
  uses: Type.Integer({ description: 'Counted only if uses are limited.' }),
  revokedAt: orNull(moment),
})

export const showPreview = (token: PreviewToken): Static<typeof previewShape> => ({
  _id: token.id,
  objectId: token.objectId,
  createdAt: toIso(token.createdMs),
  expiresAt: toIso(token.expiresMs),
  maxUses: token.maxUses,
  uses: token.uses,
  revokedAt: isoOrNull(token.revokedMs),
})

export const newPreviewShape = Type.Object({ token: oneTimeSecret('token'), ...previewShape.properties })

const { least, most } = previewLifeSeconds

const lifeInput = {
  lifeSeconds: durationInput('How long the link is valid, 1 minute to 30 days. Default: 24 hours.', least, most),
  maxUses: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'How often it can be opened. Default: unlimited.' }),
  ),
}

export const previewVerbs = [
  defineGroupVerb({
    name: 'preview create',
    args: ['objectId'],
    isCreation: true,
    summary: 'Share one object before it is published',
    description: 'The token gives access to this one object through GET /tenant/preview, in any state.',
    input: {
      objectId: id('The object or product.'),
      ...lifeInput,
    },
    answer: newPreviewShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const created = await createPreviewToken(writer, input)
        return { token: created.token, ...showPreview(created) }
      }),
  }),
  defineGroupVerb({
    name: 'preview create-site',
    isCreation: true,
    summary: 'Share a preview of the whole site with all working copies',
    description:
      'With preview=<token>, siteDetails, collectionObjects and integrationObjects deliver every working copy in place of its live value, and drafts and scheduled items, too. It needs an API key of the group as usual, and changes nothing for other callers.',
    input: lifeInput,
    answer: newPreviewShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const created = await createPreviewToken(writer, { ...input, objectId: null })
        return { token: created.token, ...showPreview(created) }
      }),
  }),
  defineGroupVerb({
    name: 'preview list',
    summary: 'Show the preview links of a group',
    input: { objectId: Type.Optional(id('Only links to this object.')) },
    answer: listOf(previewShape),
    columns: ['_id', 'objectId', 'expiresAt', 'uses', 'maxUses', 'revokedAt'],
    run: async ({ ctx, input }) => completeList((await listPreviewTokens(ctx.content, input)).map(showPreview)),
  }),
  defineGroupVerb({
    name: 'preview revoke',
    summary: 'Revoke a preview link',
    description: 'Takes effect at once.',
    input: { previewId: id('The id of the link, not its token.') },
    answer: previewShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => showPreview(await revokePreviewToken(writer, input.previewId))),
  }),
]
