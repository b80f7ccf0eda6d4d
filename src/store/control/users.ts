import type { Selectable, Transaction } from 'kysely'
import { isEmailAddress } from '../../content/email.ts'
import { isName } from '../../content/texts.ts'
import { conflict, invalid, notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import type { GroupRole } from '../../core/roles.ts'
import type { Authoring } from '../content/changes.ts'
import type { ControlTables, UserRow } from '../schema/control-tables.ts'
import type { Store } from '../store.ts'
import { type ControlWriter, writeControl } from './control-changes.ts'

/** A person or a program that manages content. */
export interface User {
  id: string
  name: string
  email: string | null
  /** Has every right in every group. */
  administrator: boolean
  createdMs: number
  disabledMs: number | null
  /** Whether the address is verified to be theirs. */
  emailVerified: boolean
  /** For a service account: its only group. */
  serviceOf: string | null
}

export interface NewUser {
  name: string
  email?: string | undefined
  administrator?: boolean | undefined
}

function toUser(row: Selectable<UserRow>): User {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    administrator: row.administrator !== 0,
    createdMs: row.created_ms,
    disabledMs: row.disabled_ms,
    emailVerified: row.email_verified !== 0,
    serviceOf: row.service_of,
  }
}

function checkUser({ name, email }: NewUser): void {
  if (!isName(name)) throw invalid('name must be 1 to 200 characters, all of them printable.')
  if (email !== undefined && !isEmailAddress(email)) throw invalid('email must be one e-mail address.')
}

/** The e-mail address must be verified, because the user can accept invitations to it. */
export async function insertUser(
  { db, record, nowMs }: ControlWriter,
  input: NewUser & { serviceOf?: string },
): Promise<User> {
  checkUser(input)
  const row: Selectable<UserRow> = {
    id: makeId(),
    name: input.name,
    email: input.email?.toLowerCase() ?? null,
    administrator: input.administrator ? 1 : 0,
    created_ms: nowMs,
    disabled_ms: null,
    email_verified: input.email === undefined ? 0 : 1,
    service_of: input.serviceOf ?? null,
  }
  // The insert itself checks that the address is free, because of concurrent calls.
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(row)
    .onConflict((taken) => taken.column('email').doNothing())
    .executeTakeFirst()
  if (!numInsertedOrUpdatedRows) throw conflict('There is already a user with this e-mail address.')
  const note = row.administrator ? `${row.name}, administrator` : row.name
  record({ type: 'user.created', groupId: row.service_of, subjectId: row.id, note })
  return toUser(row)
}

export const createUser = (store: Store, input: NewUser, authoring: Authoring): Promise<User> =>
  writeControl(store.control, authoring, (db, record) => insertUser({ db, record, nowMs: authoring.nowMs }, input))

export async function listUsers(store: Store): Promise<User[]> {
  return (await store.control.read.selectFrom('users').selectAll().orderBy('id').execute()).map(toUser)
}

export async function findUser(store: Store, id: string): Promise<User> {
  const row = await store.control.read.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw notFound('There is no such user.')
  return toUser(row)
}

export async function findUserByEmail(store: Store, email: string): Promise<User | undefined> {
  const row = await store.control.read
    .selectFrom('users')
    .selectAll()
    .where('email', '=', email.toLowerCase())
    .executeTakeFirst()
  return row && toUser(row)
}

/** The tokens of a disabled user stop working within a second. */
export async function setDisabled(store: Store, user: User, disabled: boolean, authoring: Authoring): Promise<User> {
  if ((user.disabledMs !== null) === disabled) return user
  const disabledMs = disabled ? authoring.nowMs : null
  await writeControl(store.control, authoring, async (db, record) => {
    await db.updateTable('users').set({ disabled_ms: disabledMs }).where('id', '=', user.id).execute()
    record({ type: disabled ? 'user.disabled' : 'user.enabled', groupId: null, subjectId: user.id, note: user.name })
  })
  return { ...user, disabledMs }
}

export interface Member {
  user: User
  role: GroupRole
  sinceMs: number
}

