/** A message that is ready to go: its bytes, and the one address that it goes to. */
export interface Parcel {
  id: string
  groupId: string
  /** Who bounces come back to. */
  sender: string
  recipient: string
  raw: Buffer
}

/** Takes messages to where they are to go: a mail server, or the local mailbox. */
export interface Courier {
  /** Who it is, in a word: `smtp.example:587`. */
  name: string
  /**
   * Answers the server's words when it has taken the message; throws a `DeliveryFailure` where it has not. When the
   * signal aborts, the connection is cut at once: nothing goes on behind the caller's back.
   */
  deliver(parcel: Parcel, signal: AbortSignal): Promise<string>
  /** Takes nothing new; what is under way comes to its end. */
  close(): void
}

/** What came of it when a message was not taken. */
export class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure'
  /** Whether it is of no use to try again: the server has said no (5xx). */
  readonly isPermanent: boolean
  /** Whether the address itself is what the server does not know. */
  readonly refusesRecipient: boolean

  constructor(message: string, options: { isPermanent?: boolean; refusesRecipient?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.isPermanent = options.isPermanent ?? false
    this.refusesRecipient = options.refusesRecipient ?? false
  }
}
