import { mainUnits } from './amounts.ts'
import { type CatalogueProduct, pictureOf, quoted, variantOf } from './catalogue.ts'
import type { MediaReference } from './media-uses.ts'
import { fieldNameProblem } from './parse-schema.ts'
import { firstMembers, type Member, type Offer, offersOf, parentOf } from './product-offers.ts'
import { maxMetadataFields, maxNameCharacters, productSchema } from './product-schema.ts'
import { isStorableText } from './texts.ts'

/** One of our products, derived from the provider's catalogue. */
export interface Projection {
  /** Undefined if nothing is on sale. */
  value: Record<string, unknown> | undefined
  /** The first messages about what was left out. */
  problems: string[]
  /** The pictures that it uses once they have been fetched. */
  imageUrls: string[]
}

/** Metadata that we interpret, and that therefore is not a field of the product. */
const consumedMetadata: ReadonlySet<string> = new Set(['variant', 'variant_of', 'variant_name', 'productType'])

/** Builds one of our products from the provider's products behind it and the pictures fetched so far. */
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

/** Variant → its value, in the order of the variants; undefined if none has one. */
function mapOf(offers: readonly Offer[], pick: Pick): Record<string, unknown> | undefined {
  const entries = offers
    .map((offer) => [offer.variant ?? '', pick(offer)] as const)
    .filter(([, item]) => item !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** A map if the product has variants, else one value. */
const perVariant = (offers: readonly Offer[], pick: Pick): unknown =>
  offers[0]?.variant === undefined ? offers.map(pick)[0] : mapOf(offers, pick)

/** A map only if the variants differ. */
function agreed(offers: readonly Offer[], pick: Pick): unknown {
  const items = offers.map(pick)
  return items.every((item) => item === items[0]) ? items[0] : mapOf(offers, pick)
}

/** All other metadata. What only the parent has applies to every variant. */
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

/** The metadata names that can be fields, up to the limit. */
function metadataNames(products: readonly CatalogueProduct[]): { names: string[]; problems: string[] } {
  const names = new Set<string>()
  const problems = new Set<string>()
  for (const name of eachMetadataName(products)) {
    if (consumedMetadata.has(name) || names.has(name)) continue
    if (names.size === maxMetadataFields) {
      problems.add(`Metadata is left out: a product has at most ${maxMetadataFields} fields of it.`)
      break
    }
    const problem = productSchema.has(name) ? `"${name}" is one of our own fields` : fieldNameProblem(name)
    if (problem === undefined) names.add(name)
    else problems.add(`metadata.${name} is left out: ${problem}.`)
  }
  return { names: [...names].toSorted(), problems: [...problems] }
}

function* eachMetadataName(products: readonly CatalogueProduct[]): Generator<string> {
  for (const { metadata } of products) yield* Object.keys(metadata)
}

const storable = (text: string | null | undefined): string | undefined =>
  text && isStorableText(text) ? text : undefined

/** A product needs a name, so characters that cannot be stored are replaced. */
export const shortName = ({ name }: CatalogueProduct): string =>
  name.slice(0, maxNameCharacters).toWellFormed().replaceAll('\0', '\ufffd')

/** Messages about texts of a product that are changed or left out. */
function textProblems(product: CatalogueProduct): string[] {
  const { id, name, description, metadata, images } = product
  const problems: string[] = []
  if (name.length > maxNameCharacters)
    problems.push(`The name of the product ${id} is truncated to ${maxNameCharacters} characters.`)
  if (!isStorableText(name))
    problems.push(`The name of the product ${id} contains characters that cannot be stored, which are replaced.`)
  if (storable(metadata.variant_of) !== undefined && variantOf(product) === undefined)
    problems.push(`The product ${id} is treated as a product of its own: its metadata.variant_of is too long.`)
  const leaveOut = (what: string) =>
    problems.push(`${what} of the product ${id} is left out: it contains a character that cannot be stored.`)
  if (!isStorableText(description ?? '')) leaveOut('The description')
  if (!images.every(isStorableText)) leaveOut('A picture')
  for (const [name, text] of Object.entries(metadata)) if (!isStorableText(text)) leaveOut(`metadata ${quoted(name)}`)
  return problems
}

const maxProblems = 50

/** Distinct problems, up to a readable number. */
export function fewProblems(problems: Iterable<string>): string[] {
  const different = [...new Set(problems)]
  const more = different.length - maxProblems
  return more > 0 ? [...different.slice(0, maxProblems), `${more} more problems.`] : different
}
