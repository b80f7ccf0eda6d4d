/** What e-mails are about, and what they are made of. */

export const messageKinds = ['contact', 'order', 'notice'] as const
export type MessageKind = (typeof messageKinds)[number]

export const messageStates = ['waiting', 'sent', 'failed', 'cancelled'] as const
export type MessageState = (typeof messageStates)[number]

/** What the words of an e-mail are made of, as it is kept. Texts are plain unless they are said to be markup. */
export interface MessageContent {
  /** The site in whose name and colours it is sent; a group without sites has none. */
  siteId?: string | undefined
  /** How the site is called in it. */
  siteName: string
  title?: string | undefined
  subtitle?: string | undefined
  signature?: string | undefined
  /** Markup of the main block; it was made safe when it came in. */
  whiteBoxHtml?: string | undefined
  /** Markup in place of the template; it was made safe when it came in. */
  customHtml?: string | undefined
  /** What a visitor wrote. */
  visitor?: { name: string; message: string; email?: string | undefined } | undefined
  /** What visitors sent in, for the owner: a few lines about each. */
  submissions?: SubmissionSummary[] | undefined
  /** How many more there were than are listed. */
  furtherSubmissions?: number | undefined
}

export interface SubmissionSummary {
  collection: string
  createdMs: number
  /** Whether somebody has to approve it. */
  waits: boolean
  fields: { name: string; text: string }[]
}
