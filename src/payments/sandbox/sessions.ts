import { isEmailAddress } from '../../content/email.ts'
import { type Books, limitOf, type OpenBooks, type PageOf, type Paging, secondsOf } from './books.ts'
import { changeMetadata, checkUrl } from './checks.ts'
import type { Call } from './endpoints.ts'
import { type LineItem, newId, type Payment, type Session, type SessionRecord } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, notInSandbox, refuse } from './refusal.ts'
import { linesOf, makeLines } from './session-lines.ts'
import { findShop } from './shop.ts'

type Given = ParameterTypes['SessionCreateParams']
type Mode = 'payment' | 'subscription'

const lifeSeconds = 24 * 3600
/** The provider gives away no more lines together with a session; the rest is listed. */
const linesTogether = 10

function checkEmail(param: string, email: string | undefined): void {
  if (email !== undefined && !isEmailAddress(email))
    throw refuse(param, `Invalid email address: ${email}`, 'email_invalid')
}

/** What the parameters say of each other. */
function check(given: Given): { mode: Mode; successUrl: string } {
  const { mode, success_url: successUrl, cancel_url: cancelUrl } = given
  if (mode === undefined) throw refuse('mode', 'Missing required param: mode.', 'parameter_missing')
  if (mode !== 'payment' && mode !== 'subscription') throw notInSandbox(`mode ${mode}`)
  if (successUrl === undefined) throw refuse('success_url', 'Missing required param: success_url.', 'parameter_missing')
  checkUrl('success_url', successUrl)
  if (cancelUrl !== undefined) checkUrl('cancel_url', cancelUrl)
  checkEmail('customer_email', given.customer_email)
  checkEmail('payment_intent_data[receipt_email]', given.payment_intent_data?.receipt_email)
  if (mode === 'subscription' && given.payment_intent_data)
    throw refuse('payment_intent_data', 'You can not pass `payment_intent_data` in `subscription` mode.')
  if (mode === 'payment' && given.subscription_data)
    throw refuse('subscription_data', 'You can not pass `subscription_data` in `payment` mode.')
  return { mode: mode === 'payment' ? 'payment' : 'subscription', successUrl }
}

/** What a session leads to, as long as nobody has paid. */
function makePayment(mode: Mode, { payment_intent_data: ofIntent, subscription_data: ofSubscription }: Given): Payment {
  if (mode === 'subscription') {
    const { description = null, metadata } = ofSubscription ?? {}
    return {
      id: newId('sub_'),
      object: 'subscription',
      status: 'incomplete',
      description,
      metadata: changeMetadata({}, metadata, 'subscription_data[metadata]'),
    }
  }
  const { description = null, receipt_email = null, metadata } = ofIntent ?? {}
  return {
    id: newId('pi_'),
    object: 'payment_intent',
    status: 'requires_payment_method',
    description,
    receipt_email,
    metadata: changeMetadata({}, metadata, 'payment_intent_data[metadata]'),
  }
}

export async function createSession(
  books: OpenBooks,
  given: Given,
  { owner, pageOf }: Pick<Call, 'owner' | 'pageOf'>,
): Promise<Session> {
  const { mode, successUrl } = check(given)
  const { lines, prices } = await makeLines(books, given.line_items ?? [], mode)
  const payment = makePayment(mode, given)
  const metadata = changeMetadata({}, given.metadata)
  const { name: shopName } = await findShop(books.writer.group, owner, metadata)
  const now = secondsOf(books)
  const id = newId('cs_test_', 58)
  const total = lines.reduce((sum, { amount }) => sum + amount, 0)
  const session: Session = {
    id,
    object: 'checkout.session',
    adaptive_pricing: null,
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: total,
    amount_total: total,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    branding_settings: {
      background_color: '#ffffff',
      border_style: 'rounded',
      button_color: '#0074d4',
      display_name: given.branding_settings?.display_name ?? shopName,
      font_family: 'default',
      icon: null,
      logo: null,
    },
    cancel_url: given.cancel_url ?? null,
    client_reference_id: null,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: now,
    currency: prices[0]?.currency ?? null,
    currency_conversion: null,
    custom_fields: [],
    custom_text: { after_submit: null, shipping_address: null, submit: null, terms_of_service_acceptance: null },
    customer: null,
    customer_account: null,
    customer_creation: mode === 'payment' ? 'if_required' : 'always',
    customer_details: null,
    customer_email: given.customer_email ?? null,
    discounts: [],
    expires_at: now + lifeSeconds,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: null,
    managed_payments: null,
    metadata,
    mode,
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: given.shipping_address_collection ?? null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: pageOf(id),
    wallet_options: null,
  }
  await books.put('session', id, { session, lines, prices, payment })
  return session
}

/** As it stands now: one that was left alone has expired. */
function asOf(record: SessionRecord, now: number): SessionRecord {
  const { session } = record
  if (session.status !== 'open' || session.expires_at > now) return record
  return { ...record, session: { ...session, status: 'expired', url: null } }
}

export async function findSession(books: Books, id: string): Promise<SessionRecord> {
  const record = await books.find('session', id)
  if (!record) throw noSuch('checkout.session', id, 'session')
  return asOf(record, secondsOf(books))
}

export const sessionsPath = '/v1/checkout/sessions'

export const asList = ({ items, hasMore }: PageOf<object>, url: string): object => ({
  object: 'list',
  data: items,
  has_more: hasMore,
  url,
})

/** A session with what stands beside it, where that is asked for. */
export function expanded(record: SessionRecord, wanted: readonly string[] = []): object {
  const { session, payment } = record
  const parts: Record<string, () => unknown> = {
    line_items: () => asList(pageOfLines(linesOf(record), linesTogether), `${sessionsPath}/${session.id}/line_items`),
    payment_intent: () => session.payment_intent && payment,
    subscription: () => session.subscription && payment,
  }
  const found = wanted.map((name, index) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined
    if (!part) throw refuse(`expand[${index}]`, `This property cannot be expanded (${name}).`)
    return [name, part()]
  })
  return { ...session, ...Object.fromEntries(found) }
}

const pageOfLines = (lines: readonly LineItem[], limit: number): PageOf<LineItem> => ({
  items: lines.slice(0, limit),
  hasMore: lines.length > limit,
})

export async function listLines(books: Books, id: string, paging: Paging): Promise<PageOf<LineItem>> {
  const lines = linesOf(await findSession(books, id))
  const { starting_after: after } = paging
  const place = lines.findIndex((line) => line.id === after)
  if (after !== undefined && place < 0) throw noSuch('item', after, 'starting_after', 400)
  return pageOfLines(lines.slice(place + 1), limitOf(paging))
}

/** Whether a moment is what a list was asked for. */
function within(wanted: ParameterTypes['SessionListParams']['created'], moment: number): boolean {
  if (wanted === undefined) return true
  if (typeof wanted === 'number') return moment === wanted
  const { gt = -Infinity, gte = -Infinity, lt = Infinity, lte = Infinity } = wanted
  return moment > gt && moment >= gte && moment < lt && moment <= lte
}

export async function listSessions(books: Books, query: ParameterTypes['SessionListParams']): Promise<PageOf<Session>> {
  const { created, status } = query
  const now = secondsOf(books)
  const { items, hasMore } = await books.page('session', query, (record) => {
    const { session } = asOf(record, now)
    return (status === undefined || session.status === status) && within(created, session.created)
  })
  return { items: items.map((record) => asOf(record, now).session), hasMore }
}
