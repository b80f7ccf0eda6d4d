import { type Books, type OpenBooks, secondsOf } from './books.ts'
import { within } from './created.ts'
import { differences } from './differences.ts'
import { changeMetadata } from './metadata.ts'
import { newId, type Product } from './objects.ts'
import type { ParameterTypes } from './parameters.ts'
import { createPrice } from './prices.ts'
import { noSuch, Refusal, refuse } from './refusal.ts'

const mostImages = 8

export function makeProduct(given: ParameterTypes['ProductCreateParams'], id: string, now: number): Product {
  const { images = [] } = given
  if (images.length > mostImages) throw refuse('images', `A product can have ${mostImages} images at most.`)
  return {
    id,
    object: 'product',
    active: given.active ?? true,
    created: now,
    default_price: null,
    description: given.description ?? null,
    images,
    livemode: false,
    marketing_features: given.marketing_features ?? [],
    metadata: changeMetadata({}, given.metadata),
    name: given.name,
    package_dimensions: given.package_dimensions ?? null,
    shippable: given.shippable ?? null,
    statement_descriptor: given.statement_descriptor ?? null,
    tax_code: given.tax_code ?? null,
    tax_details: null,
    type: given.type ?? 'service',
    unit_label: given.unit_label ?? null,
    updated: now,
    url: given.url ?? null,
  }
}

export async function findProduct(books: Books, id: string): Promise<Product> {
  const product = await books.find('product', id)
  if (!product) throw noSuch('product', id)
  return product
}

export function listProducts(books: Books, query: ParameterTypes['ProductListParams']) {
  const { active, ids, shippable, type, url, created } = query
  return books.page(
    'product',
    query,
    (product) =>
      (active === undefined || product.active === active) &&
      (ids === undefined || ids.includes(product.id)) &&
      (shippable === undefined || product.shippable === shippable) &&
      (type === undefined || product.type === type) &&
      (url === undefined || product.url === url) &&
      within(created, product.created),
  )
}

export async function createProduct(books: OpenBooks, given: ParameterTypes['ProductCreateParams']): Promise<Product> {
  const { id = newId('prod_', 14), default_price_data: priceData } = given
  if (await books.findAny(id)) throw refuse('id', `Product already exists: '${id}'`, 'resource_already_exists')
  const product = makeProduct(given, id, secondsOf(books))
  await books.put('product', id, product)
  if (!priceData) {
    await books.tell('product.created', product)
    return product
  }
  const price = await createPrice(books, { ...priceData, product: id })
  const priced = { ...product, default_price: price.id }
  await books.put('product', id, priced)
  await books.tell('product.created', priced)
  return priced
}

export async function updateProduct(
  books: OpenBooks,
  id: string,
  given: ParameterTypes['ProductUpdateParams'],
): Promise<Product> {
  const before = await findProduct(books, id)
  const { default_price: priceId } = given
  if (priceId !== undefined) {
    const price = await books.find('price', priceId)
    if (price?.product !== id) throw noSuch('price', priceId, 'default_price', 400)
  }
  const { description, images, marketing_features: features, package_dimensions: dimensions, unit_label, url } = given
  const after: Product = {
    ...before,
    active: given.active ?? before.active,
    default_price: priceId ?? before.default_price,
    description: changed(before.description, description),
    images: images === undefined ? before.images : images || [],
    marketing_features: features === undefined ? before.marketing_features : features || [],
    metadata: changeMetadata(before.metadata, given.metadata),
    name: given.name ?? before.name,
    package_dimensions: changed(before.package_dimensions, dimensions),
    shippable: given.shippable ?? before.shippable,
    unit_label: changed(before.unit_label ?? null, unit_label),
    url: changed(before.url, url),
  }
  const previous = differences(before, after)
  if (!previous) return before
  const updated = { ...after, updated: secondsOf(books) }
  await books.put('product', id, updated)
  await books.tell('product.updated', updated, previous)
  return updated
}

/** What is not said stays; what is said to be nothing goes. */
const changed = <Value>(before: Value | null, given: Value | '' | null | undefined): Value | null =>
  given === undefined ? before : given || null

export async function deleteProduct(books: OpenBooks, id: string) {
  const product = await findProduct(books, id)
  for await (const price of books.each('price'))
    if (price.product === id) throw new Refusal(400, 'This product cannot be deleted because it has prices.')
  await books.remove(id)
  await books.tell('product.deleted', product)
  return { id, object: 'product', deleted: true }
}
