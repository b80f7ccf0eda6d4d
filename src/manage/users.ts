import { maxAddressLength } from '../content/email.ts'
import { AppError, invalid } from '../errors.ts'
import { groupRoles } from '../roles.ts'
import { createAdminToken, listAdminTokens, revokeAdminToken } from '../store/admin-tokens.ts'
import { findGroupById } from '../store/groups.ts'
import { createUser, findUser, listUsers, setDisabled } from '../store/users.ts'
import { Type } from '../type.ts'
import { newTokenShape, showToken, showUser, tokenShape, userShape } from './access-shapes.ts'
import { durationInput, id, listOf, wholeList } from './shapes.ts'
import { defineServiceVerb, type ServiceContext } from './verb.ts'

const userId = id('The user.')
export const tokenLabel = Type.Optional(Type.String({ maxLength: 200, description: 'What the token is for.' }))
export const tokenLife = durationInput('How long the token works. Default: until it is revoked.', 60, 3650 * 86_400)
export const mostRole = Type.Enum([...groupRoles], { description: 'The most the token may do.' })

/** Who comes with a token that ends can make none that lives longer. */
export function expiryOf({ actor, nowMs }: ServiceContext, lifeSeconds: number | undefined): number | undefined {
  const wanted = lifeSeconds === undefined ? Number.POSITIVE_INFINITY : nowMs + lifeSeconds * 1000
  const expiresMs = Math.min(wanted, actor.tokenExpiresMs ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(expiresMs) ? expiresMs : undefined
}

export const userVerbs = [
  defineServiceVerb({
    name: 'whoami',
    summary: 'Show whose token this is',
    needs: 'anyone',
    route: 'GET /manage/whoami',
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
    summary: 'Make a user, who then needs a token',
    description: 'An administrator may do everything in every group; anybody else what their memberships allow.',
    needs: 'administrator',
    route: 'POST /manage/users',
    input: {
      name: Type.String({ minLength: 1, maxLength: 200, description: 'A person or a program.' }),
      email: Type.Optional(
        Type.String({
          maxLength: maxAddressLength,
          description: 'Unique, and theirs: invitations to it are shown to them.',
        }),
      ),
      administrator: Type.Optional(Type.Boolean({ description: 'Of the whole service.' })),
    },
    answer: userShape,
    run: async ({ ctx, input }) => showUser(await createUser(ctx.store, input, ctx.authoring)),
  }),
  defineServiceVerb({
    name: 'user list',
    summary: 'Show all users',
    needs: 'administrator',
    route: 'GET /manage/users',
    input: {},
    answer: listOf(userShape),
    columns: ['_id', 'name', 'email', 'administrator', 'disabledAt', 'createdAt'],
    run: async ({ ctx }) => wholeList((await listUsers(ctx.store)).map(showUser)),
  }),
  defineServiceVerb({
    name: 'user disable',
    summary: 'Let a user’s tokens open nothing',
    description: 'Takes effect within 1 second. Nobody can disable themselves.',
    needs: 'administrator',
    route: 'POST /manage/users/:userId/disable',
    input: { userId },
    answer: userShape,
    async run({ ctx, input }) {
      if (input.userId === ctx.actor.id) throw new AppError('Conflict', 'You cannot disable yourself.')
      return showUser(await setDisabled(ctx.store, await findUser(ctx.store, input.userId), true, ctx.authoring))
    },
  }),
  defineServiceVerb({
    name: 'user enable',
    summary: 'Let a disabled user in again',
    needs: 'administrator',
    route: 'POST /manage/users/:userId/enable',
    input: { userId },
    answer: userShape,
    run: async ({ ctx, input }) =>
      showUser(await setDisabled(ctx.store, await findUser(ctx.store, input.userId), false, ctx.authoring)),
  }),
  defineServiceVerb({
    name: 'token create',
    isCreation: true,
    summary: 'Make a token for a user',
    description: 'It may do what the user may, or less: only in one group, or with a smaller role.',
    needs: 'administrator',
    route: 'POST /manage/users/:userId/tokens',
    input: {
      userId,
      label: tokenLabel,
      groupId: Type.Optional(id('Open this group only.')),
      role: Type.Optional(mostRole),
      lifeSeconds: tokenLife,
    },
    answer: newTokenShape,
    async run({ ctx, input }) {
      const { store, authoring } = ctx
      const { lifeSeconds, label, groupId, role: most } = input
      const user = await findUser(store, input.userId)
      if (user.disabledMs !== null) throw invalid('The user is disabled; enable them first.')
      if (groupId !== undefined) await findGroupById(store, groupId)
      const expiresMs = expiryOf(ctx, lifeSeconds)
      const created = await createAdminToken(store, user, { label, groupId, role: most, expiresMs }, authoring)
      return { token: created.token, ...showToken(created) }
    },
  }),
  defineServiceVerb({
    name: 'token list',
    summary: 'Show a user’s tokens',
    needs: 'administrator',
    route: 'GET /manage/users/:userId/tokens',
    input: { userId },
    answer: listOf(tokenShape),
    columns: ['_id', 'prefix', 'label', 'groupId', 'role', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    async run({ ctx, input }) {
      const user = await findUser(ctx.store, input.userId)
      return wholeList((await listAdminTokens(ctx.store, { userId: user.id })).map(showToken))
    },
  }),
  defineServiceVerb({
    name: 'token revoke',
    summary: 'End a token',
    description: 'Takes effect within 1 second.',
    needs: 'administrator',
    route: 'POST /manage/users/:userId/tokens/:tokenId/revoke',
    input: { userId, tokenId: id('The token’s id, not the token.') },
    answer: tokenShape,
    run: async ({ ctx, input }) =>
      showToken(await revokeAdminToken(ctx.store, input.tokenId, { userId: input.userId }, ctx.authoring)),
  }),
]
