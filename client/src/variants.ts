import { SluiceError } from './errors.ts'
import type { MediaValue, Variants } from './wire.ts'

/** The part of a product of `products.list` that these functions use. */
export interface Sellable {
  objectValue: {
    name: Variants<string>
    price: Variants<string>
    default_price: Variants<string>
    description?: Variants<string> | null
    productImage?: Variants<MediaValue> | null
    currency?: Variants<string> | null
  }
  usingVariant?: { name: string; values: string[] }
}

/** A unit of sale: a simple product, or a variant of a product. */
export interface Offer {
  /** Such as `Large`; undefined for a simple product. */
  variant: string | undefined
  name: string
  description: string | undefined
  /** Decimal amount in the currency's main unit, such as "4.50". */
  price: string
  /** ISO code, such as `cad`. */
  currency: string | undefined
  /** The `price` for `checkout.create`. */
  priceId: string
  /** For `imageProps`, `imageAttributes` and `pictureHtml`. */
  image: MediaValue | undefined
}

/** Whether the customer has to choose among variants. */
export function isVariant<Product extends Pick<Sellable, 'usingVariant'>>(
  product: Product,
): product is Product & Required<Pick<Sellable, 'usingVariant'>> {
  return product.usingVariant !== undefined
}

/** All offers of a product, in the order of its variants; one for a simple product. */
export function variantsOf(product: Sellable): Offer[] {
  const { name, description, price, currency, default_price, productImage } = product.objectValue
  return variantNames(product).flatMap((variant) => {
    const amount = textOf(price, variant)
    const priceId = textOf(default_price, variant)
    if (amount === undefined || priceId === undefined) return [] // without a price it cannot be bought
    return {
      variant,
      name: textOf(name, variant) ?? '',
      description: textOf(description, variant),
      price: amount,
      currency: textOf(currency, variant),
      priceId,
      image: imageOf(productImage, variant),
    }
  })
}

/** The offer of a simple product, or of the chosen variant: its amount and price id. */
export function priceOf(product: Sellable, variant?: string): Offer {
  const offers = variantsOf(product)
  const found = offers.find((offer) => offer.variant === variant)
  if (found) return found
  throw new SluiceError(problemOf(product, offers, variant), { code: 'InvalidArgument' })
}

function problemOf(product: Sellable, offers: Offer[], variant: string | undefined): string {
  if (!isVariant(product)) return variant === undefined ? 'The product has no price' : 'The product has no variants'
  const names = offers.map((offer) => JSON.stringify(offer.variant)).join(', ')
  const asked = variant === undefined ? 'A variant must be named' : `There is no variant ${JSON.stringify(variant)}`
  return `${asked}: the product has ${names}`
}

const variantNames = (product: Sellable): (string | undefined)[] =>
  isVariant(product) ? product.usingVariant.values : [undefined]

type Optional<Value> = Value | null | undefined

/** A field with the same value for all variants may be plain. */
const textOf = (field: Optional<Variants<string>>, variant: string | undefined): string | undefined =>
  typeof field === 'string' ? field : entryOf(field, variant)

const imageOf = (field: Optional<Variants<MediaValue>>, variant: string | undefined): MediaValue | undefined =>
  isMedia(field) ? field : entryOf(field, variant)

/** Own properties only: a variant may be called `constructor`. */
const entryOf = <Value>(map: Optional<{ [variant: string]: Value }>, variant: string | undefined): Value | undefined =>
  map && variant !== undefined && Object.hasOwn(map, variant) ? map[variant] : undefined

/** A variant may be called `currentFile`; its value is then a media value, without `source`. */
function isMedia(field: Optional<Variants<MediaValue>>): field is MediaValue {
  const file = field?.currentFile
  return typeof file === 'object' && file !== null && 'source' in file && typeof file.source === 'string'
}
