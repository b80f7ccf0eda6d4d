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
  /** Where the next page begins; undefined after the last one. */
  next: string | undefined
}

export interface SessionRequest {
  mode: 'payment' | 'subscription'
  lines: { price: string; quantity: number }[]
  successUrl: string
  cancelUrl: string
  /** Where goods can be sent; undefined where nothing is sent. */
  shippingCountries?: string[]
  businessName?: string
  contactEmail?: string
  metadata: Record<string, string>
}

/** What a customer did at the provider's checkout. */
export interface CheckoutSession extends Purchase {
  id: string
  /** Null where it was not completed (yet). */
  status: OrderStatus | null
  metadata: Record<string, string>
  createdMs: number
}

/** One account at a payment provider. What goes wrong there is thrown as a `ProviderFailure`. */
export interface Provider {
  /** Asks whose key it is. */
  verify(): Promise<ProviderAccount>
  /** All products, a hundred at a time. */
  listProducts(after: string | undefined): Promise<Page<CatalogueProduct>>
  /** The prices that are in use, a hundred at a time. */
  listPrices(after: string | undefined): Promise<Page<CataloguePrice>>
  /** A product with the prices of it that are in use; undefined where there is none (any more). */
  fetchProduct(id: string): Promise<{ product: CatalogueProduct; prices: CataloguePrice[] } | undefined>
  /** Whose price it is; undefined where the provider does not know it. */
  findProductOfPrice(priceId: string): Promise<string | undefined>
  /** The same key gives the same session, however often it is asked for. */
  createSession(request: SessionRequest, idempotencyKey: string): Promise<{ id: string; url: string }>
  fetchSession(id: string): Promise<CheckoutSession | undefined>
  /** The sessions made since then that were completed, a hundred at a time. */
  listCompletedSessions(
    sinceMs: number,
    after: string | undefined,
  ): Promise<Page<Pick<CheckoutSession, 'id' | 'metadata'>>>
  /** Makes the provider call us when something changes. */
  registerWebhook(url: string): Promise<{ id: string; secret: string }>
  removeWebhook(id: string): Promise<void>
}

/** What an event is about. */
export interface ChangedObject {
  kind: 'product' | 'session'
  id: string
}

/** What the provider calls us about. */
export interface ProviderEvent {
  id: string
  type: string
  live: boolean
  /** Undefined where it is nothing that we store. */
  concerns: ChangedObject | undefined
}

export type ProviderFailureKind =
  /** It could not be reached, or failed itself. */
  | 'unreachable'
  /** It asks us to slow down. */
  | 'limited'
  /** It does not accept our key, or the key may not do this. */
  | 'refused'
  /** It does not know what we named. */
  | 'unknown'
  /** It does not accept what we asked for. */
  | 'invalid'

/** The provider could not or would not do it. The message names no secret, and may be shown. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
  readonly kind: ProviderFailureKind
  /** Of the request's part that it complains about, where it says so, such as `line_items[0][price]`. */
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
