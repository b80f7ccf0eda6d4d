import { isDeepStrictEqual } from 'node:util'
import { smallestUnits } from '../../content/amounts.ts'
import { invalid, notFound } from '../../core/errors.ts'
import { savePicture } from '../../store/commerce/mirror.ts'
import { addSandboxObjects } from '../../store/commerce/sandbox.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import { findMediaByKeys } from '../../store/media/items.ts'
import type { GroupStore } from '../../store/store.ts'
import { recordChange } from '../jobs.ts'
import { findObject, newId, type Price, type Product, putObject, secondsOf, writeSandbox } from './objects.ts'

const maxMetadataKeys = 50
const maxMetadataKeyLength = 40
const maxMetadataValueLength = 500
const maxUnitAmount = 99_999_999

/** A product with its prices, under given ids; the first price is the default. */
export interface SeedProduct {
  product: Pick<Product, 'id' | 'name'> & Partial<Pick<Product, 'active' | 'description' | 'images' | 'metadata'>>
  prices: readonly SeedPrice[]
}

export interface SeedPrice extends Pick<Price, 'id' | 'currency'>, Partial<Pick<Price, 'active' | 'nickname'>> {
  /** In the smallest unit of the currency. */
  unit_amount: number
  recurring?: { interval: NonNullable<Price['recurring']>['interval'] }
}

/** An edit of a product. Omitted parts stay. */
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

function makeProduct(given: SeedProduct['product'], nowMs: number, defaultPrice: string | null): Product {
  const { id, name, active = true, description = null, images = [], metadata = {} } = given
  const created = secondsOf(nowMs)
  return { id, active, created, default_price: defaultPrice, description, images, metadata, name }
}

function makePrice({ id, active = true, nickname = null, ...given }: SeedPrice, product: string, nowMs: number): Price {
  const amount = given.unit_amount
  if (amount > maxUnitAmount) throw invalid(`The amount must be no more than ${maxUnitAmount}.`)
  return {
    id,
    active,
    created: secondsOf(nowMs),
    currency: given.currency.toLowerCase(),
    lookup_key: null,
    metadata: {},
    nickname,
    product,
    recurring: given.recurring ? { ...given.recurring, interval_count: 1 } : null,
    unit_amount_decimal: String(amount),
  }
}

/** Fills a sandbox account without notifying the mirror. The last product is the newest. */
export async function seedSandbox(
  group: GroupStore,
  integrationId: string,
  seeds: readonly SeedProduct[],
  nowMs: number,
): Promise<void> {
  const products = seeds.map(({ product, prices }) => makeProduct(product, nowMs, prices[0]?.id ?? null))
  const prices = seeds.flatMap((seed) => seed.prices.map((price) => makePrice(price, seed.product.id, nowMs)))
  const rowsOf = (objects: readonly { id: string }[]) =>
    objects.map((object) => ({ id: object.id, data: JSON.stringify(object) }))
  await writeSandbox(group, nowMs, async (writer) => {
    await addSandboxObjects(writer, integrationId, 'product', rowsOf(products))
    await addSandboxObjects(writer, integrationId, 'price', rowsOf(prices))
  })
}

/** Omitted names stay; an empty text removes a name. */
function mergeMetadata(before: Record<string, string>, given: Record<string, string> = {}): Record<string, string> {
  const merged = Object.entries({ ...before, ...given }).filter(([, value]) => value !== '')
  if (merged.length > maxMetadataKeys) throw invalid(`Metadata can have at most ${maxMetadataKeys} keys.`)
  for (const [key, value] of merged) {
    if (key.length > maxMetadataKeyLength)
      throw invalid(`Metadata keys can have at most ${maxMetadataKeyLength} characters; this one is longer: ${key}`)
    if (value.length > maxMetadataValueLength)
      throw invalid(`Metadata values can have at most ${maxMetadataValueLength} characters.`)
  }
  return Object.fromEntries(merged)
}

/** The URL of a picture in the library is a reference, which needs no fetch. */
async function imagesOf(writer: ContentWriter, key: string): Promise<string[]> {
  if (key === '') return []
  const [item] = await findMediaByKeys(writer.group, [key])
  if (item?.type !== 'image')
    throw invalid(`There is no picture with the key "${key}" in the library: upload it first.`)
  const url = `media:${key}`
  await savePicture(writer, url, { mediaId: item.id })
  return [url]
}

async function addPrice(
  writer: ContentWriter,
  integrationId: string,
  productId: string,
  { price = '', currency, interval }: Pick<ProductEdit, 'price' | 'interval'> & { currency: string },
): Promise<string> {
  const amount = smallestUnits(currency, price)
  if (amount === undefined) throw invalid(`price has more decimals than ${currency} has.`)
  const id = newId('price_')
  const seed = { id, currency, unit_amount: amount, ...(interval && { recurring: { interval } }) }
  await putObject(writer, integrationId, 'price', id, makePrice(seed, productId, writer.nowMs))
  return id
}

/** Adds a product with its price, and returns the product's id in the sandbox. */
export async function addProduct(
  writer: ContentWriter,
  integrationId: string,
  given: ProductEdit & { name: string; price: string; currency: string },
): Promise<string> {
  const id = newId('prod_', 14)
  const { name, description = null, imageKey = '' } = given
  const metadata = mergeMetadata({}, given.metadata)
  const images = await imagesOf(writer, imageKey)
  const priceId = await addPrice(writer, integrationId, id, given)
  const product = makeProduct({ id, name, description, metadata, images }, writer.nowMs, priceId)
  await putObject(writer, integrationId, 'product', id, product)
  await recordChange(writer, integrationId, { kind: 'product', id })
  return id
}

/** Replaces the product's default price; the old one becomes inactive. */
async function replacePrice(
  writer: ContentWriter,
  integrationId: string,
  { id, default_price: beforeId }: Product,
  edit: ProductEdit,
): Promise<string> {
  const before = beforeId === null ? undefined : await findObject(writer.group, integrationId, 'price', beforeId)
  const currency = edit.currency ?? before?.currency
  if (currency === undefined) throw invalid('currency must be given: the product has no price yet.')
  const interval = edit.interval ?? before?.recurring?.interval
  const priceId = await addPrice(writer, integrationId, id, { ...edit, currency, interval })
  if (before) await putObject(writer, integrationId, 'price', before.id, { ...before, active: false })
  return priceId
}

export async function editProduct(
  writer: ContentWriter,
  integrationId: string,
  id: string,
  edit: ProductEdit,
): Promise<void> {
  const before = await findObject(writer.group, integrationId, 'product', id)
  if (!before) throw notFound(`No such product: '${id}'`)
  if (edit.price === undefined && (edit.currency !== undefined || edit.interval !== undefined))
    throw invalid('currency and interval belong to a price: give price as well.')
  const after: Product = {
    ...before,
    name: edit.name ?? before.name,
    description: edit.description === undefined ? before.description : edit.description || null,
    active: edit.active ?? before.active,
    metadata: mergeMetadata(before.metadata, edit.metadata),
    images: edit.imageKey === undefined ? before.images : await imagesOf(writer, edit.imageKey),
    default_price:
      edit.price === undefined ? before.default_price : await replacePrice(writer, integrationId, before, edit),
  }
  if (isDeepStrictEqual(before, after)) return
  await putObject(writer, integrationId, 'product', id, after)
  await recordChange(writer, integrationId, { kind: 'product', id })
}
