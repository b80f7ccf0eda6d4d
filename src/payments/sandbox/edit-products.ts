import { smallestUnits } from '../../content/amounts.ts'
import { invalid, notFound } from '../../errors.ts'
import { notePicture } from '../../store/catalogue-pictures.ts'
import type { ContentWriter } from '../../store/changes.ts'
import { findMediaByKeys } from '../../store/media.ts'
import { type OpenBooks, openBooks } from './books.ts'
import type { Price } from './objects.ts'
import { createPrice, findPrice, updatePrice } from './prices.ts'
import { createProduct, findProduct, updateProduct } from './products.ts'
import { Refusal } from './refusal.ts'

/** What a person says of a product in the sandbox. What is left out stays. */
export interface ProductEdit {
  name?: string | undefined
  description?: string | undefined
  active?: boolean | undefined
  /** In the main unit, such as 5.50. */
  price?: string | undefined
  currency?: string | undefined
  interval?: NonNullable<Price['recurring']>['interval'] | undefined
  /** The key of a picture in the group's library; empty for none. */
  imageKey?: string | undefined
  metadata?: Record<string, string> | undefined
}

/** The address under which a picture of the library is known in the sandbox: nobody has to fetch it. */
async function imagesOf(writer: ContentWriter, key: string | undefined): Promise<{ images?: string[] }> {
  if (key === undefined) return {}
  if (key === '') return { images: [] }
  const [item] = await findMediaByKeys(writer.group, [key])
  if (item?.type !== 'image')
    throw invalid(`There is no picture with the key "${key}" in the library: upload it first.`)
  const url = `media:${key}`
  await notePicture(writer, url, { mediaId: item.id })
  return { images: [url] }
}

function priceOf({ price = '', interval }: ProductEdit, currency: string) {
  const amount = smallestUnits(currency, price)
  if (amount === undefined) throw invalid(`price has more decimals than ${currency} has.`)
  return { currency, unit_amount: amount, ...(interval && { recurring: { interval } }) }
}

/** What the sandbox refuses is the caller's mistake. */
async function inWords<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw error.status === 404 ? notFound(error.message) : invalid(error.message)
  }
}

/** Makes a product with its price, and answers its id at the sandbox. */
export function addProduct(
  writer: ContentWriter,
  integrationId: string,
  given: ProductEdit & { name: string; price: string; currency: string },
): Promise<string> {
  return inWords(async () => {
    const { name, description, metadata, currency } = given
    const product = await createProduct(openBooks(writer, integrationId), {
      name,
      ...(description !== undefined && { description }),
      ...(metadata && { metadata }),
      ...(await imagesOf(writer, given.imageKey)),
      default_price_data: priceOf(given, currency),
    })
    return product.id
  })
}

/** Another price takes the place of the one that it is sold at, which is then no longer in use. */
async function replacePrice(books: OpenBooks, productId: string, given: ProductEdit): Promise<void> {
  const { default_price: beforeId } = await findProduct(books, productId)
  const before = beforeId === null ? undefined : await findPrice(books, beforeId)
  const currency = given.currency ?? before?.currency
  if (currency === undefined) throw invalid('currency must be given: the product has no price yet.')
  const interval = given.interval ?? before?.recurring?.interval
  const { id } = await createPrice(books, { ...priceOf({ ...given, interval }, currency), product: productId })
  await updateProduct(books, productId, { default_price: id })
  if (beforeId !== null) await updatePrice(books, beforeId, { active: false })
}

export function editProduct(
  writer: ContentWriter,
  integrationId: string,
  productId: string,
  given: ProductEdit,
): Promise<void> {
  return inWords(async () => {
    const books = openBooks(writer, integrationId)
    const { name, description, active, metadata } = given
    await updateProduct(books, productId, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(active !== undefined && { active }),
      ...(metadata && { metadata }),
      ...(await imagesOf(writer, given.imageKey)),
    })
    if (given.price !== undefined) await replacePrice(books, productId, given)
    else if (given.currency !== undefined || given.interval !== undefined)
      throw invalid('currency and interval are of a price: give price, too.')
  })
}
