import type { Generated } from 'kysely'

/** Of payment providers: accounts and their secrets, what they sell, and what was bought. Written as in `tables.ts`. */

/** What must not be read by who reads the database: sealed, see `vault.ts`. */
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
