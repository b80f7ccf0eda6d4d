import { AppError, invalid } from '../errors.ts'
import { groupRoles } from '../roles.ts'
import { acceptInvitation, endInvitation, listInvitations, type WhichInvitation } from '../store/invitations.ts'
import { findUser, type User } from '../store/users.ts'
import { Type } from '../type.ts'
import { invitationShape, showInvitation } from './access-shapes.ts'
import { done, doneShape, id, listOf, orNull, ownId, secret, wholeList } from './shapes.ts'
import { defineServiceVerb, type ServiceContext } from './verb.ts'

/** What the invited person does. What the group does is in `members.ts`. */

const which = {
  invitationId: Type.Optional(id('One that `invitation list` shows. Needs your token.')),
  secret: Type.Optional(secret('The secret that came with the invitation.', 'SLUICE_INVITATION')),
}

/** The person who asks. A token that may do less than they may, and that another could have made, does not speak for them. */
async function personOf({ actor, store }: ServiceContext): Promise<User> {
  if (actor.id === null) throw new AppError('Unauthorized', 'Send your admin token, or the secret of the invitation.')
  if (actor.narrowed)
    throw new AppError('Forbidden', 'This needs a token that is not limited to one group or to a smaller role.')
  return findUser(store, actor.id)
}

/** An address that nobody vouched for is nobody's: its invitations are accepted with their secret. */
const addressOf = ({ email, emailVerified }: User): string => (emailVerified ? (email ?? '') : '')

async function find(
  ctx: ServiceContext,
  { invitationId, secret: given }: { invitationId?: string; secret?: string },
): Promise<WhichInvitation> {
  if ((invitationId === undefined) === (given === undefined)) throw invalid('Give either invitationId or secret.')
  if (given !== undefined) return { secret: given }
  return { id: invitationId ?? '', email: addressOf(await personOf(ctx)) }
}

export const invitationVerbs = [
  defineServiceVerb({
    name: 'invitation list',
    summary: 'Show the groups that invite you',
    description: 'Those that invite the e-mail address which an administrator has recorded for you.',
    needs: 'anyone',
    route: 'GET /manage/invitations',
    input: {},
    answer: listOf(Type.Object({ ...invitationShape.properties, groupId: ownId, groupName: Type.String() })),
    columns: ['_id', 'groupName', 'role', 'expiresAt'],
    async run({ ctx }) {
      if (ctx.actor.id === null || ctx.actor.narrowed) return wholeList([])
      const found = await listInvitations(ctx.store, { email: addressOf(await personOf(ctx)) }, ctx.nowMs)
      return wholeList(found.map((one) => ({ ...showInvitation(one), groupId: one.groupId, groupName: one.groupName })))
    },
  }),
  defineServiceVerb({
    name: 'invitation accept',
    isCreation: true,
    summary: 'Join a group that invites you',
    description:
      'With your token you join as who you are. With the secret alone a new user is made, and the answer has a token of theirs.',
    needs: 'anonymous',
    route: 'POST /manage/invitations/accept',
    input: {
      ...which,
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Of a new user.' })),
    },
    answer: Type.Object({
      token: orNull(Type.String({ description: 'Of a new user: their token. It is shown only now.' })),
      userId: ownId,
      groupId: ownId,
      role: Type.Enum([...groupRoles]),
    }),
    async run({ ctx, input }) {
      const found = await find(ctx, input)
      const who = ctx.actor.id === null ? { newName: input.name } : await personOf(ctx)
      const { token, user, groupId, role } = await acceptInvitation(ctx.store, found, who, ctx.authoring)
      return { token, userId: user.id, groupId, role }
    },
  }),
  defineServiceVerb({
    name: 'invitation decline',
    summary: 'Decline an invitation',
    needs: 'anonymous',
    route: 'POST /manage/invitations/decline',
    input: which,
    answer: doneShape,
    async run({ ctx, input }) {
      await endInvitation(ctx.store, await find(ctx, input), 'declined', ctx.authoring)
      return done
    },
  }),
]
