import { notFound } from '../../core/errors.ts'
import { makeId } from '../../core/ids.ts'
import { type GroupRole, lesserRole } from '../../core/roles.ts'
import { displayPrefix, hashSecret, makeAdminToken } from '../../security/tokens.ts'
import type { Authoring } from '../content/changes.ts'
import type { AdminTokenRow } from '../schema/control-tables.ts'
import type { Store } from '../store.ts'
import { type ControlWriter, writeControl } from './control-changes.ts'
import type { User } from './users.ts'

/** A user's token, with the user's rights or fewer. */
export interface AdminToken {
  id: string
  userId: string
  label: string
  prefix: string
  /** The only group that it gives access to. */
  groupId: string | null
  /** The highest role that it can act as. */
  role: GroupRole | null
  createdMs: number
  expiresMs: number | null
  revokedMs: number | null
  lastUsedMs: number | null
}

function toAdminToken(row: AdminTokenRow): AdminToken {
  return {
    id: row.id,
    userId: row.user_id,
    label: row.label,
    prefix: row.prefix,
    groupId: row.group_id,
    role: row.role as GroupRole | null, // checked when it was written
    createdMs: row.created_ms,
    expiresMs: row.expires_ms,
    revokedMs: row.revoked_ms,
    lastUsedMs: row.last_used_ms,
  }
}

export interface NewAdminToken {
  label?: string | undefined
  groupId?: string | undefined
  role?: GroupRole | undefined
  expiresMs?: number | undefined
}

type NewToken = AdminToken & { token: string }

/** The token itself is returned once and never stored. */
export const createAdminToken = (
  store: Store,
  user: User,
  input: NewAdminToken,
  authoring: Authoring,
): Promise<NewToken> =>
  writeControl(store.control, authoring, (db, record) =>
    insertAdminToken({ db, record, nowMs: authoring.nowMs }, user, input),
  )

export async function insertAdminToken(
  { db, record, nowMs }: ControlWriter,
  user: Pick<User, 'id' | 'name'>,
  input: NewAdminToken,
): Promise<NewToken> {
  const token = makeAdminToken()
  const row: AdminTokenRow = {
    id: makeId(),
    user_id: user.id,
    label: input.label ?? '',
    prefix: displayPrefix(token),
    secret_hash: hashSecret(token),
    group_id: input.groupId ?? null,
    role: input.role ?? null,
    created_ms: nowMs,
    expires_ms: input.expiresMs ?? null,
    revoked_ms: null,
    last_used_ms: null,
  }
  await db.insertInto('admin_tokens').values(row).execute()
  const note = `${row.prefix}… for ${user.name}`
  record({ type: 'token.created', groupId: row.group_id, subjectId: row.id, note })
  return { ...toAdminToken(row), token }
}

/** Tokens of a user, or those limited to a group. */
export async function listAdminTokens(store: Store, of: { userId?: string; groupId?: string }): Promise<AdminToken[]> {
  const rows = await store.control.read
    .selectFrom('admin_tokens')
    .selectAll()
    .where((eb) =>
      eb.and({
        ...(of.userId !== undefined && { user_id: of.userId }),
        ...(of.groupId !== undefined && { group_id: of.groupId }),
      }),
    )
    .orderBy('id')
    .execute()
  return rows.map(toAdminToken)
}

export async function revokeAdminToken(
  store: Store,
  id: string,
  of: { userId?: string; groupId?: string },
  authoring: Authoring,
): Promise<AdminToken> {
  const token = (await listAdminTokens(store, of)).find((candidate) => candidate.id === id)
  if (!token) throw notFound('There is no such token.')
  if (token.revokedMs !== null) return token
  const revokedMs = authoring.nowMs
  await writeControl(store.control, authoring, async (db, record) => {
    await db.updateTable('admin_tokens').set({ revoked_ms: revokedMs }).where('id', '=', id).execute()
    record({ type: 'token.revoked', groupId: token.groupId, subjectId: id, note: `${token.prefix}…` })
  })
  return { ...token, revokedMs }
}

/** The user of a token, with the rights that it grants. */
export interface TokenHolder {
  tokenId: string
  userId: string
  name: string
  administrator: boolean
  /** If set, the token gives access to this group only. */
  onlyGroup: string | null
  /** Whether the token has fewer rights than the user; it then cannot act for the person. */
  narrowed: boolean
  expiresMs: number | null
  roleIn(groupId: string): GroupRole | undefined
}

/** Undefined, without a reason, for a token that is unknown, revoked or expired, or whose user is disabled. */
export async function findTokenHolder(
  store: Store,
  secretHash: string,
  nowMs: number,
): Promise<TokenHolder | undefined> {
  const { read } = store.control
  const token = await read
    .selectFrom('admin_tokens')
    .innerJoin('users', 'users.id', 'admin_tokens.user_id')
    .select(['admin_tokens.id', 'admin_tokens.group_id', 'admin_tokens.role', 'users.name', 'users.administrator'])
    .select('admin_tokens.expires_ms')
    .select('users.id as user_id')
    .where('admin_tokens.secret_hash', '=', secretHash)
    .where('admin_tokens.revoked_ms', 'is', null)
    .where('users.disabled_ms', 'is', null)
    .where((eb) => eb.or([eb('admin_tokens.expires_ms', 'is', null), eb('admin_tokens.expires_ms', '>', nowMs)]))
    .executeTakeFirst()
  if (!token) return undefined
  const memberships = await read
    .selectFrom('memberships')
    .select(['group_id', 'role'])
    .where('user_id', '=', token.user_id)
    .execute()
  const { group_id: onlyGroup, role: maxRole } = token
  const isAdministrator = token.administrator !== 0
  const roles = new Map(memberships.map((row) => [row.group_id, row.role as GroupRole]))
  return {
    tokenId: token.id,
    userId: token.user_id,
    name: token.name,
    expiresMs: token.expires_ms,
    onlyGroup,
    narrowed: onlyGroup !== null || maxRole !== null,
    // A narrowed token of an administrator has at most the rights of an owner, in the groups it is limited to.
    administrator: isAdministrator && onlyGroup === null && maxRole === null,
    roleIn(groupId) {
      const role = isAdministrator ? 'owner' : roles.get(groupId)
      if (!role || (onlyGroup !== null && groupId !== onlyGroup)) return undefined
      return maxRole === null ? role : lesserRole(role, maxRole as GroupRole)
    },
  }
}
