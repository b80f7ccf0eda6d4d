import {
  createPreviewToken,
  listPreviewTokens,
  previewLifeSeconds,
  revokePreviewToken,
} from '../store/preview-tokens.ts'
import { Type } from '../type.ts'
import { newPreviewShape, previewShape, showPreview } from './content-shapes.ts'
import { durationInput, id, listOf, wholeList } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

const { least, most } = previewLifeSeconds

export const previewVerbs = [
  defineGroupVerb({
    name: 'preview create',
    args: ['objectId'],
    isCreation: true,
    summary: 'Share one object before it is published',
    description: 'The token opens this one object through GET /tenant/preview, whatever its state.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/previews',
    input: {
      objectId: id('The object or product.'),
      lifeSeconds: durationInput('How long the link lives, 1 minute to 30 days. Default: 24 hours.', least, most),
      maxUses: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'How often it can be opened. Default: without limit.',
        }),
      ),
    },
    answer: newPreviewShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => {
        const created = await createPreviewToken(writer, input)
        return { token: created.token, ...showPreview(created) }
      }),
  }),
  defineGroupVerb({
    name: 'preview list',
    summary: 'Show the preview links of a group',
    needs: 'editor',
    route: 'GET /manage/groups/:groupId/previews',
    input: { objectId: Type.Optional(id('Only links to this object.')) },
    answer: listOf(previewShape),
    columns: ['_id', 'objectId', 'expiresAt', 'uses', 'maxUses', 'revokedAt'],
    run: async ({ ctx, input }) => wholeList((await listPreviewTokens(ctx.content, input)).map(showPreview)),
  }),
  defineGroupVerb({
    name: 'preview revoke',
    summary: 'End a preview link',
    description: 'Takes effect at once.',
    needs: 'editor',
    route: 'POST /manage/groups/:groupId/previews/:previewId/revoke',
    input: { previewId: id('The id of the link, not its token.') },
    answer: previewShape,
    run: ({ ctx, input }) =>
      ctx.write(async (writer) => showPreview(await revokePreviewToken(writer, input.previewId))),
  }),
]
