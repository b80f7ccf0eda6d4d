import type { Static } from 'typebox'
import { toIso } from '../content/moments.ts'
import { AppError, invalid } from '../core/errors.ts'
import { groupRoles } from '../core/roles.ts'
import { Type } from '../core/type.ts'
import type { Invitation } from '../store/control/invitations.ts'
import { acceptInvitation, endInvitation, listInvitations, type WhichInvitation } from '../store/control/invitations.ts'
import { findUser, type User } from '../store/control/users.ts'
import { completeList, done, doneShape, id, listOf, moment, orNull, ownId, secret } from './shapes.ts'
import { defineServiceVerb, type ServiceContext } from './verb.ts'

export const invitationShape = Type.Object({
  _id: ownId,
  email: Type.String(),
  name: Type.String(),
  role: Type.Enum([...groupRoles]),
  createdAt: moment,
  expiresAt: moment,
})

export const showInvitation = (invitation: Invitation): Static<typeof invitationShape> => ({
  _id: invitation.id,
  email: invitation.email,
  name: invitation.name,
  role: invitation.role,
  createdAt: toIso(invitation.createdMs),
  expiresAt: toIso(invitation.expiresMs),
})

const invitationInput = {
  invitationId: Type.Optional(id('As `invitation list` shows it. Needs your token.')),
  secret: Type.Optional(secret('The secret that came with the invitation.', 'SLUICE_INVITATION')),
}

/** The token's user. A narrowed token may have been created by another user, so it cannot accept on their behalf. */
async function requirePerson({ actor, store }: ServiceContext): Promise<User> {
  if (actor.id === null) throw new AppError('Unauthorized', 'Send your admin token, or the secret of the invitation.')
  if (actor.narrowed)
    throw new AppError('Forbidden', 'This needs a token that is not limited to one group or to a lower role.')
  return findUser(store, actor.id)
}

/** Empty for an unverified address: its invitations can only be accepted with their secret. */
const verifiedEmailOf = ({ email, emailVerified }: User): string => (emailVerified ? (email ?? '') : '')

async function find(
  ctx: ServiceContext,
  { invitationId, secret: given }: { invitationId?: string; secret?: string },
): Promise<WhichInvitation> {
  if ((invitationId === undefined) === (given === undefined)) throw invalid('Give either invitationId or secret.')
  if (given !== undefined) return { secret: given }
  return { id: invitationId ?? '', email: verifiedEmailOf(await requirePerson(ctx)) }
}

export const invitationVerbs = [
  defineServiceVerb({
    name: 'invitation list',
    summary: 'Show your invitations',
    description: 'Those to the e-mail address that an administrator has recorded for you.',
    input: {},
    answer: listOf(Type.Object({ ...invitationShape.properties, groupId: ownId, groupName: Type.String() })),
    columns: ['_id', 'groupName', 'role', 'expiresAt'],
    async run({ ctx }) {
      if (ctx.actor.id === null || ctx.actor.narrowed) return completeList([])
      const found = await listInvitations(ctx.store, { email: verifiedEmailOf(await requirePerson(ctx)) }, ctx.nowMs)
      return completeList(
        found.map((one) => ({ ...showInvitation(one), groupId: one.groupId, groupName: one.groupName })),
      )
    },
  }),
  defineServiceVerb({
    name: 'invitation accept',
    isCreation: true,
    summary: 'Accept an invitation and join its group',
    description:
      'With your token you join as yourself. With the secret alone a new user is created, and the answer has their token.',
    input: {
      ...invitationInput,
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The name of a new user.' })),
    },
    answer: Type.Object({
      token: orNull(Type.String({ description: 'The token of a new user, shown only this once.' })),
      userId: ownId,
      groupId: ownId,
      role: Type.Enum([...groupRoles]),
    }),
    async run({ ctx, input }) {
      const found = await find(ctx, input)
      const who = ctx.actor.id === null ? { newName: input.name } : await requirePerson(ctx)
      const { token, user, groupId, role } = await acceptInvitation(ctx.store, found, who, ctx.authoring)
      return { token, userId: user.id, groupId, role }
    },
  }),
  defineServiceVerb({
    name: 'invitation decline',
    summary: 'Decline an invitation',
    input: invitationInput,
    answer: doneShape,
    async run({ ctx, input }) {
      await endInvitation(ctx.store, await find(ctx, input), 'declined', ctx.authoring)
      return done
    },
  }),
]
