import { mainUnits } from './amounts.ts'
import type { CatalogueProduct } from './catalogue.ts'
import type { MediaReference } from './media-values.ts'
import { type Member, type Offer, offersOf, parentOf } from './product-offers.ts'
import { maxNameCharacters, productSchema } from './product-schema.ts'
import { fieldNameProblem } from './schema.ts'

/** A product of ours as the provider's catalogue gives it. */
export interface Projection {
  /** Undefined where nothing of it can be bought. */
  value: Record<string, unknown> | undefined
  /** What could not be taken over, in words. */
  problems: string[]
  /** The pictures that it shows, as soon as they are there. */
  imageUrls: string[]
}

/** What these mean to us is not a field of the product. */
const consumedMetadata: ReadonlySet<string> = new Set(['variant', 'variant_of', 'variant_name', 'productType'])

/** One product of ours, made of the provider's products that are part of it and the pictures that we have. */
export function projectProduct(members: readonly Member[], pictures: ReadonlyMap<string, MediaReference>): Projection {
  const { offers, problems } = offersOf(members)
  const [first] = offers
  if (!first) return { value: undefined, problems, imageUrls: [] }
  const parent = parentOf(members)
  const products = [...(parent ? [parent] : []), ...offers.map(({ product }) => product)]
  const imageOf = ({ product }: Offer): string | undefined => product.images[0] ?? parent?.images[0]
  const metadata = projectMetadata(offers, parent)
  const value = {
    name: perVariant(offers, ({ product }) => shortName(product)),
    price: perVariant(offers, ({ price }) => mainUnits(price.currency, price.unitAmount)),
    description: perVariant(offers, ({ product }) => product.description || undefined),
    productImage: perVariant(offers, (offer) => {
      const picture = pictures.get(imageOf(offer) ?? '')
      return picture && { ...picture, alt: shortName(offer.product) }
    }),
    default_price: perVariant(offers, ({ price }) => price.id),
    productType: firstText(products, 'productType'),
    currency: agreed(offers, ({ price }) => price.currency),
    interval: agreed(offers, ({ price }) => price.interval ?? undefined),
    ...(first.variant !== undefined && { variantName: firstText(products, 'variant_name') ?? 'variant' }),
    ...metadata.fields,
  }
  return {
    value: Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)),
    problems: [...problems, ...products.flatMap(nameProblems), ...metadata.problems].filter(isFirst),
    imageUrls: offers.flatMap((offer) => imageOf(offer) ?? []).filter(isFirst),
  }
}

const isFirst = <Item>(item: Item, position: number, all: readonly Item[]): boolean => all.indexOf(item) === position

const shortName = ({ name }: CatalogueProduct): string => name.slice(0, maxNameCharacters).toWellFormed()

const nameProblems = ({ id, name }: CatalogueProduct): string[] =>
  name.length > maxNameCharacters ? [`The name of the product ${id} is cut after ${maxNameCharacters} characters.`] : []

const firstText = (products: readonly CatalogueProduct[], key: string): string | undefined =>
  products.map(({ metadata }) => metadata[key]).find((text) => text)

type Pick = (offer: Offer) => unknown

/** What each variant has, in the order of the variants; undefined where none has it. */
function mapOf(offers: readonly Offer[], pick: Pick): Record<string, unknown> | undefined {
  const entries = offers
    .map((offer) => [offer.variant ?? '', pick(offer)] as const)
    .filter(([, item]) => item !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** A map on every product that has variants, and one value on every other. */
const perVariant = (offers: readonly Offer[], pick: Pick): unknown =>
  offers[0]?.variant === undefined ? offers.map(pick)[0] : mapOf(offers, pick)

/** A map only where the variants differ. */
function agreed(offers: readonly Offer[], pick: Pick): unknown {
  const items = offers.map(pick)
  return items.every((item) => item === items[0]) ? items[0] : mapOf(offers, pick)
}

/** Whatever else is noted on the products. What only the parent has is true of all. */
function projectMetadata(offers: readonly Offer[], parent: CatalogueProduct | undefined) {
  const products = [...(parent ? [parent] : []), ...offers.map(({ product }) => product)]
  const names = products.flatMap(({ metadata }) => Object.keys(metadata)).filter((name) => !consumedMetadata.has(name))
  const fields: Record<string, unknown> = {}
  const problems: string[] = []
  for (const name of names.filter(isFirst).toSorted()) {
    const problem = productSchema.has(name) ? `"${name}" is a field that we fill ourselves` : fieldNameProblem(name)
    if (problem === undefined) {
      fields[name] = agreed(offers, ({ product }) => product.metadata[name] || undefined) ?? parent?.metadata[name]
    } else {
      problems.push(`metadata.${name} is left out: ${problem}.`)
    }
  }
  return { fields, problems }
}
