import { type CataloguePrice, type CatalogueProduct, objectKeyOf, pictureOf } from '../../content/catalogue.ts'
import type { KnownPrice } from '../../content/checkout.ts'
import { type Member, maxMembers, priceLimitOf } from '../../content/product-offers.ts'
import type { ContentWriter } from '../content/changes.ts'
import { findObjects } from '../content/objects.ts'
import { inBatches } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'
import type { Integration } from './integrations.ts'
import { pictureHash } from './mirror.ts'

/** The provider's catalogue as it was fetched. */

/** Mirrored prices, in no particular order; unknown ids are left out. */
export async function findPrices(group: GroupStore, priceIds: readonly string[]): Promise<KnownPrice[]> {
  const found: KnownPrice[] = []
  for (const batch of inBatches([...new Set(priceIds)])) {
    const rows = await selectPrices(group).where('catalogue_prices.price_id', 'in', batch).execute()
    const ids = rows.flatMap(({ object_id }) => object_id ?? [])
    const objects = new Map((await findObjects(group, ids)).map(({ object }) => [object.id, object]))
    for (const { data, integration_id, object_id } of rows)
      found.push({ price: JSON.parse(data), integrationId: integration_id, object: objects.get(object_id ?? '') })
  }
  return found
}

/** Prices with the object of their product. One container holds the objects of all accounts of a type. */
const selectPrices = ({ groupId, database }: GroupStore) =>
  database.read
    .selectFrom('catalogue_prices')
    .innerJoin('integrations', 'integrations.id', 'catalogue_prices.integration_id')
    .leftJoin('catalogue_products', (join) =>
      join
        .onRef('catalogue_products.integration_id', '=', 'catalogue_prices.integration_id')
        .onRef('catalogue_products.product_id', '=', 'catalogue_prices.product_id'),
    )
    .leftJoin('containers', (join) =>
      join
        .onRef('containers.group_id', '=', 'integrations.group_id')
        .on('containers.kind', '=', 'integration')
        .onRef('containers.name', '=', 'integrations.type'),
    )
    .leftJoin('objects', (join) =>
      join
        .onRef('objects.container_id', '=', 'containers.id')
        .onRef('objects.account_handle', '=', 'integrations.account_handle')
        .onRef('objects.external_id', '=', 'catalogue_products.object_key'),
    )
    .select(['catalogue_prices.data', 'catalogue_prices.integration_id', 'objects.id as object_id'])
    .where('catalogue_prices.group_id', '=', groupId)

/** A mirrored product: the write it is from, and the object it is part of. */
export interface KnownProduct {
  seq: number
  objectKey: string
}

export async function findKnownProducts(
  { groupId, database }: GroupStore,
  integrationId: string,
  productIds: readonly string[],
): Promise<Map<string, KnownProduct>> {
  const known = new Map<string, KnownProduct>()
  for (const batch of inBatches(productIds)) {
    const rows = await database.read
      .selectFrom('catalogue_products')
      .select(['product_id', 'seq', 'object_key'])
      .where('group_id', '=', groupId)
      .where('integration_id', '=', integrationId)
      .where('product_id', 'in', batch)
      .execute()
    for (const { product_id, seq, object_key } of rows) known.set(product_id, { seq, objectKey: object_key })
  }
  return known
}

const selectPriceSeqs = ({ groupId, database }: GroupStore, integrationId: string) =>
  database.read
    .selectFrom('catalogue_prices')
    .select(['price_id', 'seq'])
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)

/** The number of the last write of each price that exists. */
export async function findPriceSeqs(
  group: GroupStore,
  integrationId: string,
  priceIds: readonly string[],
): Promise<Map<string, number>> {
  const seqs = new Map<string, number>()
  for (const batch of inBatches(priceIds)) {
    const rows = await selectPriceSeqs(group, integrationId).where('price_id', 'in', batch).execute()
    for (const { price_id, seq } of rows) seqs.set(price_id, seq)
  }
  return seqs
}

/** The number of the last write of each price of a product. */
export async function findPriceSeqsOf(
  group: GroupStore,
  integrationId: string,
  productId: string,
): Promise<Map<string, number>> {
  const rows = await selectPriceSeqs(group, integrationId).where('product_id', '=', productId).execute()
  return new Map(rows.map(({ price_id, seq }) => [price_id, seq]))
}

/**
 * The provider's products and prices that each object is made from, by id: up to the limit, plus one if there are more.
 * Unknown keys are left out.
 */
export async function findMembers(
  group: GroupStore,
  integrationId: string,
  objectKeys: readonly string[],
): Promise<Map<string, Member[]>> {
  const found = new Map<string, Member[]>()
  for (const batch of inBatches(objectKeys)) {
    const rows = await selectFirstProducts(group, integrationId, batch)
    const byKey = Map.groupBy(rows, ({ object_key }) => object_key)
    const toMember = ({ data }: { data: string }): Member => ({ product: JSON.parse(data), prices: [] })
    for (const [key, ofKey] of byKey) found.set(key, ofKey.map(toMember))
  }
  const byLimit = Map.groupBy([...found.values()], ({ length }) => priceLimitOf(length))
  for (const [limit, families] of byLimit) await addPrices(group, integrationId, families.flat(), limit)
  return found
}

