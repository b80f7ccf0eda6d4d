import type { Generated } from 'kysely'

/** Moments are milliseconds since 1970, flags are 0 or 1, JSON is text: the same on both engines. */

export interface MigrationRow {
  version: number
  name: string
  applied_ms: number
}

export interface GroupRow {
  id: string
  name: string
  tier: string
  frozen: number
  database_name: string
  bucket_name: string
  created_ms: number
}

export interface ApiKeyRow {
  id: string
  group_id: string
  label: string
  prefix: string
  secret_hash: string
  created_ms: number
  revoked_ms: number | null
}

/** The control database knows who may ask; it holds no content. */
export interface ControlTables {
  migrations: MigrationRow
  groups: GroupRow
  api_keys: ApiKeyRow
}

export interface SiteRow {
  id: string
  group_id: string
  name: string
  domain_name: string
  settings: string
  created_ms: number
  updated_ms: number
}

export interface ContainerRow {
  id: string
  group_id: string
  kind: 'collection' | 'integration'
  /** A collection's name, or an integration's type. */
  name: string
  schema: string
  created_ms: number
  updated_ms: number
}

export interface ObjectRow {
  id: string
  group_id: string
  container_id: string
  external_id: string | null
  account_handle: string
  publish_ms: number
  archived: number
  created_ms: number
  updated_ms: number
  value: string
  search_text: string
}

/** The index of what clients filter and sort by; made from `objects` on every write, see `content/index-keys.ts`. */
export interface ObjectFieldRow {
  object_id: string
  field: string
  filter_key: string
  sort_key: string | null
  container_id: string
  archived: number
  publish_ms: number
}

export interface PreviewTokenRow {
  id: string
  group_id: string
  object_id: string
  secret_hash: string
  created_ms: number
  expires_ms: number
  max_uses: number | null
  uses: Generated<number>
  revoked_ms: number | null
}

export interface GroupRevisionRow {
  group_id: string
  revision: number
}

export interface ContentTables {
  migrations: MigrationRow
  sites: SiteRow
  containers: ContainerRow
  objects: ObjectRow
  object_fields: ObjectFieldRow
  preview_tokens: PreviewTokenRow
  group_revisions: GroupRevisionRow
}
