import { type CataloguePrice, type CatalogueProduct, objectKeyOf, quoted, variantOf } from './catalogue.ts'
import { isVariantName } from './validate.ts'

/** A product of the provider's with its prices: part of a product of ours, or all of it. */
export interface Member {
  product: CatalogueProduct
  prices: CataloguePrice[]
}

interface UsablePrice extends CataloguePrice {
  unitAmount: string
}

/** What can be bought: a product at a price. Its variant is undefined where there is nothing to choose. */
export interface Offer {
  variant: string | undefined
  product: CatalogueProduct
  price: UsablePrice
}

export interface Offers {
  /** Variants in their order, or one offer without a variant, or none where nothing can be bought. */
  offers: Offer[]
  /** What was left out, in words. */
  problems: string[]
}

interface Dated {
  id: string
  createdMs: number
}

const oldestFirst = (one: Dated, other: Dated): number =>
  one.createdMs - other.createdMs || (one.id < other.id ? -1 : 1)

const isUsable = (price: CataloguePrice): price is UsablePrice => price.active && price.unitAmount !== null

/** Whether a product says of itself that it is a variant of something. */
const isPart = ({ product }: Member): boolean => variantOf(product) !== undefined

/** The product that others are variants of. It gives them what they share, and need not be one itself. */
export function parentOf(members: readonly Member[]): CatalogueProduct | undefined {
  return members.some(isPart) ? members.find((member) => !isPart(member))?.product : undefined
}

/** How much is looked at to make one product of ours. Nobody chooses among more, and each change looks at all of it. */
export const maxMembers = 1000
const maxPrices = 1000
/** A variant is sold at one of them. */
const maxPricesOfVariant = 100

/** How many prices are looked at of each product, where so many products are one of ours. */
export const priceLimitOf = (memberCount: number): number => (memberCount > 1 ? maxPricesOfVariant : maxPrices)

/** As much as is looked at, the first by their ids; a default price comes before all others. */
export function firstMembers(all: readonly Member[]): { members: Member[]; problems: string[] } {
  const limit = priceLimitOf(all.length)
  const members = all.toSorted((one, other) => byId(one.product, other.product)).slice(0, maxMembers)
  const crowded = members.filter(({ prices }) => prices.length > limit).map(({ product }) => product)
  return {
    members: members.map(({ product, prices }) => ({ product, prices: firstPrices(product, prices, limit) })),
    problems: [
      ...(all[0] && all.length > maxMembers
        ? [
            `More than ${maxMembers} products are variants of ${quoted(objectKeyOf(all[0].product))}: those beyond are left out.`,
          ]
        : []),
      ...crowded.map(({ id }) => `The product ${id} has more than ${limit} prices: those beyond are left out.`),
    ],
  }
}

const byId = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1)

function firstPrices({ defaultPriceId }: CatalogueProduct, prices: CataloguePrice[], limit: number): CataloguePrice[] {
  if (prices.length <= limit) return prices
  const isDefault = ({ id }: CataloguePrice): number => (id === defaultPriceId ? 0 : 1)
  return prices.toSorted((one, other) => isDefault(one) - isDefault(other) || byId(one, other)).slice(0, limit)
}

/** All products of the provider's that are one of ours, and what of them can be bought. */
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

/** The price at which a product is sold where there is nothing to choose. */
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

/** Several prices of one product, all paid once and in one currency, are variants of it. */
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

/** Products that say that they are variants of the same are one product, each a variant with one price. */
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
