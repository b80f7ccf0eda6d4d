import { type CataloguePrice, type CatalogueProduct, objectKeyOf, pictureOf } from '../content/catalogue.ts'
import { pictureHash } from './catalogue-pictures.ts'
import type { ContentWriter } from './changes.ts'
import { inBatches } from './in-batches.ts'

/** The mark of a write: its number, and that of the walk that saw it. What was asked for alone leaves the walk as it is. */
export interface WriteMark {
  seq: number
  walk?: number
}

const unseen = 0

/** New ones, and over those that are there. */
export async function writeProducts(
  { db, group }: ContentWriter,
  integrationId: string,
  products: readonly CatalogueProduct[],
  { seq, walk }: WriteMark,
): Promise<void> {
  const rows = products.map((product) => ({
    integration_id: integrationId,
    product_id: product.id,
    group_id: group.groupId,
    object_key: objectKeyOf(product),
    picture_hash: pictureHash(pictureOf(product)),
    data: JSON.stringify(product),
    seq,
    walk: walk ?? unseen,
  }))
  for (const batch of inBatches(rows)) {
    await db
      .insertInto('catalogue_products')
      .values(batch)
      .onConflict((conflict) =>
        conflict.columns(['integration_id', 'product_id']).doUpdateSet((eb) => ({
          object_key: eb.ref('excluded.object_key'),
          picture_hash: eb.ref('excluded.picture_hash'),
          data: eb.ref('excluded.data'),
          seq,
          ...(walk !== undefined && { walk }),
        })),
      )
      .execute()
  }
}

/** New ones, and over those that are there. */
export async function writePrices(
  { db, group }: ContentWriter,
  integrationId: string,
  prices: readonly CataloguePrice[],
  { seq, walk }: WriteMark,
): Promise<void> {
  const rows = prices.map((price) => ({
    integration_id: integrationId,
    price_id: price.id,
    group_id: group.groupId,
    product_id: price.productId,
    data: JSON.stringify(price),
    seq,
    walk: walk ?? unseen,
  }))
  for (const batch of inBatches(rows)) {
    await db
      .insertInto('catalogue_prices')
      .values(batch)
      .onConflict((conflict) =>
        conflict.columns(['integration_id', 'price_id']).doUpdateSet((eb) => ({
          product_id: eb.ref('excluded.product_id'),
          data: eb.ref('excluded.data'),
          seq,
          ...(walk !== undefined && { walk }),
        })),
      )
      .execute()
  }
}

export async function deletePrices(
  { db, group }: ContentWriter,
  integrationId: string,
  priceIds: readonly string[],
): Promise<void> {
  for (const batch of inBatches(priceIds)) {
    await db
      .deleteFrom('catalogue_prices')
      .where('group_id', '=', group.groupId)
      .where('integration_id', '=', integrationId)
      .where('price_id', 'in', batch)
      .execute()
  }
}

/** With their prices. */
export async function deleteProducts(
  { db, group }: ContentWriter,
  integrationId: string,
  productIds: readonly string[],
): Promise<void> {
  for (const batch of inBatches(productIds)) {
    for (const table of ['catalogue_prices', 'catalogue_products'] as const) {
      await db
        .deleteFrom(table)
        .where('group_id', '=', group.groupId)
        .where('integration_id', '=', integrationId)
        .where('product_id', 'in', batch)
        .execute()
    }
  }
}
