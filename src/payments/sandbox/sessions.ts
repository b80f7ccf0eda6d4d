import { isEmailAddress } from '../../content/email.ts'
import { type Books, limitOf, type OpenBooks, type PageOf, type Paging, secondsOf } from './books.ts'
import { within } from './created.ts'
import { changeMetadata } from './metadata.ts'
import { type LineItem, newId, type Session, type SessionRecord } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { noSuch, notInSandbox, Refusal, refuse } from './refusal.ts'
import { makeLines } from './session-lines.ts'

type Given = ParameterTypes['SessionCreateParams']

const lifeSeconds = 24 * 3600
const shortestLifeSeconds = 30 * 60
const longestUrl = 5000
/** The provider gives away no more lines together with a session; the rest is listed. */
const linesTogether = 10

/** What would change the amounts or the page, and is not played here. */
const notPlayed = [
  'adaptive_pricing', 'after_expiration', 'automatic_tax', 'consent_collection', 'custom_fields', 'customer',
  'customer_account', 'discounts', 'managed_payments', 'optional_items', 'setup_intent_data', 'shipping_options',
] as const // biome-ignore format: a few lines read better

function checkUrl(param: string, url: string): void {
  const parsed = URL.parse(url.replaceAll('{CHECKOUT_SESSION_ID}', 'id'))
  if (url.length > longestUrl || !parsed || !['http:', 'https:'].includes(parsed.protocol))
    throw refuse(param, 'Not a valid URL', 'url_invalid')
}

function checkEmail(param: string, email: string | undefined): void {
  if (email !== undefined && !isEmailAddress(email))
    throw refuse(param, `Invalid email address: ${email}`, 'email_invalid')
}

