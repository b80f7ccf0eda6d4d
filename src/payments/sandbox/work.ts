/** What the sandbox does later. */

export const eventKind = 'sandbox.event'
export const settleKind = 'sandbox.settle'

/** To tell of an event. */
export interface EventWork {
  integrationId: string
  eventId: string
}

/** To let a payment that takes its time come in, or fail. */
export interface SettleWork {
  integrationId: string
  sessionId: string
  succeeds: boolean
}
