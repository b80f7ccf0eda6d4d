import { randomBytes } from 'node:crypto'
import { findSandboxObject, iterateSandboxObjects, putSandboxObject } from '../../store/commerce/sandbox.ts'
import { type ContentWriter, writeContent } from '../../store/content/changes.ts'
import type { GroupStore } from '../../store/store.ts'
import { type Page, ProviderFailure } from '../provider.ts'

/**
 * What the sandbox stores: the fields of Stripe's objects that we read, under Stripe's names. Up to 0.6 the objects were
 * stored complete, so older rows have more fields than these.
 */
export interface Product {
  id: string
  active: boolean
  /** In seconds, like all times here. */
  created: number
  default_price: string | null
  description: string | null
  images: string[]
  metadata: Record<string, string>
  name: string
}

export interface Price {
  id: string
  active: boolean
  created: number
  currency: string
  lookup_key: string | null
  metadata: Record<string, string>
  nickname: string | null
  product: string
  recurring: { interval: 'day' | 'week' | 'month' | 'year'; interval_count: number } | null
  /** Null only in prices without a fixed amount stored by older versions. */
  unit_amount_decimal: string | null
}

export interface ShippingDetails {
  name: string
  address: {
    line1: string | null
    line2: string | null
    city: string | null
    state: string | null
    postal_code: string | null
    country: string | null
  }
}

export interface Session {
  id: string
  amount_subtotal: number
  amount_total: number
  branding_settings: { display_name: string } | null
  cancel_url: string | null
  collected_information: { shipping_details: ShippingDetails | null } | null
  created: number
  currency: string
  customer_details: { email: string | null; name: string | null; phone: string | null } | null
  customer_email: string | null
  expires_at: number
  metadata: Record<string, string>
  mode: 'payment' | 'subscription'
  payment_intent: string | null
  payment_status: 'no_payment_required' | 'paid' | 'unpaid'
  shipping_address_collection: { allowed_countries: string[] } | null
  status: 'open' | 'complete' | 'expired'
  subscription: string | null
  success_url: string
  url: string | null
}

export interface SessionLine {
  id: string
  priceId: string
  description: string
  quantity: number
  amount: number
}

/** The payment or the subscription that a session leads to. */
export interface Payment {
  id: string
  object: 'payment_intent' | 'subscription'
  status: string
}

export interface SessionRecord {
  session: Session
  lines: SessionLine[]
  /** The prices of the lines, each once. */
  prices: Price[]
  payment: Payment
}

/** The session that was created under an idempotency key. */
export interface StoredAnswer {
  created: number
  answer: { id: string; url: string }
}

interface Kinds {
  product: Product
  price: Price
  session: SessionRecord
  kept_answer: StoredAnswer
}
export type Kind = keyof Kinds

const pageSize = 100

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Like Stripe's ids: a prefix and unguessable characters. */
export const newId = (prefix: string, length = 24): string =>
  prefix + Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join('')

export const secondsOf = (ms: number): number => Math.floor(ms / 1000)

export async function findObject<K extends Kind>(
  group: GroupStore,
  integrationId: string,
  kind: K,
  id: string,
): Promise<Kinds[K] | undefined> {
  const found = await findSandboxObject(group, integrationId, id)
  return found?.kind === kind ? JSON.parse(found.data) : undefined
}

/** A page of the matching objects, newest first. */
export async function listObjects<K extends Kind>(
  group: GroupStore,
  integrationId: string,
  kind: K,
  after: string | undefined,
  matches: (item: Kinds[K]) => boolean = () => true,
): Promise<Page<Kinds[K]>> {
  const last = after === undefined ? undefined : await findSandboxObject(group, integrationId, after)
  if (after !== undefined && last?.kind !== kind) throw new ProviderFailure('unknown', `No such ${kind}: '${after}'`)
  const items: Kinds[K][] = []
  let lastId: string | undefined
  for await (const { id, data } of iterateSandboxObjects(group, integrationId, kind, last?.seq)) {
    const item: Kinds[K] = JSON.parse(data)
    if (!matches(item)) continue
    if (items.length === pageSize) return { items, next: lastId }
    items.push(item)
    lastId = id
  }
  return { items, next: undefined }
}

export const putObject = <K extends Kind>(
  writer: ContentWriter,
  integrationId: string,
  kind: K,
  id: string,
  value: Kinds[K],
): Promise<void> => putSandboxObject(writer, integrationId, { id, kind, data: JSON.stringify(value) })

/** Delivered content does not change, so nothing is recorded. */
export const writeSandbox = <Result>(
  group: GroupStore,
  nowMs: number,
  work: (writer: ContentWriter) => Promise<Result>,
): Promise<Result> =>
  writeContent(
    group,
    { author: { id: null, name: 'sandbox', address: '' }, verb: 'sandbox', nowMs, versionsKept: 0 },
    work,
  )
