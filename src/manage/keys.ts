import { createApiKey, findApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../store/api-keys.ts'
import { Type } from '../type.ts'
import { keyShape, newKeyShape, showKey } from './access-shapes.ts'
import { durationInput, id, listOf, wholeList } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

const label = Type.Optional(Type.String({ maxLength: 200, description: 'What the key is for, shown in lists.' }))
const keyId = id('The key’s id, or the beginning that lists show.')
const defaultGraceSeconds = 24 * 3600

export const keyVerbs = [
  defineGroupVerb({
    name: 'key create',
    isCreation: true,
    summary: 'Make an API key, which a website’s server sends',
    description: 'A group can have several keys.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/keys',
    input: { label },
    answer: newKeyShape,
    async run({ ctx, input }) {
      const created = await createApiKey(ctx.store, ctx.group.id, input.label ?? '', ctx.authoring)
      return { key: created.key, ...showKey(created) }
    },
  }),
  defineGroupVerb({
    name: 'key list',
    summary: 'Show the keys of a group, and when they were last used',
    description: 'Keys are stored hashed: only their beginning is shown.',
    needs: 'owner',
    route: 'GET /manage/groups/:groupId/keys',
    input: {},
    answer: listOf(keyShape),
    columns: ['_id', 'prefix', 'label', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    run: async ({ ctx }) => wholeList((await listApiKeys(ctx.store, ctx.group.id)).map(showKey)),
  }),
  defineGroupVerb({
    name: 'key revoke',
    summary: 'End an API key',
    description: 'Takes effect within 1 second, also on servers that are running.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/keys/:keyId/revoke',
    input: { keyId },
    answer: keyShape,
    async run({ ctx, input }) {
      const key = await findApiKey(ctx.store, ctx.group.id, input.keyId)
      return showKey(await revokeApiKey(ctx.store, key, ctx.authoring))
    },
  }),
  defineGroupVerb({
    name: 'key rotate',
    isCreation: true,
    summary: 'Make a key in the place of another, which ends after a time of grace',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/keys/:keyId/rotate',
    input: {
      keyId,
      graceSeconds: durationInput('How long the old key goes on to work. Default: 24 hours.', 0, 90 * 86_400),
    },
    answer: Type.Object({ ...newKeyShape.properties, replaced: keyShape }),
    async run({ ctx, input }) {
      const { store, group, authoring, nowMs } = ctx
      const old = await findApiKey(store, group.id, input.keyId)
      const endsMs = nowMs + (input.graceSeconds ?? defaultGraceSeconds) * 1000
      const { created, replaced } = await rotateApiKey(store, old, endsMs, authoring)
      return { key: created.key, ...showKey(created), replaced: showKey(replaced) }
    },
  }),
]
