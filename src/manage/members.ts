import { maxAddressLength } from '../content/email.ts'
import { AppError, invalid } from '../errors.ts'
import { groupRoles } from '../roles.ts'
import { createAdminToken, listAdminTokens, revokeAdminToken } from '../store/admin-tokens.ts'
import {
  addMember,
  createUser,
  findMember,
  findUserByEmail,
  listMembers,
  removeMember,
  setRole,
} from '../store/users.ts'
import { Type } from '../type.ts'
import { memberShape, newTokenShape, showMember, showToken, tokenShape } from './access-shapes.ts'
import { done, doneShape, id, listOf, wholeList } from './shapes.ts'
import { expiryOf, tokenLabel, tokenLife } from './users.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

const userId = id('The member’s user id.')
const role = Type.Enum([...groupRoles], {
  description: 'viewer reads; editor also writes content; owner also manages keys, schemas and members.',
})

async function showRole({ store, group }: GroupContext, memberId: string) {
  return showMember(await findMember(store, group.id, memberId))
}

function refuseSelf({ actor }: GroupContext, memberId: string): void {
  if (actor.id === memberId) throw new AppError('Conflict', 'You cannot change your own membership; ask another owner.')
}

export const memberVerbs = [
  defineGroupVerb({
    name: 'member list',
    summary: 'Show who may manage a group',
    needs: 'owner',
    route: 'GET /manage/groups/:groupId/members',
    input: {},
    answer: listOf(memberShape),
    columns: ['userId', 'name', 'email', 'role', 'since', 'disabledAt'],
    run: async ({ ctx }) => wholeList((await listMembers(ctx.store, ctx.group.id)).map(showMember)),
  }),
  defineGroupVerb({
    name: 'member add',
    args: ['email'],
    isCreation: true,
    summary: 'Let somebody manage a group',
    description: 'By e-mail address: who is known by it becomes a member, anybody else is made as a new user.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/members',
    input: {
      email: Type.String({
        minLength: 3,
        maxLength: maxAddressLength,
        description: 'The e-mail address of the person.',
      }),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'For a new user.' })),
      role,
    },
    answer: memberShape,
    async run({ ctx, input }) {
      const { store, group, authoring } = ctx
      const wanted = { name: input.name ?? input.email, email: input.email }
      const user =
        (await findUserByEmail(store, input.email)) ??
        (await createUser(store, wanted, authoring).catch(async (error: unknown) => {
          const other = await findUserByEmail(store, input.email) // made by somebody at the same moment
          if (!other) throw error
          return other
        }))
      refuseSelf(ctx, user.id)
      await addMember(store, group.id, user, input.role, authoring)
      return showRole(ctx, user.id)
    },
  }),
  defineGroupVerb({
    name: 'member set-role',
    args: ['role'],
    summary: 'Give a member another role',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/members/:userId/role',
    input: { userId, role },
    answer: memberShape,
    async run({ ctx, input }) {
      refuseSelf(ctx, input.userId)
      const member = await findMember(ctx.store, ctx.group.id, input.userId)
      await setRole(ctx.store, ctx.group.id, member, input.role, ctx.authoring)
      return showRole(ctx, input.userId)
    },
  }),
  defineGroupVerb({
    name: 'member remove',
    summary: 'Let somebody no longer manage a group',
    description: 'Takes effect within 1 second. Their tokens for other groups go on to work.',
    needs: 'owner',
    route: 'DELETE /manage/groups/:groupId/members/:userId',
    input: { userId },
    answer: doneShape,
    async run({ ctx, input }) {
      refuseSelf(ctx, input.userId)
      const member = await findMember(ctx.store, ctx.group.id, input.userId)
      await removeMember(ctx.store, ctx.group.id, member, ctx.authoring)
      return done
    },
  }),
  defineGroupVerb({
    name: 'member token',
    isCreation: true,
    summary: 'Make a token for a member, which opens this group only',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/members/:userId/tokens',
    input: { userId, label: tokenLabel, lifeSeconds: tokenLife },
    answer: newTokenShape,
    async run({ ctx, input }) {
      const { store, group, authoring } = ctx
      const { user } = await findMember(store, group.id, input.userId)
      if (user.disabledMs !== null) throw invalid('The user is disabled.')
      // It would open the group as an owner's, whatever the membership, and outlive it.
      if (user.administrator && !ctx.actor.administrator)
        throw new AppError('Forbidden', 'Tokens of an administrator are made by administrators.')
      const wanted = { label: input.label, groupId: group.id, expiresMs: expiryOf(ctx, input.lifeSeconds) }
      const created = await createAdminToken(store, user, wanted, authoring)
      return { token: created.token, ...showToken(created) }
    },
  }),
  defineGroupVerb({
    name: 'member tokens',
    summary: 'Show the tokens that open this group only',
    needs: 'owner',
    route: 'GET /manage/groups/:groupId/tokens',
    input: {},
    answer: listOf(tokenShape),
    columns: ['_id', 'prefix', 'label', 'userId', 'role', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    run: async ({ ctx }) => wholeList((await listAdminTokens(ctx.store, { groupId: ctx.group.id })).map(showToken)),
  }),
  defineGroupVerb({
    name: 'member revoke-token',
    summary: 'End a token that opens this group only',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/tokens/:tokenId/revoke',
    input: { tokenId: id('The token’s id, not the token.') },
    answer: tokenShape,
    run: async ({ ctx, input }) =>
      showToken(await revokeAdminToken(ctx.store, input.tokenId, { groupId: ctx.group.id }, ctx.authoring)),
  }),
]
