import type { Static } from 'typebox'
import { maxAddressLength } from '../content/email.ts'
import { toIso } from '../content/moments.ts'
import { AppError, invalid } from '../core/errors.ts'
import { groupRoles } from '../core/roles.ts'
import { Type } from '../core/type.ts'
import type { AdminToken } from '../store/control/admin-tokens.ts'
import { createAdminToken, listAdminTokens, revokeAdminToken } from '../store/control/admin-tokens.ts'
import { findGroupById } from '../store/control/groups.ts'
import type { User } from '../store/control/users.ts'
import { createUser, findUser, listUsers, setDisabled } from '../store/control/users.ts'
import { completeList, durationInput, id, isoOrNull, listOf, moment, oneTimeSecret, orNull, ownId } from './shapes.ts'
import { defineServiceVerb, type ServiceContext } from './verb.ts'

export const userShape = Type.Object({
  _id: ownId,
  name: Type.String(),
  email: orNull(Type.String()),
  administrator: Type.Boolean(),
  disabledAt: orNull(moment),
  createdAt: moment,
})

export const showUser = (user: User): Static<typeof userShape> => ({
  _id: user.id,
  name: user.name,
  email: user.email,
  administrator: user.administrator,
  disabledAt: isoOrNull(user.disabledMs),
  createdAt: toIso(user.createdMs),
})

export const tokenShape = Type.Object({
  _id: ownId,
  userId: ownId,
  label: Type.String(),
  prefix: Type.String({ description: 'The first characters of the token, to recognise it by.' }),
  groupId: orNull(ownId),
  role: orNull(Type.Enum([...groupRoles])),
  createdAt: moment,
  expiresAt: orNull(moment),
  lastUsedAt: orNull(moment),
  revokedAt: orNull(moment),
})

export const showToken = (token: AdminToken): Static<typeof tokenShape> => ({
  _id: token.id,
  userId: token.userId,
  label: token.label,
  prefix: token.prefix,
  groupId: token.groupId,
  role: token.role,
  createdAt: toIso(token.createdMs),
  expiresAt: isoOrNull(token.expiresMs),
  lastUsedAt: isoOrNull(token.lastUsedMs),
  revokedAt: isoOrNull(token.revokedMs),
})

export const newTokenShape = Type.Object({ token: oneTimeSecret('token'), ...tokenShape.properties })

const userId = id('The user.')
export const tokenLabel = Type.Optional(Type.String({ maxLength: 200, description: 'What the token is for.' }))
export const tokenLife = durationInput('How long the token is valid. Default: until it is revoked.', 60, 3650 * 86_400)
export const maxRole = Type.Enum([...groupRoles], { description: 'The highest role of the token.' })

/** A token that expires cannot create one that lives longer. */
export function expiryOf({ actor, nowMs }: ServiceContext, lifeSeconds: number | undefined): number | undefined {
  const wanted = lifeSeconds === undefined ? Number.POSITIVE_INFINITY : nowMs + lifeSeconds * 1000
  const expiresMs = Math.min(wanted, actor.tokenExpiresMs ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(expiresMs) ? expiresMs : undefined
}

export const userVerbs = [
  defineServiceVerb({
    name: 'whoami',
    summary: 'Show the user of this token',
    input: {},
    answer: Type.Object({
      userId: Type.Union([Type.String(), Type.Null()]),
      name: Type.String(),
      administrator: Type.Boolean(),
    }),
    run: async ({ ctx: { actor } }) => ({ userId: actor.id, name: actor.name, administrator: actor.administrator }),
  }),
  defineServiceVerb({
    name: 'user create',
    next: ({ _id }) => `npx sluice token create ${_id}`,
    args: ['name'],
    isCreation: true,
    summary: 'Create a user, who then needs a token',
    description: 'An administrator may do everything in every group; other users what their memberships allow.',
    input: {
      name: Type.String({ minLength: 1, maxLength: 200, description: 'A person or a program.' }),
      email: Type.Optional(
        Type.String({
          maxLength: maxAddressLength,
          description: 'Unique. The user sees invitations to this address.',
        }),
      ),
      administrator: Type.Optional(Type.Boolean({ description: 'Whether they administer the whole service.' })),
    },
    answer: userShape,
    run: async ({ ctx, input }) => showUser(await createUser(ctx.store, input, ctx.authoring)),
  }),
  defineServiceVerb({
    name: 'user list',
    summary: 'Show all users',
    input: {},
    answer: listOf(userShape),
    columns: ['_id', 'name', 'email', 'administrator', 'disabledAt', 'createdAt'],
    run: async ({ ctx }) => completeList((await listUsers(ctx.store)).map(showUser)),
  }),
  defineServiceVerb({
    name: 'user disable',
    summary: 'Disable a user and all of their tokens',
    description: 'Takes effect within 1 second. Nobody can disable themselves.',
    input: { userId },
    answer: userShape,
    async run({ ctx, input }) {
      if (input.userId === ctx.actor.id) throw new AppError('Conflict', 'You cannot disable yourself.')
      return showUser(await setDisabled(ctx.store, await findUser(ctx.store, input.userId), true, ctx.authoring))
    },
  }),
  defineServiceVerb({
    name: 'user enable',
    summary: 'Enable a disabled user again',
    input: { userId },
    answer: userShape,
    run: async ({ ctx, input }) =>
      showUser(await setDisabled(ctx.store, await findUser(ctx.store, input.userId), false, ctx.authoring)),
  }),
  defineServiceVerb({
    name: 'token create',
    isCreation: true,
    summary: 'Create a token for a user',
    description: 'It has the rights of the user, or fewer: limited to one group, or to a lower role.',
    input: {
      userId,
      label: tokenLabel,
      groupId: Type.Optional(id('Limit the token to this group.')),
      role: Type.Optional(maxRole),
      lifeSeconds: tokenLife,
    },
    answer: newTokenShape,
    async run({ ctx, input }) {
      const { store, authoring } = ctx
      const { lifeSeconds, label, groupId, role: highestRole } = input
      const user = await findUser(store, input.userId)
      if (user.disabledMs !== null) throw invalid('The user is disabled; enable them first.')
      if (groupId !== undefined) await findGroupById(store, groupId)
      const expiresMs = expiryOf(ctx, lifeSeconds)
      const created = await createAdminToken(store, user, { label, groupId, role: highestRole, expiresMs }, authoring)
      return { token: created.token, ...showToken(created) }
    },
  }),
  defineServiceVerb({
    name: 'token list',
    summary: 'Show a user’s tokens',
    input: { userId },
    answer: listOf(tokenShape),
    columns: ['_id', 'prefix', 'label', 'groupId', 'role', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    async run({ ctx, input }) {
      const user = await findUser(ctx.store, input.userId)
      return completeList((await listAdminTokens(ctx.store, { userId: user.id })).map(showToken))
    },
  }),
  defineServiceVerb({
    name: 'token revoke',
    summary: 'Revoke a token',
    description: 'Takes effect within 1 second.',
    input: { userId, tokenId: id('The token’s id, not the token.') },
    answer: tokenShape,
    run: async ({ ctx, input }) =>
      showToken(await revokeAdminToken(ctx.store, input.tokenId, { userId: input.userId }, ctx.authoring)),
  }),
]
