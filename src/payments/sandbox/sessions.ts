import { hash } from 'node:crypto'
import { sessionOwner } from '../../content/checkout.ts'
import { countryOf } from '../../content/countries.ts'
import { isRecord } from '../../content/schema.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import { listSites } from '../../store/content/sites.ts'
import type { Group } from '../../store/control/groups.ts'
import { insertJob } from '../../store/jobs/jobs.ts'
import type { GroupStore } from '../../store/store.ts'
import { recordChange } from '../jobs.ts'
import { ProviderFailure, type SessionRequest } from '../provider.ts'
import {
  findObject,
  newId,
  type Payment,
  type Price,
  putObject,
  type Session,
  type SessionLine,
  type SessionRecord,
  type ShippingDetails,
  secondsOf,
} from './objects.ts'

const sessionLifeSeconds = 24 * 3600
const idempotencySeconds = 24 * 3600
const settleAfterMs = 3000
export const settleKind = 'sandbox.settle'

/** Lets a delayed payment succeed or fail. */
export interface SettleWork {
  integrationId: string
  sessionId: string
  succeeds: boolean
}

/** Paid at once, or by a bank debit that succeeds or fails later. */
export const paymentChoices = ['paid', 'paid-later', 'fails-later'] as const
export type PaymentChoice = (typeof paymentChoices)[number]

export interface Customer {
  email: string
  name: string | null
  shipping: ShippingDetails | null
}

/** The shop's name and country, from the session's site, else from the group's first one. */
export async function findShop(
  group: GroupStore,
  owner: Pick<Group, 'name'>,
  metadata: Record<string, string>,
): Promise<{ name: string; country: string | undefined }> {
  const sites = await listSites(group)
  const { siteId } = sessionOwner(metadata)
  const site = sites.find(({ id }) => id === siteId) ?? sites[0]
  const info = site?.settings.businessInfo
  const { name, address } = isRecord(info) ? info : {}
  const { country } = isRecord(address) ? address : {}
  return {
    name: (typeof name === 'string' && name) || site?.name || owner.name,
    country: typeof country === 'string' ? countryOf(country) : undefined,
  }
}

const refuse = (parameter: string, message: string): ProviderFailure =>
  new ProviderFailure('invalid', message, { parameter })

async function makeLine(
  group: GroupStore,
  integrationId: string,
  { price: priceId, quantity }: SessionRequest['lines'][number],
  parameter: string,
): Promise<{ line: SessionLine; price: Price }> {
  const price = await findObject(group, integrationId, 'price', priceId)
  if (!price) throw new ProviderFailure('unknown', `The sandbox has no price '${priceId}'.`, { parameter })
  const product = await findObject(group, integrationId, 'product', price.product)
  if (!price.active || !product?.active)
    throw refuse(parameter, `The price '${priceId}' is not on sale in the sandbox.`)
  const { unit_amount_decimal: unitAmount } = price
  if (unitAmount === null) throw refuse(parameter, `The price '${priceId}' has no fixed amount.`)
  const amount = Math.round(Number(unitAmount) * quantity)
  return { line: { id: newId('li_'), priceId, description: product.name, quantity, amount }, price }
}

/** Validates the lines, since our mirror may be older than the catalogue. */
async function makeLines(
  group: GroupStore,
  integrationId: string,
  { lines: wanted, mode }: SessionRequest,
): Promise<Pick<SessionRecord, 'lines' | 'prices'>> {
  const lines: SessionLine[] = []
  const priceById = new Map<string, Price>()
  for (const [index, each] of wanted.entries()) {
    const { line, price } = await makeLine(group, integrationId, each, `line_items[${index}][price]`)
    lines.push(line)
    priceById.set(price.id, price)
  }
  const prices = [...priceById.values()]
  if ((mode === 'subscription') !== prices.some(({ recurring }) => recurring !== null))
    throw refuse('mode', 'A subscription needs a recurring price; a one-time payment must not have one.')
  const currencies = new Set(prices.map(({ currency }) => currency))
  if (currencies.size > 1)
    throw refuse('currency', `All lines must have the same currency, not ${[...currencies].join(' and ')}.`)
  return { lines, prices }
}

export const checkoutPath = (integrationId: string, sessionId: string): string =>
  `/sandbox/checkout/${integrationId}/${sessionId}`

