import { randomBytes } from 'node:crypto'
import type Stripe from 'stripe'

/** The version of the provider's API that the sandbox speaks: the one of the SDK that we use. */
export const apiVersion = '2026-10-28.endive'

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
export type LineItem = Omit<Stripe.LineItem, 'price'> & { price: Price }
export type Session = Omit<Stripe.Checkout.Session, 'line_items'>
export type WebhookEndpoint = Omit<Stripe.WebhookEndpoint, 'secret'>

/** What a payment is, as far as our callers look at it. */
export type PaymentIntent = Pick<
  Stripe.PaymentIntent,
  | 'id'
  | 'object'
  | 'amount'
  | 'amount_received'
  | 'created'
  | 'currency'
  | 'customer'
  | 'description'
  | 'last_payment_error'
  | 'livemode'
  | 'metadata'
  | 'payment_method_types'
  | 'receipt_email'
  | 'status'
>

export type Subscription = Pick<
  Stripe.Subscription,
  | 'id'
  | 'object'
  | 'cancel_at_period_end'
  | 'created'
  | 'currency'
  | 'customer'
  | 'description'
  | 'livemode'
  | 'metadata'
  | 'start_date'
  | 'status'
>

export interface Event extends Omit<Stripe.EventBase, 'type' | 'data'> {
  type: string
  data: { object: object; previous_attributes?: object }
}

/** A session with what it will become. */
export interface SessionRecord {
  session: Session
  lines: LineItem[]
  /** What was said of the payment or the subscription that it leads to. */
  payment: { description: string | null; receipt_email: string | null; metadata: Record<string, string> }
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
  payment_intent: PaymentIntent
  subscription: Subscription
  event: Event
  webhook_endpoint: WebhookEndpoint
  kept_answer: KeptAnswer
}
export type Kind = keyof Kinds

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** As the provider's ids look: what it is, and letters that nobody can guess. */
export const newId = (prefix: string, length = 24): string =>
  prefix + Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join('')
