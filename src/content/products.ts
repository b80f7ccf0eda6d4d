import { mainUnits } from './amounts.ts'
import { type CatalogueProduct, pictureOf } from './catalogue.ts'
import type { MediaReference } from './media-uses.ts'
import { firstMembers, type Member, type Offer, offersOf, parentOf } from './product-offers.ts'
import { maxMetadataFields, productSchema } from './product-schema.ts'
import { fewProblems, shortName, storable, textProblems } from './product-texts.ts'
import { fieldNameProblem } from './schema.ts'

/** A product of ours as the provider's catalogue gives it. */
export interface Projection {
  /** Undefined where nothing of it can be bought. */
  value: Record<string, unknown> | undefined
  /** What could not be taken over, in words: the first of it. */
  problems: string[]
  /** The pictures that it shows, as soon as they are there. */
  imageUrls: string[]
}

/** What these mean to us is not a field of the product. */
const consumedMetadata: ReadonlySet<string> = new Set(['variant', 'variant_of', 'variant_name', 'productType'])

/** One product of ours, made of the provider's products that are part of it and the pictures that we have. */
export function projectProduct(all: readonly Member[], pictures: ReadonlyMap<string, MediaReference>): Projection {
  const { members, problems: tooMany } = firstMembers(all)
  const { offers, problems } = offersOf(members)
  const [first] = offers
  if (!first) return { value: undefined, problems: fewProblems([...tooMany, ...problems]), imageUrls: [] }
  const parent = parentOf(members)
  const products = [...new Set([...(parent ? [parent] : []), ...offers.map(({ product }) => product)])]
  const imageOf = ({ product }: Offer): string | undefined => pictureOf(product) ?? (parent && pictureOf(parent))
  const metadata = projectMetadata(offers, products, parent)
  const value = {
    name: perVariant(offers, ({ product }) => shortName(product)),
    price: perVariant(offers, ({ price }) => mainUnits(price.currency, price.unitAmount)),
    description: perVariant(offers, ({ product }) => storable(product.description)),
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
    problems: fewProblems([...tooMany, ...problems, ...products.flatMap(textProblems), ...metadata.problems]),
    imageUrls: [...new Set(offers.flatMap((offer) => imageOf(offer) ?? []))],
  }
}

const firstText = (products: readonly CatalogueProduct[], key: string): string | undefined =>
  products.map(({ metadata }) => storable(metadata[key])).find((text) => text !== undefined)

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
function projectMetadata(
  offers: readonly Offer[],
  products: readonly CatalogueProduct[],
  parent: CatalogueProduct | undefined,
) {
  const { names, problems } = metadataNames(products)
  const fieldOf = (name: string) =>
    agreed(offers, ({ product }) => storable(product.metadata[name])) ?? storable(parent?.metadata[name])
  return { fields: Object.fromEntries(names.map((name) => [name, fieldOf(name)])), problems }
}

/** What can be fields, as many as there is room for. */
function metadataNames(products: readonly CatalogueProduct[]): { names: string[]; problems: string[] } {
  const names = new Set<string>()
  const problems = new Set<string>()
  for (const name of eachMetadataName(products)) {
    if (consumedMetadata.has(name) || names.has(name)) continue
    if (names.size === maxMetadataFields) {
      problems.add(`Metadata is left out: a product has at most ${maxMetadataFields} fields of it.`)
      break
    }
    const problem = productSchema.has(name) ? `"${name}" is a field that we fill ourselves` : fieldNameProblem(name)
    if (problem === undefined) names.add(name)
    else problems.add(`metadata.${name} is left out: ${problem}.`)
  }
  return { names: [...names].toSorted(), problems: [...problems] }
}

function* eachMetadataName(products: readonly CatalogueProduct[]): Generator<string> {
  for (const { metadata } of products) yield* Object.keys(metadata)
}
