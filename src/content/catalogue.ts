import { isStorableText } from './texts.ts'

/** A payment provider's catalogue in our own model: what we store of it, and build products from. */

export interface CatalogueProduct {
  id: string
  name: string
  description: string | null
  active: boolean
  /** URLs of pictures at the provider. */
  images: string[]
  metadata: Record<string, string>
  defaultPriceId: string | null
  createdMs: number
}

export interface CataloguePrice {
  id: string
  productId: string
  active: boolean
  /** Lower-case ISO code. */
  currency: string
  /** In the currency's smallest unit, as a decimal string; null if the amount is not fixed. */
  unitAmount: string | null
  /** The billing interval, such as `month` or `3 months`; null for a one-time price. */
  interval: string | null
  nickname: string | null
  lookupKey: string | null
  metadata: Record<string, string>
  createdMs: number
}

/** Longer than any id seen so far, and short enough for an index. */
const idPattern = /^[ -~]{1,255}$/
const maxKeyCharacters = 200

/** Whether a text can be a provider's id. Ids are lookup keys, so every database must be able to store them. */
export const isProviderId = (text: string): boolean => idPattern.test(text)

/** The provider's items that we can store, and messages about the others. */
export interface Kept<Item> {
  items: Item[]
  problems: string[]
}

function keep<Item extends { id: string }>(items: readonly Item[], what: string, ids: (item: Item) => string[]) {
  const { kept = [], refused = [] } = Object.groupBy(items, (item) =>
    ids(item).every(isProviderId) ? 'kept' : 'refused',
  )
  const problems = refused.map(({ id }) => `The ${what} ${quoted(id)} is left out: it has an id that cannot be stored.`)
  return { items: kept, problems }
}

/** The provider's text in a message: short and escaped. */
export const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))

export const keptPrices = (prices: readonly CataloguePrice[]): Kept<CataloguePrice> =>
  keep(prices, 'price', ({ id, productId }) => [id, productId])

/** An unusable default price becomes null: another price is then chosen. */
export function keptProducts(products: readonly CatalogueProduct[]): Kept<CatalogueProduct> {
  const { items, problems } = keep(products, 'product', ({ id }) => [id])
  const hasDefault = ({ defaultPriceId }: CatalogueProduct) => defaultPriceId !== null && isProviderId(defaultPriceId)
  return {
    items: items.map((product) => (hasDefault(product) ? product : { ...product, defaultPriceId: null })),
    problems,
  }
}

/** The `variant_of` of a product's metadata; undefined if it is missing or cannot be a key. */
export function variantOf({ metadata }: Pick<CatalogueProduct, 'metadata'>): string | undefined {
  const key = metadata.variant_of
  return key && key.length <= maxKeyCharacters && isStorableText(key) ? key : undefined
}

/** Products with the same key are variants of one object. */
export const objectKeyOf = (product: Pick<CatalogueProduct, 'id' | 'metadata'>): string =>
  variantOf(product) ?? product.id

/** The URL of the picture that represents a product. */
export const pictureOf = ({ images }: Pick<CatalogueProduct, 'images'>): string | undefined =>
  images.find(isStorableText)
