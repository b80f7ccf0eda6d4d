import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { Type } from '../core/type.ts'
import type { ApiKey } from '../store/control/api-keys.ts'
import { createApiKey, findApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../store/control/api-keys.ts'
import { completeList, durationInput, id, isoOrNull, listOf, moment, oneTimeSecret, orNull, ownId } from './shapes.ts'
import { defineGroupVerb } from './verb.ts'

export const keyShape = Type.Object({
  _id: ownId,
  label: Type.String(),
  prefix: Type.String({ description: 'The first characters of the key, to recognise it by.' }),
  createdAt: moment,
  lastUsedAt: orNull(moment),
  expiresAt: orNull(moment),
  revokedAt: orNull(moment),
})

export const showKey = (key: ApiKey): Static<typeof keyShape> => ({
  _id: key.id,
  label: key.label,
  prefix: key.prefix,
  createdAt: toIso(key.createdMs),
  lastUsedAt: isoOrNull(key.lastUsedMs),
  expiresAt: isoOrNull(key.expiresMs),
  revokedAt: isoOrNull(key.revokedMs),
})

export const newKeyShape = Type.Object({ key: oneTimeSecret('key'), ...keyShape.properties })

const label = Type.Optional(Type.String({ maxLength: 200, description: 'What the key is for, shown in lists.' }))
const keyId = id('The key’s id, or the prefix that lists show.')
const defaultGraceSeconds = 24 * 3600

export const keyVerbs = [
  defineGroupVerb({
    name: 'key create',
    isCreation: true,
    summary: 'Create an API key for a website’s server',
    description: 'A group can have several keys.',
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
    description: 'Keys are stored as hashes: only their prefix is shown.',
    input: {},
    answer: listOf(keyShape),
    columns: ['_id', 'prefix', 'label', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    run: async ({ ctx }) => completeList((await listApiKeys(ctx.store, ctx.group.id)).map(showKey)),
  }),
  defineGroupVerb({
    name: 'key revoke',
    summary: 'Revoke an API key',
    description: 'Takes effect within 1 second on every running server.',
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
    summary: 'Replace a key by a new one; the old one expires after a grace period',
    input: {
      keyId,
      graceSeconds: durationInput('How long the old key stays valid. Default: 24 hours.', 0, 90 * 86_400),
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
