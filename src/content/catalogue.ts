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

/** Products that share this are variants of one. */
export const objectKeyOf = ({ id, metadata }: Pick<CatalogueProduct, 'id' | 'metadata'>): string =>
  metadata.variant_of || id
