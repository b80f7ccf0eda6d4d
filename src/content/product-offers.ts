import { type CataloguePrice, type CatalogueProduct, objectKeyOf, quoted, variantOf } from './catalogue.ts'
import { isVariantName } from './validate.ts'

/** One of the provider's products with its prices: all of one of our products, or a variant of it. */
export interface Member {
  product: CatalogueProduct
  prices: CataloguePrice[]
}

interface UsablePrice extends CataloguePrice {
  unitAmount: string
}

/** A product at a price. `variant` is undefined if there is nothing to choose. */
export interface Offer {
  variant: string | undefined
  product: CatalogueProduct
  price: UsablePrice
}

export interface Offers {
  /** The variants in order, or one offer without a variant, or nothing if nothing is on sale. */
  offers: Offer[]
  /** Messages about what was left out. */
  problems: string[]
}

interface Dated {
  id: string
  createdMs: number
}

const oldestFirst = (one: Dated, other: Dated): number =>
  one.createdMs - other.createdMs || (one.id < other.id ? -1 : 1)

const isUsable = (price: CataloguePrice): price is UsablePrice => price.active && price.unitAmount !== null

/** Whether a product declares itself a variant of another. */
const isPart = ({ product }: Member): boolean => variantOf(product) !== undefined

/** The product of which the others are variants. It supplies what they share, and need not be a variant itself. */
export const parentOf = (members: readonly Member[]): CatalogueProduct | undefined =>
  members.some(isPart) ? members.find((member) => !isPart(member))?.product : undefined

/** Limits of the input of one product, since every change reads all of it. */
export const maxMembers = 1000
const maxPrices = 1000
/** A variant is sold at one of them. */
const maxPricesOfVariant = 100

/** How many prices of each member are read. */
export const priceLimitOf = (memberCount: number): number => (memberCount > 1 ? maxPricesOfVariant : maxPrices)

/** The members and prices within the bounds, in the order of their ids; a default price comes first. */
export function firstMembers(all: readonly Member[]): { members: Member[]; problems: string[] } {
  const limit = priceLimitOf(all.length)
  const members = all.toSorted((one, other) => byId(one.product, other.product)).slice(0, maxMembers)
  const crowded = members.filter(({ prices }) => prices.length > limit).map(({ product }) => product)
  return {
    members: members.map(({ product, prices }) => ({ product, prices: firstPrices(product, prices, limit) })),
    problems: [
      ...(all[0] && all.length > maxMembers
        ? [
            `More than ${maxMembers} products are variants of ${quoted(objectKeyOf(all[0].product))}: the rest are left out.`,
          ]
        : []),
      ...crowded.map(({ id }) => `The product ${id} has more than ${limit} prices: the rest are left out.`),
    ],
  }
}

const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1)

function firstPrices({ defaultPriceId }: CatalogueProduct, prices: CataloguePrice[], limit: number): CataloguePrice[] {
  if (prices.length <= limit) return prices
  const isDefault = ({ id }: CataloguePrice): number => (id === defaultPriceId ? 0 : 1)
  return prices.toSorted((one, other) => isDefault(one) - isDefault(other) || byId(one, other)).slice(0, limit)
}

/** The offers of one of our products, from the provider's products behind it. */
export function offersOf(members: readonly Member[]): Offers {
  const active = members
    .filter(({ product }) => product.active)
    .toSorted(({ product: one }, { product: other }) => oldestFirst(one, other))
  const found = members.some(isPart) ? variantsOfProducts(active) : joined(active.map(offersOfProduct))
  return { offers: found.offers, problems: [...active.flatMap(problemsOfPrices), ...found.problems] }
}

const joined = (parts: readonly Offers[]): Offers => ({
  offers: parts.flatMap(({ offers }) => offers),
  problems: parts.flatMap(({ problems }) => problems),
})

const problemsOfPrices = ({ prices }: Member): string[] =>
  prices
    .filter(({ active, unitAmount }) => active && unitAmount === null)
    .map(({ id }) => `The price ${id} has no fixed amount and is left out.`)

const usablePrices = ({ prices }: Member): UsablePrice[] => prices.filter(isUsable).toSorted(oldestFirst)

/** The price of a product that has no variants. */
function mainPrice({ defaultPriceId }: CatalogueProduct, usable: readonly UsablePrice[]): UsablePrice | undefined {
  return (
    usable.find(({ id }) => id === defaultPriceId) ?? usable.find(({ interval }) => interval === null) ?? usable.at(0)
  )
}

function offersOfProduct(member: Member): Offers {
  const { product } = member
  const usable = usablePrices(member)
  const main = mainPrice(product, usable)
  if (!main) return { offers: [], problems: [`The product ${product.id} has no price that can be used.`] }
  const variants = variantsOfPrices(product, usable)
  if (variants.offers.length > 1) return variants
  return { offers: [{ variant: undefined, product, price: main }], problems: otherPrices(product, usable, main) }
}

const otherPrices = ({ id: productId }: CatalogueProduct, usable: readonly UsablePrice[], main: UsablePrice) =>
  usable
    .filter(({ id }) => id !== main.id)
    .map(({ id }) => `The price ${id} is left out: the product ${productId} is sold at ${main.id}.`)

const variantOfPrice = ({ metadata, nickname, lookupKey }: CataloguePrice): string =>
  metadata.variant || nickname || lookupKey || ''

/** Several one-time prices of a product in one currency are its variants. */
function variantsOfPrices(product: CatalogueProduct, usable: readonly UsablePrice[]): Offers {
  const currency = (usable.find(({ id }) => id === product.defaultPriceId) ?? usable.at(0))?.currency
  const offers = new Map<string, Offer>()
  const problems: string[] = []
  for (const price of usable) {
    const variant = variantOfPrice(price)
    const problem =
      (price.interval !== null && 'it recurs, and the others do not') ||
      (price.currency !== currency && `its currency is not ${currency}`) ||
      (variant === '' && 'it has neither metadata.variant, nor a nickname, nor a lookup key') ||
      nameProblem(variant, offers)
    if (problem) problems.push(`The price ${price.id} is left out: ${problem}.`)
    else offers.set(variant, { variant, product, price })
  }
  return { offers: [...offers.values()], problems }
}

function nameProblem(variant: string, taken: ReadonlyMap<string, Offer>): string | undefined {
  if (!isVariantName(variant)) return `"${variant.slice(0, 100).toWellFormed()}" cannot be the name of a variant`
  return taken.has(variant) ? `there is another variant "${variant}"` : undefined
}

/** Products with the same `variant_of` are one product; each is a variant with one price. */
function variantsOfProducts(active: readonly Member[]): Offers {
  const offers = new Map<string, Offer>()
  const problems: string[] = []
  for (const member of active) {
    const { product } = member
    const { id, name } = product
    const usable = usablePrices(member)
    const price = mainPrice(product, usable)
    if (!isPart(member) && !product.metadata.variant) {
      if (price) problems.push(`The product ${id} is not sold by itself: others are variants of it.`)
      continue
    }
    const variant = product.metadata.variant || name
    const problem = price ? nameProblem(variant, offers) : 'it has no price that can be used'
    if (!price || problem !== undefined) {
      problems.push(`The product ${id} is left out: ${problem}.`)
      continue
    }
    if (!product.metadata.variant) problems.push(`The product ${id} has no metadata.variant: its name is used.`)
    problems.push(...otherPrices(product, usable, price))
    offers.set(variant, { variant, product, price })
  }
  return { offers: [...offers.values()], problems }
}
