import { isDeepStrictEqual } from 'node:util'
import { type Books, type OpenBooks, secondsOf } from './books.ts'
import { changeMetadata } from './checks.ts'
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
    marketing_features: [],
    metadata: changeMetadata({}, given.metadata),
    name: given.name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    tax_details: null,
    type: 'service',
    unit_label: null,
    updated: now,
    url: null,
  }
}

export async function findProduct(books: Books, id: string): Promise<Product> {
  const product = await books.find('product', id)
  if (!product) throw noSuch('product', id)
  return product
}

export async function createProduct(books: OpenBooks, given: ParameterTypes['ProductCreateParams']): Promise<Product> {
  const { id = newId('prod_', 14), default_price_data: priceData } = given
  if (await books.has(id)) throw refuse('id', `Product already exists: '${id}'`, 'resource_already_exists')
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
  const { description, images } = given
  const after: Product = {
    ...before,
    active: given.active ?? before.active,
    default_price: priceId ?? before.default_price,
    description: description === undefined ? before.description : description || null,
    images: images === undefined ? before.images : images || [],
    metadata: changeMetadata(before.metadata, given.metadata),
    name: given.name ?? before.name,
  }
  if (isDeepStrictEqual(before, after)) return before
  const updated = { ...after, updated: secondsOf(books) }
  await books.put('product', id, updated)
  await books.tell('product.updated', updated)
  return updated
}

export async function deleteProduct(books: OpenBooks, id: string) {
  const product = await findProduct(books, id)
  for await (const price of books.each('price'))
    if (price.product === id) throw new Refusal(400, 'This product cannot be deleted because it has prices.')
  await books.remove(id)
  await books.tell('product.deleted', product)
  return { id, object: 'product', deleted: true }
}