/** What the parameters say of each other. */
function check(given: Given): { mode: 'payment' | 'subscription'; successUrl: string } {
  const { mode, ui_mode: uiMode = 'hosted_page', success_url: successUrl, cancel_url: cancelUrl } = given
  for (const name of notPlayed) if (given[name] !== undefined) throw notInSandbox(name)
  if (uiMode !== 'hosted_page') throw notInSandbox(`ui_mode ${uiMode}`)
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

function endOf({ expires_at: wanted }: Given, now: number): number {
  if (wanted === undefined) return now + lifeSeconds
  if (wanted < now + shortestLifeSeconds || wanted > now + lifeSeconds)
    throw refuse('expires_at', 'The `expires_at` timestamp must be between 30 minutes and 24 hours from now.')
  return wanted
}

export async function createSession(books: OpenBooks, given: Given, pageOf: (id: string) => string) {
  const { mode, successUrl } = check(given)
  const lines = await makeLines(books, given.line_items ?? [], mode)
  const now = secondsOf(books)
  const expiresAt = endOf(given, now)
  const id = newId('cs_test_', 58)
  const total = lines.reduce((sum, { amount_total: amount }) => sum + amount, 0)
  const { branding_settings: branding, shipping_address_collection: shipping, phone_number_collection: phone } = given
  const session: Session = {
    id,
    object: 'checkout.session',
    adaptive_pricing: null,
    after_expiration: null,
    allow_promotion_codes: given.allow_promotion_codes ?? null,
    allowed_payment_method_types: null,
    amount_subtotal: total,
    amount_total: total,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: given.billing_address_collection ?? null,
    branding_settings: {
      background_color: branding?.background_color || '#ffffff',
      border_style: branding?.border_style || 'rounded',
      button_color: branding?.button_color || '#0074d4',
      display_name: branding?.display_name ?? 'Sandbox',
      font_family: branding?.font_family || 'default',
      icon: null,
      logo: null,
    },
    cancel_url: given.cancel_url ?? null,
    client_reference_id: given.client_reference_id ?? null,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: now,
    currency: lines[0]?.currency ?? null,
    currency_conversion: null,
    custom_fields: [],
    custom_text: { after_submit: null, shipping_address: null, submit: null, terms_of_service_acceptance: null },
    customer: null,
    customer_account: null,
    customer_creation: given.customer_creation ?? (mode === 'payment' ? 'if_required' : 'always'),
    customer_details: null,
    customer_email: given.customer_email ?? null,
    discounts: [],
    expires_at: expiresAt,
    integration_identifier: given.integration_identifier ?? null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: given.locale ?? null,
    managed_payments: null,
    metadata: changeMetadata({}, given.metadata),
    mode,
    origin_context: given.origin_context ?? null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: given.payment_method_collection ?? 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    payment_status: total === 0 ? 'no_payment_required' : 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: phone?.enabled ?? false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: shipping ?? null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: given.submit_type ?? null,
    subscription: null,
    success_url: successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: pageOf(id),
    wallet_options: null,
  }
  const { description = null, metadata } = given.payment_intent_data ?? given.subscription_data ?? {}
  const param = mode === 'payment' ? 'payment_intent_data[metadata]' : 'subscription_data[metadata]'
  const payment = {
    description,
    receipt_email: given.payment_intent_data?.receipt_email ?? null,
    metadata: changeMetadata({}, metadata, param),
  }
  await books.put('session', id, { session, lines, payment })
  return withLines({ session, lines, payment }, given)
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

/** Lines are given away with a session only where they are asked for. */
export function withLines({ session, lines }: SessionRecord, { expand = [] }: { expand?: string[] }): object {
  if (!expand.some((path) => path.split('.').includes('line_items'))) return session
  return { ...session, line_items: asList(firstLines(lines), `${sessionsPath}/${session.id}/line_items`) }
}

const firstLines = (lines: LineItem[]): PageOf<LineItem> => ({
  items: lines.slice(0, linesTogether),
  hasMore: lines.length > linesTogether,
})

export const sessionsPath = '/v1/checkout/sessions'

export const asList = ({ items, hasMore }: PageOf<object>, url: string): object => ({
  object: 'list',
  data: items,
  has_more: hasMore,
  url,
})

export async function listSessions(books: Books, query: ParameterTypes['SessionListParams']): Promise<PageOf<object>> {
  const { created, status, payment_intent: intent, subscription, customer_details: customer } = query
  for (const name of ['customer', 'customer_account', 'payment_link'] as const)
    if (query[name] !== undefined) throw notInSandbox(name)
  const now = secondsOf(books)
  const matches = (record: SessionRecord): boolean => {
    const { session } = asOf(record, now)
    return (
      (status === undefined || session.status === status) &&
      (intent === undefined || session.payment_intent === intent) &&
      (subscription === undefined || session.subscription === subscription) &&
      (customer === undefined || session.customer_details?.email === customer.email) &&
      within(created, session.created)
    )
  }
  const { items, hasMore } = await books.page('session', query, matches)
  return { items: items.map((record) => withLines(asOf(record, now), query)), hasMore }
}

export async function listLines(books: Books, id: string, paging: Paging): Promise<PageOf<LineItem>> {
  const { lines } = await findSession(books, id)
  const limit = limitOf(paging)
  const { starting_after: after, ending_before: before } = paging
  const placeOf = (lineId: string, param: string): number => {
    const place = lines.findIndex((line) => line.id === lineId)
    if (place < 0) throw noSuch('item', lineId, param, 400)
    return place
  }
  if (before !== undefined) {
    const end = placeOf(before, 'ending_before')
    return { items: lines.slice(Math.max(0, end - limit), end), hasMore: end > limit }
  }
  const start = after === undefined ? 0 : placeOf(after, 'starting_after') + 1
  return { items: lines.slice(start, start + limit), hasMore: lines.length > start + limit }
}

export async function expireSession(books: OpenBooks, id: string): Promise<SessionRecord> {
  const record = await findSession(books, id)
  if (record.session.status !== 'open')
    throw new Refusal(
      400,
      `Only Checkout Sessions with a status in ["open"] can be expired. This one is ${record.session.status}.`,
    )
  const session: Session = { ...record.session, status: 'expired', url: null }
  const expired = { ...record, session }
  await books.put('session', id, expired)
  await books.tell('checkout.session.expired', session)
  return expired
}
