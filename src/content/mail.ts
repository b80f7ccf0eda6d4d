export const messageKinds = ['contact', 'order', 'notice'] as const
export type MessageKind = (typeof messageKinds)[number]

export const messageStates = ['waiting', 'sent', 'failed', 'cancelled'] as const
export type MessageState = (typeof messageStates)[number]

/** What an e-mail is rendered from, as it is stored. Texts are plain unless named HTML. */
export interface MessageContent {
  /** The sending site, which supplies the colours; a group may have no sites. */
  siteId?: string | undefined
  siteName: string
  title?: string | undefined
  subtitle?: string | undefined
  signature?: string | undefined
  /** The main block, sanitised on receipt. */
  whiteBoxHtml?: string | undefined
  /** Replaces the template; sanitised on receipt. */
  customHtml?: string | undefined
  visitor?: { name: string; message: string; email?: string | undefined } | undefined
  /** In a notice to the owner. */
  submissions?: SubmissionSummary[] | undefined
  /** How many there are beyond the listed ones. */
  furtherSubmissions?: number | undefined
}

export interface SubmissionSummary {
  collection: string
  createdMs: number
  /** Whether it awaits approval. */
  waits: boolean
  fields: { name: string; text: string }[]
}
