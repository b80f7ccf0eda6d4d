import { maxAddressLength } from '../content/email.ts'
import { AppError, invalid } from '../errors.ts'
import { groupRoles } from '../roles.ts'
import { createAdminToken, listAdminTokens, revokeAdminToken } from '../store/admin-tokens.ts'
import { createInvitation, endInvitation, listInvitations, type NewInvitation } from '../store/invitations.ts'
import {
  addMember,
  createServiceAccount,
  createUser,
  findMember,
  findUserByEmail,
  listMembers,
  removeMember,
  setRole,
} from '../store/users.ts'
import { Type } from '../type.ts'
import {
  invitationShape,
  memberShape,
  newInvitationShape,
  newTokenShape,
  showInvitation,
  showMember,
  showToken,
  tokenShape,
} from './access-shapes.ts'
import { done, doneShape, id, listOf, wholeList } from './shapes.ts'
import { expiryOf, mostRole, tokenLabel, tokenLife } from './users.ts'
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

async function invite(ctx: GroupContext, input: Omit<NewInvitation, 'invitedBy' | 'tokenExpiresMs'>) {
  const { store, group, authoring, actor } = ctx
  const invitedBy = actor.id
  if (invitedBy === null) throw new Error('Nobody invites.')
  const wanted = { ...input, invitedBy, tokenExpiresMs: actor.tokenExpiresMs }
  const created = await createInvitation(store, group.id, wanted, authoring)
  return { token: created.token, ...showInvitation(created) }
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
    description:
      'An owner invites: the answer has the secret of an invitation, `token`, to be given to the person, who joins with `invitation accept` within 7 days. The answer is the same whether or not somebody is known by the address. Whoever is a member already gets the role at once. An administrator adds without asking: who is known by the address becomes a member, anybody else is made as a new user.',
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
    answer: Type.Union([memberShape, newInvitationShape]),
    async run({ ctx, input }) {
      const { store, group, authoring, actor } = ctx
      if (!actor.administrator) {
        const email = input.email.toLowerCase()
        const member = (await listMembers(store, group.id)).find(({ user }) => user.email === email)
        if (!member) return invite(ctx, input)
        refuseSelf(ctx, member.user.id)
        await setRole(store, group.id, member, input.role, authoring)
        return showRole(ctx, member.user.id)
      }
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
    name: 'member add-service',
    args: ['name'],
    isCreation: true,
    next: (data) => `npx sluice member token <group> ${(data as unknown as { userId: string }).userId}`,
    summary: 'Make a service account: a program that manages this group',
    description: 'It is a member of this group and never of another. Owners make its tokens with `member token`.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/service-accounts',
    input: { name: Type.String({ minLength: 1, maxLength: 200, description: 'What the program is called.' }), role },
    answer: memberShape,
    async run({ ctx, input }) {
      return showRole(ctx, (await createServiceAccount(ctx.store, ctx.group.id, input, ctx.authoring)).id)
    },
  }),
  defineGroupVerb({
    name: 'member invitations',
    summary: 'Show who was invited to a group and has not answered',
    needs: 'owner',
    route: 'GET /manage/groups/:groupId/invitations',
    input: {},
    answer: listOf(invitationShape),
    columns: ['_id', 'email', 'name', 'role', 'createdAt', 'expiresAt'],
    run: async ({ ctx: { store, group, nowMs } }) =>
      wholeList((await listInvitations(store, { groupId: group.id }, nowMs)).map(showInvitation)),
  }),
  defineGroupVerb({
    name: 'member withdraw',
    summary: 'Withdraw an invitation',
    needs: 'owner',
    route: 'DELETE /manage/groups/:groupId/invitations/:invitationId',
    input: { invitationId: id('The invitation’s id, not its secret.') },
    answer: doneShape,
    async run({ ctx: { store, group, authoring }, input }) {
      await endInvitation(store, { id: input.invitationId, groupId: group.id }, 'withdrawn', authoring)
      return done
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
    summary: 'Make a token which opens this group only, for yourself or a service account',
    description:
      'Nobody makes tokens that act as another person: a person gets theirs by accepting an invitation, or from an administrator, who can make one for any member.',
    needs: 'owner',
    route: 'POST /manage/groups/:groupId/members/:userId/tokens',
    input: { userId, label: tokenLabel, role: Type.Optional(mostRole), lifeSeconds: tokenLife },
    answer: newTokenShape,
    async run({ ctx, input }) {
      const { store, group, authoring } = ctx
      const { user } = await findMember(store, group.id, input.userId)
      if (user.disabledMs !== null) throw invalid('The user is disabled.')
      if (user.id !== ctx.actor.id && user.serviceOf !== group.id && !ctx.actor.administrator)
        throw new AppError(
          'Forbidden',
          'Tokens that act as another person are made by administrators. For a program, make a service account with "member add-service".',
        )
      const { label, role: most } = input
      const wanted = { label, groupId: group.id, role: most, expiresMs: expiryOf(ctx, input.lifeSeconds) }
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
