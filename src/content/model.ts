import type { Schema } from './schema.ts'

/** What content is made of, as it is stored. */

/** A collection, or all products of one payment integration: a schema and the objects that follow it. */
export interface Container {
  id: string
  kind: 'collection' | 'integration'
  /** A collection's name, or an integration's type. */
  name: string
  schema: Schema
  settings: ContainerSettings
  version: number
}

/** What a collection takes from visitors. Never delivered. */
export interface ContainerSettings {
  accepts?: SubmissionType[]
  /** Submissions wait, archived, until somebody approves them. */
  moderation?: boolean
  /** How many submissions it takes in an hour; without it, as many as its group may have. */
  hourlyLimit?: number
}

/** spec §4.6 */
export const submissionTypes = ['createReview', 'subscribeUser'] as const
export type SubmissionType = (typeof submissionTypes)[number]

export const reviewStates = ['pending', 'approved', 'rejected'] as const
export type ReviewState = (typeof reviewStates)[number]

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
  version: number
  /** Submissions only. */
  review: ReviewState | null
}

/** When an object has no publish date it has always been due: a moment before every date that can be written. */
export const unsetPublishMs = -8_640_000_000_000_000

/** A draft has a date that does not come: the last moment that can be written. The rule of spec §3 hides it. */
export const draftPublishMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

export const objectStatuses = ['published', 'scheduled', 'draft', 'archived'] as const
export type ObjectStatus = (typeof objectStatuses)[number]

type ObjectState = Pick<StoredObject, 'publishMs' | 'archived'>

/** spec §3, in words that people use. */
export function statusOf({ publishMs, archived }: ObjectState, nowMs: number): ObjectStatus {
  if (archived) return 'archived'
  if (publishMs === draftPublishMs) return 'draft'
  return publishMs > nowMs ? 'scheduled' : 'published'
}

export const isVisible = (state: ObjectState, nowMs: number): boolean => statusOf(state, nowMs) === 'published'

/** A site: what is known of every site, and open settings. */
export interface StoredSite {
  id: string
  name: string
  domainName: string
  settings: { colors?: Record<string, string>; [key: string]: unknown }
  privateSettings: PrivateSiteSettings
  version: number
  createdMs: number
  updatedMs: number
}

/** Never delivered. Where a list is there, only what it names is allowed. */
export interface PrivateSiteSettings {
  allowedOrigins?: string[]
  allowedRecipients?: string[]
  /** Where a checkout may send goods to; without it, to the usual ones. */
  shippingCountries?: string[]
  /** Who is told of what visitors send in, and how often. */
  submissionNotices?: SubmissionNotices
}

export const noticeRhythms = ['each', 'daily'] as const
export interface SubmissionNotices {
  to: string
  rhythm: (typeof noticeRhythms)[number]
}
