import type Stripe from 'stripe'
import { insertJob } from '../../store/jobs.ts'
import type { OpenBooks } from './books.ts'
import { newId, type Payment, type Session, type SettleWork, settleKind } from './objects.ts'
import { findSession } from './sessions.ts'

/** How a customer pays: at once, or so that the money comes, or does not come, some time after. */
export const outcomes = ['paid', 'paid-later', 'fails-later'] as const
export type Outcome = (typeof outcomes)[number]

export interface Customer {
  email: string
  name: string | null
  shipping: Stripe.Checkout.Session.CollectedInformation.ShippingDetails | null
}

const settleAfterMs = 3000

/** What the provider calls it when the money has come, is on its way, or will not come. */
const statuses = {
  payment_intent: { paid: 'succeeded', pending: 'processing', failed: 'requires_payment_method' },
  subscription: { paid: 'active', pending: 'incomplete', failed: 'incomplete_expired' },
} as const

const withStatus = (payment: Payment, status: 'paid' | 'pending' | 'failed'): Payment => ({
  ...payment,
  status: statuses[payment.object][status],
})

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
  const paid = free || outcome === 'paid'
  const payment = withStatus(record.payment, paid ? 'paid' : 'pending')
  const subscribes = payment.object === 'subscription'
  const { email, name, shipping } = customer
  const session: Session = {
    ...record.session,
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
    ...(subscribes && { customer: newId('cus_', 14), subscription: payment.id }),
    ...(!subscribes && !free && { payment_intent: payment.id }),
    payment_status: free ? 'no_payment_required' : paid ? 'paid' : 'unpaid',
    status: 'complete',
    url: null,
  }
  await books.put('session', id, { ...record, session, payment })
  await books.tell('checkout.session.completed', session)
  if (!paid) {
    const payload: SettleWork = {
      integrationId: books.integrationId,
      sessionId: id,
      succeeds: outcome === 'paid-later',
    }
    await insertJob(books.writer, { kind: settleKind, payload, runAtMs: books.nowMs + settleAfterMs })
  }
  return session
}

/** The money that was to come later has come, or never will. */
export async function settleSession(books: OpenBooks, { sessionId, succeeds }: SettleWork): Promise<void> {
  const record = await books.find('session', sessionId)
  if (record?.session.status !== 'complete' || record.session.payment_status !== 'unpaid') return
  const session: Session = { ...record.session, payment_status: succeeds ? 'paid' : 'unpaid' }
  const payment = withStatus(record.payment, succeeds ? 'paid' : 'failed')
  await books.put('session', sessionId, { ...record, session, payment })
  await books.tell(`checkout.session.async_payment_${succeeds ? 'succeeded' : 'failed'}`, session)
}
