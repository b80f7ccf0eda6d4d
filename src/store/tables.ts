import type { Generated } from 'kysely'
import type {
  CatalogueObjectRow,
  CataloguePictureRow,
  CataloguePriceRow,
  CatalogueProductRow,
  IdempotencyRow,
  IntegrationRow,
  OrderRow,
  ProviderEventRow,
  SandboxObjectRow,
  SecretRow,
} from './commerce-tables.ts'
import type { AwaitedNoticeRow, MailServerRow, MessageRow, SuppressionRow, TallyRow } from './mail-tables.ts'

/** Moments are milliseconds since 1970, flags are 0 or 1, JSON is text: the same on both engines. */

export interface MigrationRow {
  version: number
  name: string
  applied_ms: number
}

/** Who did what, when and from where. Written in the transaction of the change itself. */
export interface RecordedChange {
  at_ms: number
  type: string
  verb: string
  subject_id: string
  actor_id: string | null
  actor_name: string
  address: string
  note: string
}

export interface SiteRow {
  id: string
  group_id: string
  name: string
  domain_name: string
  settings: string
  /** Never delivered. */
  private_settings: Generated<string>
  version: Generated<number>
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
  settings: Generated<string>
  version: Generated<number>
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
  version: number
  changed_by: string
  change: string
  /** Of what visitors sent in: whether somebody has looked at it. */
  review: string | null
  /** What its rows in the index take. */
  index_bytes: number
}

/** What an object was before its latest changes. */
export interface ObjectVersionRow {
  object_id: string
  version: number
  group_id: string
  value: string
  publish_ms: number
  archived: number
  changed_ms: number
  changed_by: string
  change: string
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

/**
 * How many objects of a container are neither archived nor drafts, whatever their publish date; by a value that they are
 * filtered by, or in all where both are empty. Only triggers of the database write here, and nothing has a total of 0.
 */
export interface TotalRow {
  container_id: string
  field: string
  filter_key: string
  total: number
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
  /** The number of the group's latest recorded change. */
  last_seq: Generated<number>
  /** Up to which moment scheduled objects were noticed to have fallen due. */
  swept_ms: Generated<number>
  /** Set when the group's content begins to be deleted: who waited to write is turned away. */
  closed: Generated<number>
  /** Counted up when what is delivered of a file changes. */
  media_revision: Generated<number>
  /** What the group's record of changes takes. */
  changes_bytes: Generated<number>
}

/** What a group takes besides its record of changes. Only triggers of the database write here. */
export interface GroupUsageRow {
  group_id: string
  database_bytes: number
  /** Of files, and of all that was made of them. */
  media_bytes: number
}

/** Bytes that are stored: once for each group, whatever they are called. */
export interface MediaFileRow {
  id: string
  group_id: string
  /** Where it lies in the bucket. */
  key: string
  /** Of the bytes as they were sent. */
  sha256: string
  bytes: number
  content_type: string
  /** Of pictures; as one sees them, the right way up. */
  width: number | null
  height: number | null
  color: string | null
  /** A tiny blurred picture as a data address. */
  placeholder: string | null
  /** JSON: the smaller pictures that were made of it. */
  derivatives: string
  /** Why there are none. */
  problem: string | null
  created_ms: number
}

/** What content points to by its key: a file that can be replaced. */
export interface MediaRow {
  id: string
  group_id: string
  key: string
  name: string
  search_name: string
  type: string
  file_id: string
  version: number
  created_ms: number
  updated_ms: number
}

/** Work to be done later, written in the transaction that causes it. */
export interface JobRow {
  id: string
  group_id: string
  kind: string
  payload: string
  state: string
  /** When somebody is to take it up: a waiting one at its time, a running one when its worker is taken to be dead. */
  due_ms: number | null
  /** How often it was begun. */
  attempts: number
  /** Who has it in work. */
  worker: string | null
  /** What it is about, where the same work is not to be asked for twice while it waits. */
  topic: string | null
  problem: string | null
  created_ms: number
  finished_ms: number | null
}

/** The group's record of changes, which is also its feed of events: numbered without gaps in the order of commits. */
export interface ChangeRow extends RecordedChange {
  group_id: string
  seq: number
  container_id: string | null
  version: number | null
}

export interface ContentTables {
  migrations: MigrationRow
  sites: SiteRow
  containers: ContainerRow
  objects: Omit<ObjectRow, 'index_bytes'> & { index_bytes: Generated<number> }
  object_fields: ObjectFieldRow
  totals: TotalRow
  preview_tokens: PreviewTokenRow
  group_revisions: GroupRevisionRow
  group_usage: GroupUsageRow
  object_versions: ObjectVersionRow
  changes: ChangeRow
  media_files: MediaFileRow
  media: MediaRow
  jobs: JobRow
  secrets: SecretRow
  integrations: IntegrationRow
  catalogue_products: CatalogueProductRow
  catalogue_prices: CataloguePriceRow
  catalogue_objects: CatalogueObjectRow
  catalogue_pictures: CataloguePictureRow
  provider_events: ProviderEventRow
  orders: OrderRow
  idempotency_keys: IdempotencyRow
  sandbox_objects: SandboxObjectRow
  messages: MessageRow
  suppressions: SuppressionRow
  mail_servers: MailServerRow
  tallies: TallyRow
  awaited_notices: AwaitedNoticeRow
}
