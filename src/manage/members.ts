import type { Static } from 'typebox'
import { maxAddressLength } from '../content/email.ts'
import { toIso } from '../content/moments.ts'
import { AppError, invalid } from '../core/errors.ts'
import { groupRoles } from '../core/roles.ts'
import { Type } from '../core/type.ts'
import { createAdminToken, listAdminTokens, revokeAdminToken } from '../store/control/admin-tokens.ts'
import { createInvitation, endInvitation, listInvitations, type NewInvitation } from '../store/control/invitations.ts'
import type { Member } from '../store/control/users.ts'
import {
  addMember,
  createServiceAccount,
  createUser,
  findMember,
  findUserByEmail,
  listMembers,
  removeMember,
  setRole,
} from '../store/control/users.ts'
import { invitationShape, showInvitation } from './invitations.ts'
import { completeList, done, doneShape, id, isoOrNull, listOf, moment, orNull, ownId } from './shapes.ts'
import { expiryOf, maxRole, newTokenShape, showToken, tokenLabel, tokenLife, tokenShape } from './users.ts'
import { defineGroupVerb, type GroupContext } from './verb.ts'

export const memberShape = Type.Object({
  userId: ownId,
  name: Type.String(),
  email: orNull(Type.String()),
  role: Type.Enum([...groupRoles]),
  service: Type.Boolean({ description: 'Whether it is a service account: a program that belongs to this group only.' }),
  disabledAt: orNull(moment),
  since: moment,
})

export const showMember = ({ user, role, sinceMs }: Member): Static<typeof memberShape> => ({
  userId: user.id,
  name: user.name,
  email: user.email,
  role,
  service: user.serviceOf !== null,
  disabledAt: isoOrNull(user.disabledMs),
  since: toIso(sinceMs),
})

export const newInvitationShape = Type.Object({
  token: Type.String({ description: 'The secret of the invitation, for the invited person, shown only this once.' }),
  ...invitationShape.properties,
})

const userId = id('The member’s user id.')
const role = Type.Enum([...groupRoles], {
  description: 'A viewer reads; an editor also writes content; an owner also manages keys, schemas and members.',
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
  if (invitedBy === null) throw new Error('An invitation needs an inviting user.')
  const wanted = { ...input, invitedBy, tokenExpiresMs: actor.tokenExpiresMs }
  const created = await createInvitation(store, group.id, wanted, authoring)
  return { token: created.token, ...showInvitation(created) }
}

export const memberVerbs = [
  defineGroupVerb({
    name: 'member list',
    summary: 'Show the members of a group',
    input: {},
    answer: listOf(memberShape),
    columns: ['userId', 'name', 'email', 'role', 'since', 'disabledAt'],
    run: async ({ ctx }) => completeList((await listMembers(ctx.store, ctx.group.id)).map(showMember)),
  }),
  defineGroupVerb({
    name: 'member add',
    args: ['email'],
    isCreation: true,
    summary: 'Add a member to a group, or invite one',
    description:
      'An owner invites: the answer has the secret of an invitation, `token`, to be given to the person, who joins with `invitation accept` within 7 days. The answer is the same whether or not the address belongs to a user. An existing member gets the role at once. An administrator adds without an invitation: the user with this address becomes a member, and is created if there is none.',
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
          const other = await findUserByEmail(store, input.email) // created by a concurrent request
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
    summary: 'Create a service account: a program that manages this group',
    description: 'It is a member of this group only. Owners create its tokens with `member token`.',
    input: { name: Type.String({ minLength: 1, maxLength: 200, description: 'The name of the program.' }), role },
    answer: memberShape,
    async run({ ctx, input }) {
      return showRole(ctx, (await createServiceAccount(ctx.store, ctx.group.id, input, ctx.authoring)).id)
    },
  }),
  defineGroupVerb({
    name: 'member invitations',
    summary: 'Show the open invitations to a group',
    input: {},
    answer: listOf(invitationShape),
    columns: ['_id', 'email', 'name', 'role', 'createdAt', 'expiresAt'],
    run: async ({ ctx: { store, group, nowMs } }) =>
      completeList((await listInvitations(store, { groupId: group.id }, nowMs)).map(showInvitation)),
  }),
  defineGroupVerb({
    name: 'member withdraw',
    summary: 'Withdraw an invitation',
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
    summary: 'Change the role of a member',
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
    summary: 'Remove a member from a group',
    description: 'Takes effect within 1 second. Their tokens for other groups stay valid.',
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
    summary: 'Create a token limited to this group, for yourself or a service account',
    description:
      'Owners cannot create tokens for other people: a person gets theirs by accepting an invitation, or from an administrator, who can create one for any member.',
    input: { userId, label: tokenLabel, role: Type.Optional(maxRole), lifeSeconds: tokenLife },
    answer: newTokenShape,
    async run({ ctx, input }) {
      const { store, group, authoring } = ctx
      const { user } = await findMember(store, group.id, input.userId)
      if (user.disabledMs !== null) throw invalid('The user is disabled.')
      if (user.id !== ctx.actor.id && user.serviceOf !== group.id && !ctx.actor.administrator)
        throw new AppError(
          'Forbidden',
          'Only administrators create tokens for other people. For a program, create a service account with "member add-service".',
        )
      const { label, role: highestRole } = input
      const wanted = { label, groupId: group.id, role: highestRole, expiresMs: expiryOf(ctx, input.lifeSeconds) }
      const created = await createAdminToken(store, user, wanted, authoring)
      return { token: created.token, ...showToken(created) }
    },
  }),
  defineGroupVerb({
    name: 'member tokens',
    summary: 'Show the tokens limited to this group',
    input: {},
    answer: listOf(tokenShape),
    columns: ['_id', 'prefix', 'label', 'userId', 'role', 'lastUsedAt', 'expiresAt', 'revokedAt'],
    run: async ({ ctx }) => completeList((await listAdminTokens(ctx.store, { groupId: ctx.group.id })).map(showToken)),
  }),
  defineGroupVerb({
    name: 'member revoke-token',
    summary: 'Revoke a token limited to this group',
    input: { tokenId: id('The token’s id, not the token.') },
    answer: tokenShape,
    run: async ({ ctx, input }) =>
      showToken(await revokeAdminToken(ctx.store, input.tokenId, { groupId: ctx.group.id }, ctx.authoring)),
  }),
]
