/** Of e-mails and of what visitors send in. Written as in `tables.ts`. */

/** An e-mail in the outbox. How far its delivery has come is told by its job, as long as there is one. */
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
