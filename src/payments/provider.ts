import type { CataloguePrice, CatalogueProduct } from '../content/catalogue.ts'
import type { OrderStatus, Purchase } from '../content/orders.ts'

export interface ProviderAccount {
  id: string
  name: string
  /** Whether real money moves. */
  live: boolean
}

export interface Page<Item> {
  items: Item[]
  /** The cursor of the next page; undefined after the last one. */
  next: string | undefined
}

/** The items of all pages; the first page may be given. */
export async function collectPages<Item>(
  readPage: (after: string | undefined) => Promise<Page<Item>>,
  first?: Page<Item>,
): Promise<Item[]> {
  let page = first ?? (await readPage(undefined))
  const items = [...page.items]
  while (page.next !== undefined) {
    page = await readPage(page.next)
    items.push(...page.items)
  }
  return items
}

export interface SessionRequest {
  mode: 'payment' | 'subscription'
  lines: { price: string; quantity: number }[]
  successUrl: string
  cancelUrl: string
  /** Countries to which goods ship; undefined if nothing is shipped. */
  shippingCountries?: string[]
  businessName?: string
  contactEmail?: string
  metadata: Record<string, string>
}

export interface CheckoutSession extends Purchase {
  id: string
  /** Null if it is not completed (yet). */
  status: OrderStatus | null
  metadata: Record<string, string>
  createdMs: number
}

/** One account at a payment provider. Its methods throw a `ProviderFailure`; pages have up to a hundred items. */
export interface Provider {
  /** Checks the key and returns its account. */
  verify(): Promise<ProviderAccount>
  listProducts(after: string | undefined): Promise<Page<CatalogueProduct>>
  /** Active prices. */
  listPrices(after: string | undefined): Promise<Page<CataloguePrice>>
  /** A product with its active prices; undefined if it does not exist (any more). */
  fetchProduct(id: string): Promise<{ product: CatalogueProduct; prices: CataloguePrice[] } | undefined>
  /** The product's id; undefined if the price is unknown. */
  findProductOfPrice(priceId: string): Promise<string | undefined>
  /** Idempotent: the same key returns the same session. */
  createSession(request: SessionRequest, idempotencyKey: string): Promise<{ id: string; url: string }>
  fetchSession(id: string): Promise<CheckoutSession | undefined>
  /** Completed sessions created since then. */
  listCompletedSessions(
    sinceMs: number,
    after: string | undefined,
  ): Promise<Page<Pick<CheckoutSession, 'id' | 'metadata'>>>
  registerWebhook(url: string): Promise<{ id: string; secret: string }>
  removeWebhook(id: string): Promise<void>
}

export interface ChangedObject {
  kind: 'product' | 'session'
  id: string
}

export interface ProviderEvent {
  id: string
  type: string
  live: boolean
  /** The object that changed; undefined if we do not store its kind. */
  concerns: ChangedObject | undefined
}

export type ProviderFailureKind =
  /** The provider could not be reached, or failed internally. */
  | 'unreachable'
  /** Rate limited. */
  | 'limited'
  /** The key is invalid or lacks a permission. */
  | 'refused'
  /** No such object. */
  | 'unknown'
  /** The request was rejected. */
  | 'invalid'

/** A failed call to a provider. The message contains no secret and may be shown. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
  readonly kind: ProviderFailureKind
  /** The rejected part of the request, if stated, such as `line_items[0][price]`. */
  readonly parameter: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    kind: ProviderFailureKind,
    message: string,
    options: { cause?: unknown; parameter?: string | undefined; retryAfterSeconds?: number | undefined } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.parameter = options.parameter
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
