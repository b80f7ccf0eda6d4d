/** A message that is ready to go: its bytes, and the one address that it goes to. */
export interface OutgoingMail {
  id: string
  groupId: string
  /** Who bounces come back to. */
  sender: string
  recipient: string
  raw: Buffer
}

/** For how long a message is ours to deliver. */
export interface DeliveryContext {
  /** When it aborts, the connection is cut at once: nothing goes on behind the caller's back. */
  signal: AbortSignal
  /** Asked when the message is about to be handed over, and before it is complete. If not, it never will be. */
  isOurs(): boolean
}

/** Takes messages to where they are to go: a mail server, or the local mailbox. */
export interface MailTransport {
  /** Who it is, in a word: `smtp.example:587`. */
  name: string
  /** Answers the server's words when it has taken the message; throws a `DeliveryFailure` where it has not. */
  deliver(parcel: OutgoingMail, errand: DeliveryContext): Promise<string>
  /** Keeps nothing open any more; what is under way comes to its end. */
  close(): void
}

type Consequences = Pick<DeliveryFailure, 'isPermanent' | 'refusesRecipient' | 'isTimeout'>

/** What came of it when a message was not taken. */
export class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure'
  /** Whether it is of no use to try again: the server has said no (5xx). */
  readonly isPermanent: boolean
  /** Whether the address itself is what the server does not know. */
  readonly refusesRecipient: boolean
  /** Whether the server let us wait for too long. So it would others. */
  readonly isTimeout: boolean

  constructor(message: string, options: Partial<Consequences> = {}) {
    super(message)
    this.isPermanent = options.isPermanent ?? false
    this.refusesRecipient = options.refusesRecipient ?? false
    this.isTimeout = options.isTimeout ?? false
  }
}
