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
  /** How many former versions of an object are kept. */
  versions_kept: Generated<number>
  /** Set when the group began to be deleted: from then on nothing but its deletion can happen to it. */
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
  /** A key that was rotated ends by itself. */
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
  /** An administrator vouched for the address. One that only an owner typed says nothing about who the user is. */
  email_verified: Generated<number>
  /** Of a service account: the one group that it works in. */
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
  /** Where set, the token opens this group only. */
  group_id: string | null
  /** Where set, the token can do no more than this role. */
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
  /** What whoever invites calls the person. */
  name: string
  role: string
  secret_hash: string
  invited_by: string
  created_ms: number
  expires_ms: number
  /** A token that comes of it ends with that of who invites. */
  token_expires_ms: number | null
}

export interface ControlChangeRow extends RecordedChange {
  id: string
  group_id: string | null
}

/** Where the integration lives that a provider calls us about: its id is all that the address of a call says. */
export interface IntegrationPlaceRow {
  integration_id: string
  group_id: string
}

/** The control database knows who may ask; it holds no content. */
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
