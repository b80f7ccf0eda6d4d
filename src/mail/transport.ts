/** A composed message with its envelope. */
export interface OutgoingMail {
  id: string
  groupId: string
  /** Receives bounces. */
  sender: string
  recipient: string
  raw: Buffer
}

export interface DeliveryContext {
  /** Closes the connection at once when it aborts. */
  signal: AbortSignal
  /** Whether the lease is still valid; checked before and while the message is sent. */
  isOurs(): boolean
}

/** A mail server, or the local mailbox. */
export interface MailTransport {
  /** Such as `smtp.example:587`. */
  name: string
  /** Returns the server's reply when it has accepted the message; throws a `DeliveryFailure` otherwise. */
  deliver(mail: OutgoingMail, context: DeliveryContext): Promise<string>
  /** Deliveries in progress continue. */
  close(): void
}

type Consequences = Pick<DeliveryFailure, 'isPermanent' | 'refusesRecipient' | 'isTimeout'>

export class DeliveryFailure extends Error {
  override readonly name = 'DeliveryFailure'
  /** Whether a retry is useless: the server has refused the message (5xx). */
  readonly isPermanent: boolean
  /** Whether the server rejected the address as unknown. */
  readonly refusesRecipient: boolean
  readonly isTimeout: boolean

  constructor(message: string, options: Partial<Consequences> = {}) {
    super(message)
    this.isPermanent = options.isPermanent ?? false
    this.refusesRecipient = options.refusesRecipient ?? false
    this.isTimeout = options.isTimeout ?? false
  }
}