export async function listMembers(store: Store, groupId: string): Promise<Member[]> {
  const rows = await store.control.read
    .selectFrom('memberships')
    .innerJoin('users', 'users.id', 'memberships.user_id')
    .selectAll('users')
    .select(['memberships.role', 'memberships.created_ms as since_ms'])
    .where('memberships.group_id', '=', groupId)
    .orderBy('users.id')
    .execute()
  return rows.map((row) => ({ user: toUser(row), role: row.role as GroupRole, sinceMs: row.since_ms }))
}

const noSuchMember = (): Error => notFound('The group has no such member.')

/** The same error for a user who is not a member and one who does not exist, so that groups cannot find other users. */
export async function findMember(store: Store, groupId: string, userId: string): Promise<Member> {
  const member = (await listMembers(store, groupId)).find(({ user }) => user.id === userId)
  if (!member) throw noSuchMember()
  return member
}

/** A user's role in a group, locked until the transaction ends. */
async function lockRole(store: Store, db: Transaction<ControlTables>, groupId: string, userId: string) {
  const row = await db
    .selectFrom('memberships')
    .select('role')
    .where('group_id', '=', groupId)
    .where('user_id', '=', userId)
    .$if(store.control.engine === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst()
  return row?.role
}

/** For a user who is not a member yet. */
export async function insertMember(
  { db, record, nowMs }: ControlWriter,
  groupId: string,
  user: Pick<User, 'id' | 'name'>,
  role: GroupRole,
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('memberships')
    .values({ group_id: groupId, user_id: user.id, role, created_ms: nowMs })
    .onConflict((taken) => taken.columns(['group_id', 'user_id']).doNothing())
    .executeTakeFirst()
  if (!numInsertedOrUpdatedRows) throw conflict('You are a member of this group already.')
  record({ type: 'member.set', groupId, subjectId: user.id, note: `${user.name}: ${role}` })
}

async function writeRole(
  store: Store,
  groupId: string,
  user: User,
  role: GroupRole,
  authoring: Authoring,
  { mayJoin }: { mayJoin: boolean },
): Promise<void> {
  await writeControl(store.control, authoring, async (db, record) => {
    const before = await lockRole(store, db, groupId, user.id)
    if (before === undefined && !mayJoin) throw noSuchMember()
    if (before === role) return
    await db
      .insertInto('memberships')
      .values({ group_id: groupId, user_id: user.id, role, created_ms: authoring.nowMs })
      .onConflict((taken) => taken.columns(['group_id', 'user_id']).doUpdateSet({ role }))
      .execute()
    record({ type: 'member.set', groupId, subjectId: user.id, note: `${user.name}: ${role}` })
  })
}

/** Adds a member or changes their role. */
export const addMember = (store: Store, groupId: string, user: User, role: GroupRole, authoring: Authoring) =>
  writeRole(store, groupId, user, role, authoring, { mayJoin: true })

/** A user for a program, and a member of its only group. */
export function createServiceAccount(
  store: Store,
  groupId: string,
  { name, role }: { name: string; role: GroupRole },
  authoring: Authoring,
): Promise<User> {
  const { nowMs } = authoring
  return writeControl(store.control, authoring, async (db, record) => {
    const user = await insertUser({ db, record, nowMs }, { name, serviceOf: groupId })
    await insertMember({ db, record, nowMs }, groupId, user, role)
    return user
  })
}

/** Does not add a member who was removed meanwhile. */
export const setRole = (store: Store, groupId: string, { user }: Member, role: GroupRole, authoring: Authoring) =>
  writeRole(store, groupId, user, role, authoring, { mayJoin: false })

export async function removeMember(
  store: Store,
  groupId: string,
  { user }: Member,
  authoring: Authoring,
): Promise<void> {
  await writeControl(store.control, authoring, async (db, record) => {
    await db.deleteFrom('memberships').where('group_id', '=', groupId).where('user_id', '=', user.id).execute()
    // A member who returns needs a new token.
    await db
      .updateTable('admin_tokens')
      .set({ revoked_ms: authoring.nowMs })
      .where('group_id', '=', groupId)
      .where('user_id', '=', user.id)
      .where('revoked_ms', 'is', null)
      .execute()
    if (user.serviceOf === groupId)
      await db.updateTable('users').set({ disabled_ms: authoring.nowMs }).where('id', '=', user.id).execute()
    record({ type: 'member.removed', groupId, subjectId: user.id, note: user.name })
  })
}