/** The same key returns the same session for a day. */
export async function createSession(
  writer: ContentWriter,
  integrationId: string,
  request: SessionRequest,
  options: { idempotencyKey: string; owner: Pick<Group, 'name'>; baseUrl: string },
): Promise<{ id: string; url: string }> {
  const { group, nowMs } = writer
  const answerId = `kept_${hash('sha256', options.idempotencyKey)}`
  const known = await findObject(group, integrationId, 'kept_answer', answerId)
  const now = secondsOf(nowMs)
  if (known && now - known.created < idempotencySeconds) return known.answer

  const { mode, metadata, successUrl, cancelUrl, shippingCountries, contactEmail = null } = request
  const { lines, prices } = await makeLines(group, integrationId, request)
  const displayName = request.businessName ?? (await findShop(group, options.owner, metadata)).name
  const id = newId('cs_test_', 58)
  const url = `${options.baseUrl}${checkoutPath(integrationId, id)}`
  const total = lines.reduce((sum, { amount }) => sum + amount, 0)
  const session: Session = {
    id,
    amount_subtotal: total,
    amount_total: total,
    branding_settings: { display_name: displayName },
    cancel_url: cancelUrl,
    collected_information: null,
    created: now,
    currency: prices[0]?.currency ?? '',
    customer_details: null,
    customer_email: contactEmail,
    expires_at: now + sessionLifeSeconds,
    metadata,
    mode,
    payment_intent: null,
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    shipping_address_collection: shippingCountries ? { allowed_countries: shippingCountries } : null,
    status: 'open',
    subscription: null,
    success_url: successUrl,
    url,
  }
  const payment: Payment =
    mode === 'subscription'
      ? { id: newId('sub_'), object: 'subscription', status: 'incomplete' }
      : { id: newId('pi_'), object: 'payment_intent', status: 'requires_payment_method' }
  await putObject(writer, integrationId, 'session', id, { session, lines, prices, payment })
  await putObject(writer, integrationId, 'kept_answer', answerId, { created: now, answer: { id, url } })
  return { id, url }
}

/** In its current state: an open session may have expired. */
export async function findSession(
  group: GroupStore,
  integrationId: string,
  id: string,
  nowMs: number,
): Promise<SessionRecord | undefined> {
  const record = await findObject(group, integrationId, 'session', id)
  if (record?.session.status !== 'open' || record.session.expires_at > secondsOf(nowMs)) return record
  return { ...record, session: { ...record.session, status: 'expired', url: null } }
}

const paymentStatuses = {
  payment_intent: { paid: 'succeeded', pending: 'processing', failed: 'requires_payment_method' },
  subscription: { paid: 'active', pending: 'incomplete', failed: 'incomplete_expired' },
} as const

const withStatus = (payment: Payment, status: 'paid' | 'pending' | 'failed'): Payment => ({
  ...payment,
  status: paymentStatuses[payment.object][status],
})

/** Records the customer's input and choice. Idempotent: a completed session does not change. */
export async function completeSession(
  writer: ContentWriter,
  integrationId: string,
  id: string,
  { email, name, shipping }: Customer,
  choice: PaymentChoice,
): Promise<Session | undefined> {
  const record = await findSession(writer.group, integrationId, id, writer.nowMs)
  if (record?.session.status !== 'open') return record?.session
  const isFree = record.session.payment_status === 'no_payment_required'
  const isPaid = isFree || choice === 'paid'
  const payment = withStatus(record.payment, isPaid ? 'paid' : 'pending')
  const session: Session = {
    ...record.session,
    collected_information: { shipping_details: shipping },
    customer_details: { email, name, phone: null },
    ...(payment.object === 'subscription' && { subscription: payment.id }),
    ...(payment.object === 'payment_intent' && !isFree && { payment_intent: payment.id }),
    payment_status: isFree ? 'no_payment_required' : isPaid ? 'paid' : 'unpaid',
    status: 'complete',
    url: null,
  }
  await putObject(writer, integrationId, 'session', id, { ...record, session, payment })
  await recordChange(writer, integrationId, { kind: 'session', id })
  if (!isPaid) {
    const payload: SettleWork = { integrationId, sessionId: id, succeeds: choice === 'paid-later' }
    await insertJob(writer, { kind: settleKind, payload, runAtMs: writer.nowMs + settleAfterMs })
  }
  return session
}

/** The outcome of a delayed payment. */
export async function settleSession(
  writer: ContentWriter,
  { integrationId, sessionId, succeeds }: SettleWork,
): Promise<void> {
  const record = await findObject(writer.group, integrationId, 'session', sessionId)
  if (record?.session.status !== 'complete' || record.session.payment_status !== 'unpaid') return
  const session: Session = { ...record.session, payment_status: succeeds ? 'paid' : 'unpaid' }
  const payment = withStatus(record.payment, succeeds ? 'paid' : 'failed')
  await putObject(writer, integrationId, 'session', sessionId, { ...record, session, payment })
  await recordChange(writer, integrationId, { kind: 'session', id: sessionId })
}
