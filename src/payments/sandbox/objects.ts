import { randomBytes } from 'node:crypto'
import type Stripe from 'stripe'

/** The SDK's types as they are sent: decimals are texts. */
export type Sent<Value> = Value extends string
  ? Value
  : Value extends Stripe.Decimal
    ? string
    : Value extends (infer Item)[]
      ? Sent<Item>[]
      : Value extends object
        ? { [Key in keyof Value]: Sent<Value[Key]> }
        : Value

export type Product = Omit<Stripe.Product, 'default_price'> & { default_price: string | null }
export type Price = Omit<Sent<Stripe.Price>, 'product'> & { product: string }
export type LineItem = Omit<Stripe.LineItem, 'price'> & { price: Price | null }
export type Session = Omit<Stripe.Checkout.Session, 'line_items'>
export type WebhookEndpoint = Omit<Stripe.WebhookEndpoint, 'secret'>

export interface Event extends Omit<Stripe.EventBase, 'type' | 'data'> {
  type: string
  data: { object: object }
}

/** What is bought in a session, with as little as it takes: there may be many lines. */
export interface KeptLine {
  id: string
  priceId: string
  description: string
  quantity: number
  amount: number
}

/** The payment or the subscription that a session leads to, as far as our callers look at it. */
export interface Payment {
  id: string
  object: 'payment_intent' | 'subscription'
  status: string
  description: string | null
  metadata: Record<string, string>
  /** Subscriptions have none. */
  receipt_email?: string | null
}

/** A session with what belongs to it. */
export interface SessionRecord {
  session: Session
  lines: KeptLine[]
  /** Of the lines, each once. */
  prices: Price[]
  payment: Payment
}

/** What was answered to a request under an idempotency key. */
export interface KeptAnswer {
  request: string
  requestId: string
  created: number
  answer: object
}

/** Everything that is remembered, by its kind. */
export interface Kinds {
  product: Product
  price: Price
  session: SessionRecord
  event: Event
  webhook_endpoint: WebhookEndpoint
  kept_answer: KeptAnswer
}
export type Kind = keyof Kinds

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** As the provider's ids look: what it is, and letters that nobody can guess. */
export const newId = (prefix: string, length = 24): string =>
  prefix + Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join('')

/** What the sandbox does later. */
export const eventKind = 'sandbox.event'
export const settleKind = 'sandbox.settle'

/** To tell of an event: of which kind, and about what, for who looks at the job. */
export interface EventWork {
  integrationId: string
  eventId: string
  type?: string
  about?: string
}

/** To let a payment that takes its time come in, or fail. */
export interface SettleWork {
  integrationId: string
  sessionId: string
  succeeds: boolean
}