function selectFirstProducts(
  { groupId, database }: GroupStore,
  integrationId: string,
  objectKeys: readonly string[],
): Promise<{ object_key: string; data: string }[]> {
  const numbered = database.read
    .selectFrom('catalogue_products')
    .select(['object_key', 'product_id', 'data'])
    .select(({ fn }) =>
      fn
        .agg<number>('row_number')
        .over((over) => over.partitionBy('object_key').orderBy('product_id'))
        .as('position'),
    )
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)
    .where('object_key', 'in', objectKeys)
  return database.read
    .selectFrom(numbered.as('numbered'))
    .select(['object_key', 'data'])
    .where('position', '<=', maxMembers + 1)
    .orderBy('object_key')
    .orderBy('product_id')
    .execute()
}

/** Default prices are always included, even beyond the limit. */
async function addPrices(
  { groupId, database }: GroupStore,
  integrationId: string,
  members: readonly Member[],
  limit: number,
): Promise<void> {
  const byProduct = new Map(members.map((member) => [member.product.id, member]))
  for (const batch of inBatches(members)) {
    const products = batch.map(({ product }) => product)
    const numbered = database.read
      .selectFrom('catalogue_prices')
      .select(['product_id', 'price_id', 'data'])
      .select(({ fn }) =>
        fn
          .agg<number>('row_number')
          .over((over) => over.partitionBy('product_id').orderBy('price_id'))
          .as('position'),
      )
      .where('group_id', '=', groupId)
      .where('integration_id', '=', integrationId)
      .where(
        'product_id',
        'in',
        products.map(({ id }) => id),
      )
    const rows = await database.read
      .selectFrom(numbered.as('numbered'))
      .select(['product_id', 'data'])
      .where(({ or, eb }) => or([eb('position', '<=', limit + 1), eb('price_id', 'in', defaultPriceIds(products))]))
      .execute()
    for (const { product_id, data } of rows) byProduct.get(product_id)?.prices.push(JSON.parse(data))
  }
}

/** Starts with an id that no price has, because SQL allows no empty list. */
const defaultPriceIds = (products: readonly CatalogueProduct[]): string[] => [
  '',
  ...products.flatMap(({ defaultPriceId }) => defaultPriceId ?? []),
]

/** Mirrored products that a walk has not seen, or with a price that it has not seen, by id. */
export async function findUnseenProducts(
  { groupId, database }: GroupStore,
  integrationId: string,
  walk: number,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const unseenIn = (table: 'catalogue_products' | 'catalogue_prices') =>
    database.read
      .selectFrom(table)
      .select('product_id')
      .distinct()
      .where('group_id', '=', groupId)
      .where('integration_id', '=', integrationId)
      .where('walk', '!=', walk)
      .where('product_id', '>', after)
      .orderBy('product_id')
      .limit(limit)
      .execute()
  const rows = [...(await unseenIn('catalogue_products')), ...(await unseenIn('catalogue_prices'))]
  return [...new Set(rows.map(({ product_id }) => product_id))].toSorted().slice(0, limit)
}

/** Delivered objects without any product in the catalogue. */
export async function findOrphanedKeys(
  { groupId, database }: GroupStore,
  { id, type, accountHandle }: Pick<Integration, 'id' | 'type' | 'accountHandle'>,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await database.read
    .selectFrom('objects')
    .innerJoin('containers', 'containers.id', 'objects.container_id')
    .select('objects.external_id')
    .where('containers.group_id', '=', groupId)
    .where('containers.kind', '=', 'integration')
    .where('containers.name', '=', type)
    .where('objects.account_handle', '=', accountHandle)
    .where('objects.external_id', '>', after)
    .where('objects.archived', '=', 0)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('catalogue_products')
            .select('product_id')
            .where('integration_id', '=', id)
            .whereRef('object_key', '=', 'objects.external_id'),
        ),
      ),
    )
    .orderBy('objects.external_id')
    .limit(limit)
    .execute()
  return rows.flatMap(({ external_id }) => external_id ?? [])
}

/** The first objects, each with all of its catalogue products. */
export async function findFirstParts(
  { groupId, database }: GroupStore,
  integrationId: string,
  limit: number,
): Promise<{ objectKeys: string[]; productIds: string[] }> {
  const ofIntegration = database.read
    .selectFrom('catalogue_products')
    .where('group_id', '=', groupId)
    .where('integration_id', '=', integrationId)
  const keys = await ofIntegration.select('object_key').distinct().orderBy('object_key').limit(limit).execute()
  const objectKeys = keys.map(({ object_key }) => object_key)
  if (objectKeys.length === 0) return { objectKeys, productIds: [] }
  const parts = await ofIntegration.select('product_id').where('object_key', 'in', objectKeys).execute()
  return { objectKeys, productIds: parts.map(({ product_id }) => product_id) }
}

/** The number of a write, and that of the walk that made it, if any; otherwise the stored walk stays. */
export interface WriteMark {
  seq: number
  walk?: number
}

const unseen = 0

export async function upsertProducts(
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

export async function upsertPrices(
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
