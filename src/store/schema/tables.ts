import type { Generated } from 'kysely'

/** On both engines, times are milliseconds since 1970, flags are 0 or 1, and JSON is text. */

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
  /** The review state of a submission; null for other objects. */
  review: string | null
  /** Size of its index rows. */
  index_bytes: number
  /** From this time on it counts as archived: `archived` is set then. */
  archive_ms: number | null
}

/** The unpublished edit of an object or of a site's settings, beside its live value. */
export interface WorkingCopyRow {
  /** The id of the object or site. */
  id: string
  group_id: string
  object_id: string | null
  site_id: string | null
  /** Of an object. */
  container_id: string | null
  value: string
  /** The live value that the edit began with, and its version. */
  base_value: string
  base_version: number
  /** Changes with every save. */
  revision: number
  /** The media keys in the value, each followed by a line feed. */
  media_keys: string
  /** When it is published; null if it is not scheduled. */
  due_ms: number | null
  /** The group's limit of versions when it was scheduled. */
  versions_kept: number
  /** Why it could not be published when it was due. */
  problem: string | null
  saved_ms: number
  saved_by: string
}

/** A former version of an object. */
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

/** The index for filters and sorting, derived from `objects` on every write; see `content/index-keys.ts`. */
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
 * The number of objects in a container that are neither archived nor drafts, for each filter value, and for the container if
 * field and key are empty. Written by triggers only; no row has a total of 0.
 */
export interface TotalRow {
  container_id: string
  field: string
  filter_key: string
  total: number
}

/**
 * A bucket of the objects counted in `totals`, in the order of a field: from this sort key and object id up to the next bucket.
 * Its total is maintained by triggers; where the buckets begin is decided by the job that splits them.
 */
export interface RangeTotalRow {
  container_id: string
  field: string
  /** Empty in the first bucket, as is the id. */
  lower_key: string
  lower_id: string
  /** Null until a bucket from before the upgrade is counted. It is the last one of its field. */
  total: number | null
}

/** A container whose objects are in the search index. Written by triggers and by the job that fills the index. */
export interface SearchContainerRow {
  container_id: string
  /** The id up to which its objects are indexed; null when all are. */
  filled_to: string | null
}

