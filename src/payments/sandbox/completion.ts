import type Stripe from 'stripe'
import { insertJob } from '../../store/jobs.ts'
import { type OpenBooks, secondsOf } from './books.ts'
import { newId, type PaymentIntent, type Session, type SessionRecord, type Subscription } from './objects.ts'
import { findSession } from './sessions.ts'
import { type SettleWork, settleKind } from './work.ts'

/** How a customer pays: at once, or so that the money comes, or does not come, some time after. */
export const outcomes = ['paid', 'paid-later', 'fails-later'] as const
export type Outcome = (typeof outcomes)[number]

export interface Customer {
  email: string
  name: string | null
  shipping: Stripe.Checkout.Session.CollectedInformation.ShippingDetails | null
}

const settleAfterMs = 3000

/** What the customer entered, and what became of it. A session is completed once: a second time changes nothing. */
export async function completeSession(
  books: OpenBooks,
  id: string,
  customer: Customer,
  outcome: Outcome,
): Promise<Session> {
  const record = await findSession(books, id)
  if (record.session.status !== 'open') return record.session
  const free = record.session.payment_status === 'no_payment_required'
  const paid = outcome === 'paid'
  const { email, name, shipping } = customer
  const session: Session = {
    ...record.session,
    ...(await pay(books, record, paid || free)),
    collected_information: { business_name: null, individual_name: null, shipping_details: shipping },
    customer_details: {
      address: shipping?.address ?? null,
      business_name: null,
      email,
      individual_name: null,
      name,
      phone: null,
      tax_exempt: 'none',
      tax_ids: [],
    },
    payment_status: free ? 'no_payment_required' : paid ? 'paid' : 'unpaid',
    status: 'complete',
    url: null,
  }
  await books.put('session', id, { ...record, session })
  await books.tell('checkout.session.completed', session)
  if (!paid && !free) {
    const payload: SettleWork = {
      integrationId: books.integrationId,
      sessionId: id,
      succeeds: outcome === 'paid-later',
    }
    await insertJob(books.writer, { kind: settleKind, payload, runAtMs: books.nowMs + settleAfterMs })
  }
  return session
}

/** Makes the payment, or the subscription, that a session leads to. */
async function pay(
  books: OpenBooks,
  { session, payment }: SessionRecord,
  paid: boolean,
): Promise<Pick<Session, 'payment_intent' | 'subscription' | 'customer'>> {
  const common = {
    created: secondsOf(books),
    currency: session.currency ?? '',
    description: payment.description,
    livemode: false,
    metadata: payment.metadata,
  }
  if (session.mode === 'subscription') {
    const customer = newId('cus_', 14)
    const subscription: Subscription = {
      ...common,
      id: newId('sub_'),
      object: 'subscription',
      cancel_at_period_end: false,
      customer,
      start_date: common.created,
      status: paid ? 'active' : 'incomplete',
    }
    await books.put('subscription', subscription.id, subscription)
    return { payment_intent: null, subscription: subscription.id, customer }
  }
  const amount = session.amount_total ?? 0
  if (amount === 0) return { payment_intent: null, subscription: null, customer: null }
  const intent: PaymentIntent = {
    ...common,
    id: newId('pi_'),
    object: 'payment_intent',
    amount,
    amount_received: paid ? amount : 0,
    customer: null,
    last_payment_error: null,
    payment_method_types: ['card'],
    receipt_email: payment.receipt_email,
    status: paid ? 'succeeded' : 'processing',
  }
  await books.put('payment_intent', intent.id, intent)
  return { payment_intent: intent.id, subscription: null, customer: null }
}

/** The money that was to come later has come, or never will. */
export async function settleSession(books: OpenBooks, { sessionId, succeeds }: SettleWork): Promise<void> {
  const record = await books.find('session', sessionId)
  if (record?.session.status !== 'complete' || record.session.payment_status !== 'unpaid') return
  const { payment_intent: intentId, subscription: subscriptionId } = record.session
  const intent = typeof intentId === 'string' ? await books.find('payment_intent', intentId) : undefined
  if (intent) {
    const settled = succeeds
      ? { status: 'succeeded', amount_received: intent.amount }
      : { status: 'requires_payment_method' }
    await books.put('payment_intent', intent.id, { ...intent, ...settled })
  }
  const subscription = typeof subscriptionId === 'string' ? await books.find('subscription', subscriptionId) : undefined
  if (subscription)
    await books.put('subscription', subscription.id, {
      ...subscription,
      status: succeeds ? 'active' : 'incomplete_expired',
    })
  const session: Session = { ...record.session, payment_status: succeeds ? 'paid' : 'unpaid' }
  await books.put('session', sessionId, { ...record, session })
  await books.tell(`checkout.session.async_payment_${succeeds ? 'succeeded' : 'failed'}`, session)
}
