import type { CataloguePrice, CatalogueProduct } from '../../src/content/catalogue.ts'
import { type Provider, ProviderFailure } from '../../src/payments/provider.ts'

const itemsPerPage = 100

/** A moment of a call: before the provider reads its catalogue, and before the caller receives the result. */
export interface FakeCall {
  name: 'listProducts' | 'listPrices' | 'fetchProduct' | 'listCompletedSessions'
  argument: string | undefined
  moment: 'asked' | 'answered'
}

/** An in-memory payment provider whose catalogue the test changes. */
export interface FakeProvider extends Provider {
  products: Map<string, CatalogueProduct>
  prices: Map<string, CataloguePrice>
  /** Completed sessions. */
  sessions: { id: string; metadata: Record<string, string> }[]
  /** Every call that was answered, such as `fetchProduct prod_1`. */
  calls: string[]
  /** A hook at both moments of every call: may change the catalogue, wait, or throw. */
  onCall(call: FakeCall): void | Promise<void>
  /** Adds a product with its prices, the default price first. */
  put(product: Partial<CatalogueProduct> & { id: string }, ...prices: Partial<CataloguePrice>[]): void
  /** Removes a product and all its prices. */
  remove(productId: string): void
}

/** Ids of prices are derived from that of the product. */
export function fakePrice(productId: string, position: number, price: Partial<CataloguePrice>): CataloguePrice {
  return {
    id: `price_${productId}_${position}`,
    productId,
    active: true,
    currency: 'eur',
    unitAmount: '1000',
    interval: null,
    nickname: null,
    lookupKey: null,
    metadata: {},
    createdMs: position,
    ...price,
  }
}

export function fakeProduct(product: Partial<CatalogueProduct> & { id: string }): CatalogueProduct {
  return {
    name: `Product ${product.id}`,
    description: null,
    active: true,
    images: [],
    metadata: {},
    defaultPriceId: null,
    createdMs: 0,
    ...product,
  }
}

function pageOf<Item>(all: ReadonlyMap<string, Item>, isListed: (item: Item) => boolean, after: string | undefined) {
  if (after !== undefined && !all.has(after)) throw new ProviderFailure('unknown', `No such item: ${after}`)
  const ids = [...all]
    .filter(([, item]) => isListed(item))
    .map(([id]) => id)
    .toSorted()
  const rest = after === undefined ? ids : ids.filter((id) => id > after)
  const shown = rest.slice(0, itemsPerPage)
  const items = shown.flatMap((id) => all.get(id) ?? [])
  return { items: structuredClone(items), next: rest.length > itemsPerPage ? shown.at(-1) : undefined }
}

const notMade = async (): Promise<never> => {
  throw new Error('This provider does not do that.')
}

export function fakeProvider(): FakeProvider {
  const products = new Map<string, CatalogueProduct>()
  const prices = new Map<string, CataloguePrice>()

  async function answer<Result>(name: FakeCall['name'], argument: string | undefined, find: () => Result) {
    await provider.onCall({ name, argument, moment: 'asked' })
    const found = find()
    await provider.onCall({ name, argument, moment: 'answered' })
    provider.calls.push(argument === undefined ? name : `${name} ${argument}`)
    return found
  }

  const pricesOf = (productId: string): CataloguePrice[] =>
    [...prices.values()].filter((price) => price.productId === productId && price.active)

  const provider: FakeProvider = {
    products,
    prices,
    sessions: [],
    calls: [],
    onCall: () => {},
    put(product, ...given) {
      const made = given.map((price, position) => fakePrice(product.id, position + 1, price))
      for (const price of made) prices.set(price.id, price)
      products.set(product.id, fakeProduct({ defaultPriceId: made[0]?.id ?? null, ...product }))
    },
    remove(productId) {
      products.delete(productId)
      for (const price of [...prices.values()]) if (price.productId === productId) prices.delete(price.id)
    },
    verify: async () => ({ id: 'acct_fake', name: 'Fake', live: false }),
    listProducts: (after) => answer('listProducts', after, () => pageOf(products, () => true, after)),
    listPrices: (after) => answer('listPrices', after, () => pageOf(prices, ({ active }) => active, after)),
    fetchProduct: (id) =>
      answer('fetchProduct', id, () => {
        const product = products.get(id)
        return structuredClone(product && { product, prices: pricesOf(id) })
      }),
    findProductOfPrice: async (priceId) => prices.get(priceId)?.productId,
    listCompletedSessions: (_sinceMs, after) =>
      answer('listCompletedSessions', after, () => ({ items: [...provider.sessions], next: undefined })),
    createSession: notMade,
    fetchSession: notMade,
    registerWebhook: notMade,
    removeWebhook: notMade,
  }
  return provider
}