/** The searchable words of an object, in a narrow table with a trigram index. Written by triggers, from `objects`. */
export interface SearchEntryRow {
  object_id: string
  container_id: string
  group_id: string
  archived: number
  publish_ms: number
  created_ms: number
  words: string
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

/** A preview of a whole site: all of the group's content with its working copies. */
export interface SitePreviewRow {
  id: string
  group_id: string
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
  /** Scheduled objects that fell due up to this time are recorded. */
  swept_ms: Generated<number>
  /** Set when the deletion of the group's content begins: later writers are refused. */
  closed: Generated<number>
  /** Incremented when delivered file data changes. */
  media_revision: Generated<number>
  /** Size of the group's change log. */
  changes_bytes: Generated<number>
  /** When the next scheduled change or archive date is due, or earlier; null if there is none. */
  due_ms: Generated<number | null>
}

/** A group's storage, apart from its change log. Written by triggers only. */
export interface GroupUsageRow {
  group_id: string
  database_bytes: number
  /** Files and their derivatives. */
  media_bytes: number
}

/** A stored file: one row per group for the same bytes, under any number of names. */
export interface MediaFileRow {
  id: string
  group_id: string
  /** The key in the bucket. */
  key: string
  /** Of the bytes as uploaded. */
  sha256: string
  bytes: number
  content_type: string
  /** Of pictures, as displayed: after rotation. */
  width: number | null
  height: number | null
  color: string | null
  /** A tiny blurred picture as a data URL. */
  placeholder: string | null
  /** JSON: the scaled versions of a picture. */
  derivatives: string
  /** Why scaling failed. */
  problem: string | null
  created_ms: number
}

/** An item of the media library. Content refers to its key; its file can be replaced. */
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

/** Deferred work, written in the transaction that causes it. */
export interface JobRow {
  id: string
  group_id: string
  kind: string
  payload: string
  state: string
  /** When a waiting job is due, or when the lease of a running one expires. */
  due_ms: number | null
  /** Started attempts. */
  attempts: number
  /** The token of the lease. */
  worker: string | null
  /** Deduplicates waiting jobs. */
  topic: string | null
  problem: string | null
  created_ms: number
  finished_ms: number | null
}

/** The group's change log and event feed, numbered without gaps in the order of commits. */
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
  objects: Omit<ObjectRow, 'index_bytes' | 'archive_ms'> & {
    index_bytes: Generated<number>
    archive_ms: Generated<number | null>
  }
  working_copies: WorkingCopyRow
  object_fields: ObjectFieldRow
  totals: TotalRow
  range_totals: RangeTotalRow
  search_containers: SearchContainerRow
  search_entries: SearchEntryRow
  preview_tokens: PreviewTokenRow
  site_previews: SitePreviewRow
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

/** A value that a reader of the database must not see, sealed by `vault.ts`. */
export interface SecretRow {
  group_id: string
  /** The owner of the secret: an integration, or the group itself. */
  subject_id: string
  field: string
  sealed: string
  created_ms: number
}

/** An account at a payment provider. */
export interface IntegrationRow {
  id: string
  group_id: string
  type: string
  account_handle: string
  /** Whether the provider is our own sandbox. */
  sandbox: number
  status: string
  /** The provider's id of the account. */
  account_id: string
  account_name: string
  live: number
  /** The provider's id of the webhook, if we registered it. */
  webhook_id: string | null
  /** Why the provider last refused to register one. */
  webhook_problem: string | null
  /** Counts the writes to the catalogue: data requested before a write may be older than the write. */
  catalogue_seq: Generated<number>
  /** The latest of these writes that may have removed something. */
  removed_seq: Generated<number>
  /** JSON: the progress of a walk through the provider's catalogue, while one is running. */
  walk: string | null
  /** JSON: the results of the latest walk. */
  last_sync: string | null
  synced_ms: number | null
  last_event_ms: number | null
  version: Generated<number>
  created_ms: number
  updated_ms: number
}

/** A product of the provider, as fetched; our products are made from these. */
export interface CatalogueProductRow {
  integration_id: string
  product_id: string
  group_id: string
  /** The object that it is part of: variants share one. */
  object_key: string
  /** Hash of its picture's URL. */
  picture_hash: string | null
  data: string
  seq: number
  walk: number
}

export interface CataloguePriceRow {
  integration_id: string
  price_id: string
  group_id: string
  product_id: string
  data: string
  seq: number
  walk: number
}

/** The provider's values of editable fields of a product, and the editors' own values. */
export interface CatalogueObjectRow {
  object_id: string
  group_id: string
  integration_id: string
  origin: string
}

/** A picture of the provider, with its library item or why there is none. */
export interface CataloguePictureRow {
  group_id: string
  url_hash: string
  url: string
  media_id: string | null
  problem: string | null
}

/** A processed webhook event. */
export interface ProviderEventRow {
  integration_id: string
  event_id: string
  group_id: string
  received_ms: number
}

/** An order, one per checkout session. */
export interface OrderRow {
  id: string
  group_id: string
  type: string
  account_handle: string
  session_id: string
  status: string
  data: string
  /** The customer's address in lower case. Null also for orders that an older Sluice wrote during an upgrade. */
  email_key: Generated<string | null>
  created_ms: number
  updated_ms: number
}

/** A request with an `Idempotency-Key`, and its answer. */
export interface IdempotencyRow {
  group_id: string
  endpoint: string
  key_hash: string
  body_hash: string
  request: string
  answer: string | null
  expires_ms: number
}

/** An object of the sandbox provider. */
export interface SandboxObjectRow {
  integration_id: string
  id: string
  group_id: string
  kind: string
  data: string
  seq: number
  updated_ms: number
}

/** An e-mail in the outbox. The progress of its delivery is in its job, while that exists. */
export interface MessageRow {
  id: string
  group_id: string
  kind: string
  state: string
  /** A validated address, with its domain in ASCII. */
  recipient: string
  reply_to: string | null
  subject: string
  /** JSON: the input of the templates, see `content/mail.ts`. */
  content: string
  /** The same in each attempt, so that recipients can detect duplicates. */
  message_id: string
  job_id: string
  /** Why it finally failed. */
  problem: string | null
  created_ms: number
  /** When it was delivered, finally failed or was cancelled. */
  ended_ms: number | null
}

/** An address to which no more e-mails are sent. */
export interface SuppressionRow {
  group_id: string
  /** In lower case, for comparison. */
  address: string
  reason: string
  created_ms: number
}

/** A group's own mail server; its address with user and password is sealed in `secrets`. */
export interface MailServerRow {
  group_id: string
  from_address: string
  host: string
  port: number
  tls: string
  updated_ms: number
}

/** A counter for a fixed window of time, such as a day. */
export interface TallyRow {
  group_id: string
  subject: string
  /** When the window began. */
  start_ms: number
  /** When it can be deleted. */
  end_ms: number
  count: number
}

/** A submission whose notice to the site's owner is pending. */
export interface AwaitedNoticeRow {
  group_id: string
  site_id: string
  object_id: string
}
