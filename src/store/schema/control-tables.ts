import type { Generated } from 'kysely'
import type { MigrationRow, RecordedChange } from './tables.ts'

/** The tables of the control database, in the notation of `tables.ts`. */

export interface GroupRow {
  id: string
  name: string
  tier: string
  frozen: number
  database_name: string
  bucket_name: string
  created_ms: number
  /** Number of former versions to keep of each object. */
  versions_kept: Generated<number>
  /** When the group's deletion began. From then on it accepts nothing else. */
  deleting_ms: Generated<number | null>
}

export interface ApiKeyRow {
  id: string
  group_id: string
  label: string
  prefix: string
  secret_hash: string
  created_ms: number
  revoked_ms: number | null
  /** Set by a rotation. */
  expires_ms: Generated<number | null>
  last_used_ms: Generated<number | null>
}

export interface UserRow {
  id: string
  name: string
  email: string | null
  administrator: number
  created_ms: number
  disabled_ms: number | null
  /** Whether an administrator entered the address. One entered by an owner does not prove the user's identity. */
  email_verified: Generated<number>
  /** For a service account: its only group. */
  service_of: Generated<string | null>
}

export interface MembershipRow {
  group_id: string
  user_id: string
  role: string
  created_ms: number
}

export interface AdminTokenRow {
  id: string
  user_id: string
  label: string
  prefix: string
  secret_hash: string
  /** If set, the token gives access to this group only. */
  group_id: string | null
  /** If set, the highest role that the token can act as. */
  role: string | null
  created_ms: number
  expires_ms: number | null
  revoked_ms: number | null
  last_used_ms: number | null
}

/** Deleted when it is accepted, declined or withdrawn. */
export interface InvitationRow {
  id: string
  group_id: string
  email: string
  /** The inviter's name for the person. */
  name: string
  role: string
  secret_hash: string
  invited_by: string
  created_ms: number
  expires_ms: number
  /** The expiry of the inviter's token, which the new user's token inherits. */
  token_expires_ms: number | null
}

export interface ControlChangeRow extends RecordedChange {
  id: string
  group_id: string | null
}

/** The group of each integration: a webhook's URL contains only the integration's id. */
export interface IntegrationPlaceRow {
  integration_id: string
  group_id: string
}

/** The control database has groups, users and their rights, and no content. */
export interface ControlTables {
  migrations: MigrationRow
  groups: GroupRow
  api_keys: ApiKeyRow
  users: UserRow
  memberships: MembershipRow
  admin_tokens: AdminTokenRow
  invitations: InvitationRow
  changes: ControlChangeRow
  integration_places: IntegrationPlaceRow
}
