import type Stripe from 'stripe'
import { mainUnits } from '../../content/amounts.ts'
import type { CataloguePrice, CatalogueProduct } from '../../content/catalogue.ts'
import type { OrderStatus, PurchaseLine, ShippingDetails } from '../../content/orders.ts'
import type { CheckoutSession, Page } from '../provider.ts'

/** Converts Stripe's objects to ours. The types name the fields that are read, which are all that the sandbox stores. */

type Reference = string | { id: string }
type StripeSession = Stripe.Checkout.Session

type ProductFields = Pick<
  Stripe.Product,
  'id' | 'active' | 'created' | 'description' | 'images' | 'metadata' | 'name'
> & {
  default_price?: Reference | null
}

type PriceFields = Pick<
  Stripe.Price,
  'id' | 'active' | 'created' | 'currency' | 'lookup_key' | 'metadata' | 'nickname'
> &
  Partial<Pick<Stripe.Price, 'billing_scheme' | 'custom_unit_amount'>> & {
    product: Reference
    recurring: Pick<Stripe.Price.Recurring, 'interval' | 'interval_count'> | null
    unit_amount_decimal: { toString(): string } | null
  }

type SessionFields = Pick<
  StripeSession,
  | 'id'
  | 'amount_subtotal'
  | 'amount_total'
  | 'created'
  | 'currency'
  | 'customer_email'
  | 'metadata'
  | 'mode'
  | 'payment_status'
  | 'status'
> & {
  collected_information: Pick<Stripe.Checkout.Session.CollectedInformation, 'shipping_details'> | null
  customer_details: Pick<Stripe.Checkout.Session.CustomerDetails, 'email' | 'name' | 'phone'> | null
  payment_intent: string | { id: string; status: string } | null
  subscription: string | { id: string; status: string } | null
}

type LineFields = Pick<Stripe.LineItem, 'amount_total' | 'currency' | 'description' | 'quantity'> & {
  price: { id: string; product: Reference } | null
}

/** Stripe refers to another object by its id, or embeds it. */
const idOf = (reference: Reference): string => (typeof reference === 'string' ? reference : reference.id)
const idOrNull = (reference: Reference | null | undefined): string | null => (reference ? idOf(reference) : null)

export function pageOf<Item extends { id: string }, Ours>(
  { data, has_more }: Stripe.ApiList<Item>,
  convert: (item: Item) => Ours,
): Page<Ours> {
  return { items: data.map(convert), next: has_more ? data.at(-1)?.id : undefined }
}

export const accountNameOf = ({ settings, business_profile, email }: Stripe.Account): string =>
  settings?.dashboard.display_name || business_profile?.name || email || ''

export const productOf = (product: ProductFields): CatalogueProduct => ({
  id: product.id,
  name: product.name,
  description: product.description,
  active: product.active,
  images: product.images,
  metadata: product.metadata,
  defaultPriceId: idOrNull(product.default_price),
  createdMs: product.created * 1000,
})

export const priceOf = (price: PriceFields): CataloguePrice => ({
  id: price.id,
  productId: idOf(price.product),
  active: price.active,
  currency: price.currency,
  unitAmount: fixedAmountOf(price),
  interval: price.recurring && intervalOf(price.recurring),
  nickname: price.nickname,
  lookupKey: price.lookup_key,
  metadata: price.metadata,
  createdMs: price.created * 1000,
})

/** Null if the customer chooses the amount, or if it depends on the quantity. */
const fixedAmountOf = ({ billing_scheme, custom_unit_amount, unit_amount_decimal }: PriceFields): string | null =>
  billing_scheme === 'tiered' || custom_unit_amount ? null : (unit_amount_decimal?.toString() ?? null)

const intervalOf = ({ interval, interval_count }: NonNullable<PriceFields['recurring']>): string =>
  interval_count === 1 ? interval : `${interval_count} ${interval}s`

export function sessionOf(session: SessionFields, lineItems: readonly LineFields[]): CheckoutSession {
  const { customer_details: customer } = session
  const currency = session.currency ?? ''
  const isSubscription = session.mode === 'subscription'
  return {
    id: session.id,
    status: statusOf(session),
    mode: isSubscription ? 'subscription' : 'payment',
    currency,
    subtotal: mainUnits(currency, String(session.amount_subtotal ?? 0)),
    total: mainUnits(currency, String(session.amount_total ?? 0)),
    email: customer?.email ?? session.customer_email,
    name: customer?.name ?? null,
    phone: customer?.phone ?? null,
    shipping: shippingOf(session),
    lines: lineItems.map(lineOf),
    metadata: session.metadata ?? {},
    paymentId: idOrNull(isSubscription ? session.subscription : session.payment_intent),
    createdMs: session.created * 1000,
  }
}

/** Of a payment that failed or was cancelled, and of a subscription whose first invoice was not paid. */
const failedStatuses: readonly string[] = [
  ...['requires_payment_method', 'canceled'],
  ...['past_due', 'unpaid', 'incomplete_expired'],
]

/** Some payment methods take days: their outcome is that of the payment intent or subscription. */
function statusOf({ status, payment_status, payment_intent, subscription }: SessionFields): OrderStatus | null {
  if (status !== 'complete') return null
  if (payment_status === 'paid' || payment_status === 'no_payment_required') return 'paid'
  const payment = payment_intent ?? subscription
  return payment && typeof payment === 'object' && failedStatuses.includes(payment.status) ? 'failed' : 'pending'
}

function shippingOf({ collected_information }: SessionFields): ShippingDetails | null {
  const details = collected_information?.shipping_details
  if (!details) return null
  const { line1, line2, city, state, postal_code: postalCode, country } = details.address
  return { name: details.name, address: { line1, line2, city, state, postalCode, country } }
}

const lineOf = ({ description, price, quantity, currency, amount_total }: LineFields): PurchaseLine => ({
  description: description ?? '',
  priceId: idOrNull(price),
  productId: idOrNull(price?.product),
  quantity: quantity ?? 1,
  amount: mainUnits(currency, String(amount_total)),
})
