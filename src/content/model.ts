import type { Schema } from './schema.ts'

/** What content is made of, as it is stored. */

/** A collection, or all products of one payment integration: a schema and the objects that follow it. */
export interface Container {
  id: string
  kind: 'collection' | 'integration'
  /** A collection's name, or an integration's type. */
  name: string
  schema: Schema
}

export interface StoredObject {
  id: string
  value: Record<string, unknown>
  publishMs: number
  archived: boolean
  createdMs: number
  updatedMs: number
  /** Products only: the provider's id of it. */
  externalId: string | null
  /** Products only: the account it belongs to. Empty on all others. */
  accountHandle: string
}

/** When an object has no publish date it has always been due: a moment before every date that can be written. */
export const unsetPublishMs = -8_640_000_000_000_000

/** A site: what is known of every site, and open settings. */
export interface StoredSite {
  id: string
  name: string
  domainName: string
  settings: { colors?: Record<string, string>; [key: string]: unknown }
}
