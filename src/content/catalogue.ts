import { isStorableText } from './texts.ts'

/** A payment provider's catalogue, in our words: what is stored of it, and what products are made from. */

export interface CatalogueProduct {
  id: string
  name: string
  description: string | null
  active: boolean
  /** Addresses of pictures at the provider. */
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
  /** In the currency's smallest unit, as a decimal text; null where there is no fixed amount. */
  unitAmount: string | null
  /** How often it is paid, such as `month` or `3 months`; null where once. */
  interval: string | null
  nickname: string | null
  lookupKey: string | null
  metadata: Record<string, string>
  createdMs: number
}

/** Longer than any that was seen, and short enough for an index. */
const idPattern = /^[ -~]{1,255}$/
const maxKeyCharacters = 200

/** Whether a text can be an id of the provider's. By these things are looked for, so any database must take them. */
export const isProviderId = (text: string): boolean => idPattern.test(text)

/** What can be kept of what the provider has, and what cannot, in words. */
export interface Kept<Item> {
  items: Item[]
  problems: string[]
}

function keep<Item extends { id: string }>(items: readonly Item[], what: string, ids: (item: Item) => string[]) {
  const { kept = [], refused = [] } = Object.groupBy(items, (item) =>
    ids(item).every(isProviderId) ? 'kept' : 'refused',
  )
  const problems = refused.map(({ id }) => `The ${what} ${quoted(id)} is left out: it has an id that we cannot keep.`)
  return { items: kept, problems }
}

/** Something of the provider's in a message: short, and fit to be shown. */
export const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))

export const keptPrices = (prices: readonly CataloguePrice[]): Kept<CataloguePrice> =>
  keep(prices, 'price', ({ id, productId }) => [id, productId])

/** A default price is looked for, too; without one, another is taken. */
export function keptProducts(products: readonly CatalogueProduct[]): Kept<CatalogueProduct> {
  const { items, problems } = keep(products, 'product', ({ id }) => [id])
  const hasDefault = ({ defaultPriceId }: CatalogueProduct) => defaultPriceId !== null && isProviderId(defaultPriceId)
  return {
    items: items.map((product) => (hasDefault(product) ? product : { ...product, defaultPriceId: null })),
    problems,
  }
}

/** What a product says that it is a variant of; undefined where it says nothing, or nothing that can be a key. */
export function variantOf({ metadata }: Pick<CatalogueProduct, 'metadata'>): string | undefined {
  const key = metadata.variant_of
  return key && key.length <= maxKeyCharacters && isStorableText(key) ? key : undefined
}

/** Products that share this are variants of one. */
export const objectKeyOf = (product: Pick<CatalogueProduct, 'id' | 'metadata'>): string =>
  variantOf(product) ?? product.id

/** The address of the picture that is shown of a product. */
export const pictureOf = ({ images }: Pick<CatalogueProduct, 'images'>): string | undefined =>
  images.find(isStorableText)
