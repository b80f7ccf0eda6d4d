import type { Generated } from 'kysely'

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

/** Of payment providers: accounts and their secrets, what they sell, and what was bought. Written as in `tables.ts`. */

/** Values that a reader of the database must not see: sealed, see `vault.ts`. */
export interface SecretRow {
  group_id: string
  /** Whose secret it is: an integration, or the group itself. */
  subject_id: string
  field: string
  sealed: string
  created_ms: number
}

/** One account at a payment provider. */
export interface IntegrationRow {
  id: string
  group_id: string
  type: string
  account_handle: string
  /** Whether the provider is our own stand-in. */
  sandbox: number
  status: string
  /** Who the account is at the provider. */
  account_id: string
  account_name: string
  live: number
  /** The provider's id of the address that it calls, where we made it ourselves. */
  webhook_id: string | null
  /** Why the provider refused to make one, the last time it was asked. */
  webhook_problem: string | null
  /** Counts the writes to the catalogue: what was asked for before one of them may be older than it. */
  catalogue_seq: Generated<number>
  /** The latest of these writes that may have removed something: what is missing may be missing since then. */
  removed_seq: Generated<number>
  /** JSON: how far the walk through the provider's catalogue has come, where one is under way. */
  walk: string | null
  /** JSON: what the latest walk found. */
  last_sync: string | null
  synced_ms: number | null
  last_event_ms: number | null
  version: Generated<number>
  created_ms: number
  updated_ms: number
}

/** What the provider has, as it was fetched; products are made from it. */
export interface CatalogueProductRow {
  integration_id: string
  product_id: string
  group_id: string
  /** Which product of ours it is part of: variants share one. */
  object_key: string
  /** Of the address of the picture that it shows. */
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

/** What the provider says of a product that editors may say otherwise, and what they said. */
export interface CatalogueObjectRow {
  object_id: string
  group_id: string
  integration_id: string
  origin: string
}

/** A picture of the provider's that was taken into the library, or why it was not. */
export interface CataloguePictureRow {
  group_id: string
  url_hash: string
  url: string
  media_id: string | null
  problem: string | null
}

/** Calls of the provider that were taken: each counts once. */
export interface ProviderEventRow {
  integration_id: string
  event_id: string
  group_id: string
  received_ms: number
}

/** What was bought, once for each checkout session. */
export interface OrderRow {
  id: string
  group_id: string
  type: string
  account_handle: string
  session_id: string
  status: string
  data: string
  /** The customer's address in lower case. Null also where a version before this one wrote the order. */
  email_key: Generated<string | null>
  created_ms: number
  updated_ms: number
}

/** What was asked for under an `Idempotency-Key`, and what was answered. */
export interface IdempotencyRow {
  group_id: string
  endpoint: string
  key_hash: string
  body_hash: string
  request: string
  answer: string | null
  expires_ms: number
}

/** What the stand-in for a payment provider remembers. */
export interface SandboxObjectRow {
  integration_id: string
  id: string
  group_id: string
  kind: string
  data: string
  seq: number
  updated_ms: number
}

/** Of e-mails and of what visitors send in. Written as in `tables.ts`. */

/** An e-mail in the outbox. Its job, as long as there is one, has the progress of its delivery. */
export interface MessageRow {
  id: string
  group_id: string
  kind: string
  state: string
  /** The one address that was checked, with its domain in ASCII. */
  recipient: string
  reply_to: string | null
  subject: string
  /** JSON: what the words are made of, see `content/mail.ts`. */
  content: string
  /** The same in each attempt, so that who gets it twice can tell. */
  message_id: string
  job_id: string
  /** Why it has failed for good. */
  problem: string | null
  created_ms: number
  /** When it was delivered, failed for good or was cancelled. */
  ended_ms: number | null
}

/** An address that does not exist: nothing more is sent there. */
export interface SuppressionRow {
  group_id: string
  /** As it is compared: in lower case. */
  address: string
  reason: string
  created_ms: number
}

/** A group's own mail server; its address with user and password lies sealed in `secrets`. */
export interface MailServerRow {
  group_id: string
  from_address: string
  host: string
  port: number
  tls: string
  updated_ms: number
}

/** How often something was done in a stretch of time that is counted on its own, such as a day. */
export interface TallyRow {
  group_id: string
  subject: string
  /** When the stretch began. */
  start_ms: number
  /** When it can be forgotten. */
  end_ms: number
  count: number
}

/** A submission of which the owner of a site is still to be told. */
export interface AwaitedNoticeRow {
  group_id: string
  site_id: string
  object_id: string
}
