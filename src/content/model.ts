import type { Schema } from './schema.ts'

/** A collection, or all products of one payment integration: a schema and its objects. */
export interface Container {
  id: string
  kind: 'collection' | 'integration'
  /** A collection's name, or an integration's type. */
  name: string
  schema: Schema
  settings: ContainerSettings
  version: number
}

/** The submissions that a collection accepts. Never delivered. */
export interface ContainerSettings {
  accepts?: SubmissionType[]
  /** Submissions stay archived until approved. */
  moderation?: boolean
  /** Submissions accepted per hour; by default, the group's limit. */
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
  /** Products only: the provider's id. */
  externalId: string | null
  /** Products only: the account it belongs to. Empty on all others. */
  accountHandle: string
  version: number
  /** When it is archived, or was by this date; null if never. */
  archiveMs: number | null
  /** Submissions only. */
  review: ReviewState | null
}

/** The publish time of objects without a publish date: before every valid date, so they are always due. */
export const unsetPublishMs = -8_640_000_000_000_000

/** The publish time of drafts: the last valid time, so that the rule of spec §3 hides them. */
export const draftPublishMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

export const objectStatuses = ['published', 'scheduled', 'draft', 'archived'] as const
export type ObjectStatus = (typeof objectStatuses)[number]

type ObjectState = Pick<StoredObject, 'publishMs' | 'archived'>

/** spec §3 */
export function statusOf({ publishMs, archived }: ObjectState, nowMs: number): ObjectStatus {
  if (archived) return 'archived'
  if (publishMs === draftPublishMs) return 'draft'
  return publishMs > nowMs ? 'scheduled' : 'published'
}

export const isVisible = (state: ObjectState, nowMs: number): boolean => statusOf(state, nowMs) === 'published'

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

/** Never delivered. A list, if set, allows only what it names. */
export interface PrivateSiteSettings {
  allowedOrigins?: string[]
  allowedRecipients?: string[]
  /** Countries to which a checkout ships; by default, `defaultShippingCountries`. */
  shippingCountries?: string[]
  /** The recipient and rhythm of notices of submissions. */
  submissionNotices?: SubmissionNotices
}

export const noticeRhythms = ['each', 'daily'] as const
export interface SubmissionNotices {
  to: string
  rhythm: (typeof noticeRhythms)[number]
}
