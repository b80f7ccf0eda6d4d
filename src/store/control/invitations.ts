import type { Selectable } from 'kysely'
import { isEmailAddress } from '../../content/email.ts'
import { isName } from '../../content/texts.ts'
import { dayMs } from '../../core/clock.ts'
import { conflict, invalid, notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import type { GroupRole } from '../../core/roles.ts'
import { hashSecret, isInvitation, makeInvitation } from '../../security/tokens.ts'
import type { Authoring } from '../content/changes.ts'
import type { InvitationRow } from '../schema/control-tables.ts'
import type { Store } from '../store.ts'
import { insertAdminToken } from './admin-tokens.ts'
import { type ControlWriter, writeControl } from './control-changes.ts'
import { insertMember, insertUser, type User } from './users.ts'

const lifeMs = 7 * dayMs
const maxPending = 200

/** An invitation of an e-mail address to a group. It does not reveal whether a user has this address. */
export interface Invitation {
  id: string
  groupId: string
  email: string
  name: string
  role: GroupRole
  createdMs: number
  expiresMs: number
}

function toInvitation(row: Selectable<InvitationRow>): Invitation {
  return {
    id: row.id,
    groupId: row.group_id,
    email: row.email,
    name: row.name,
    role: row.role as GroupRole, // checked when it was written
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
  }
}

export interface NewInvitation {
  email: string
  name?: string | undefined
  role: GroupRole
  invitedBy: string
  /** When the inviter's token expires. */
  tokenExpiresMs: number | null
}

/**
 * Invites an address. Inviting it again invalidates the former secret. The secret is returned once and never stored.
 */
export async function createInvitation(
  store: Store,
  groupId: string,
  input: NewInvitation,
  authoring: Authoring,
): Promise<Invitation & { token: string }> {
  const { nowMs } = authoring
  const { name = input.email } = input
  if (!isEmailAddress(input.email)) throw invalid('email must be one e-mail address.')
  if (!isName(name)) throw invalid('name must be 1 to 200 characters, all of them printable.')
  const token = makeInvitation()
  const row: InvitationRow = {
    id: makeId(),
    group_id: groupId,
    email: input.email.toLowerCase(),
    name,
    role: input.role,
    secret_hash: hashSecret(token),
    invited_by: input.invitedBy,
    created_ms: nowMs,
    expires_ms: Math.min(nowMs + lifeMs, input.tokenExpiresMs ?? Number.POSITIVE_INFINITY),
    token_expires_ms: input.tokenExpiresMs,
  }
  await writeControl(store.control, authoring, async (db, record) => {
    await db
      .deleteFrom('invitations')
      .where('group_id', '=', groupId)
      .where((eb) => eb.or([eb('email', '=', row.email), eb('expires_ms', '<=', nowMs)]))
      .execute()
    const { count } = await db
      .selectFrom('invitations')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('group_id', '=', groupId)
      .executeTakeFirstOrThrow()
    if (Number(count) >= maxPending)
      throw conflict(`${maxPending} invitations wait for an answer. Withdraw some of them first.`)
    await db
      .insertInto('invitations')
      .values(row)
      .onConflict((taken) => taken.columns(['group_id', 'email']).doUpdateSet(row)) // two may invite at the same time
      .execute()
    record({ type: 'invitation.created', groupId, subjectId: row.id, note: `${row.email}: ${row.role}` })
  })
  return { ...toInvitation(row), token }
}

/** Invitations that can still be accepted, of a group or of an address. */
export async function listInvitations(
  store: Store,
  of: { groupId: string } | { email: string },
  nowMs: number,
): Promise<(Invitation & { groupName: string })[]> {
  const rows = await store.control.read
    .selectFrom('invitations')
    .innerJoin('groups', 'groups.id', 'invitations.group_id')
    .selectAll('invitations')
    .select('groups.name as group_name')
    .where((eb) =>
      'groupId' in of ? eb('invitations.group_id', '=', of.groupId) : eb('invitations.email', '=', of.email),
    )
    .where('invitations.expires_ms', '>', nowMs)
    .orderBy('invitations.id')
    .execute()
  return rows.map((row) => ({ ...toInvitation(row), groupName: row.group_name }))
}

const noSuchInvitation = (): Error =>
  notFound('There is no such invitation: it is unknown, was answered or withdrawn, or has expired.')

/** Found by its secret, or by its id together with the address or the group. */
export type WhichInvitation = { secret: string } | { id: string; email: string } | { id: string; groupId: string }

/** Deletes and returns an invitation; of two concurrent calls, one succeeds. */
async function consumeInvitation({ db, nowMs }: ControlWriter, which: WhichInvitation) {
  if ('secret' in which && !isInvitation(which.secret)) throw noSuchInvitation()
  const row = await db
    .deleteFrom('invitations')
    .where('expires_ms', '>', nowMs)
    .where((eb) => {
      if ('secret' in which) return eb('secret_hash', '=', hashSecret(which.secret))
      if ('email' in which) return eb.and({ id: which.id, email: which.email })
      return eb.and({ id: which.id, group_id: which.groupId })
    })
    .returningAll()
    .executeTakeFirst()
  if (!row) throw noSuchInvitation()
  return row
}

/** The inviter must still be an owner. */
async function checkInviter({ db }: ControlWriter, { invited_by: userId, group_id: groupId }: InvitationRow) {
  const inviter = await db
    .selectFrom('users')
    .leftJoin('memberships', (join) =>
      join.onRef('memberships.user_id', '=', 'users.id').on('memberships.group_id', '=', groupId),
    )
    .select(['users.administrator', 'memberships.role'])
    .where('users.id', '=', userId)
    .where('users.disabled_ms', 'is', null)
    .executeTakeFirst()
  if (!inviter || (inviter.administrator === 0 && inviter.role !== 'owner')) throw noSuchInvitation()
}

export interface Joined {
  groupId: string
  user: Pick<User, 'id' | 'name'>
  role: GroupRole
  /** Only for a new user. */
  token: string | null
}

/**
 * Makes the invited person a member: an existing user, or a new one with a token of their own. The new user gets no e-mail
 * address, because the secret does not prove that the address is theirs.
 */
export async function acceptInvitation(
  store: Store,
  which: WhichInvitation,
  who: Pick<User, 'id' | 'name'> | { newName: string | undefined },
  authoring: Authoring,
): Promise<Joined> {
  const { nowMs } = authoring
  return writeControl(store.control, authoring, async (db, record) => {
    const writer: ControlWriter = { db, record, nowMs }
    const row = await consumeInvitation(writer, which)
    await checkInviter(writer, row)
    const groupId = row.group_id
    const role = row.role as GroupRole
    const isNew = 'newName' in who
    const user = isNew ? await insertUser(writer, { name: who.newName ?? row.name }) : who
    await insertMember(writer, groupId, user, role)
    record({ type: 'invitation.accepted', groupId, subjectId: row.id, note: `${row.email} by ${user.name}` })
    if (!isNew) return { groupId, user, role, token: null }
    const expiresMs = row.token_expires_ms ?? undefined
    const { token } = await insertAdminToken(writer, user, { label: 'invitation', expiresMs })
    return { groupId, user, role, token }
  })
}

/** Ends an invitation: `declined` by the invited person, `withdrawn` by the group. */
export async function endInvitation(
  store: Store,
  which: WhichInvitation,
  how: 'declined' | 'withdrawn',
  authoring: Authoring,
): Promise<void> {
  await writeControl(store.control, authoring, async (db, record) => {
    const { id, group_id: groupId, email } = await consumeInvitation({ db, record, nowMs: authoring.nowMs }, which)
    record({ type: `invitation.${how}`, groupId, subjectId: id, note: email })
  })
}
