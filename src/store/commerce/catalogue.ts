import { type CataloguePrice, type CatalogueProduct, objectKeyOf, pictureOf } from '../../content/catalogue.ts'
import type { KnownPrice } from '../../content/checkout.ts'
import { type Member, maxMembers, priceLimitOf } from '../../content/product-offers.ts'
import type { ContentWriter } from '../content/changes.ts'
import { findObjects } from '../content/objects.ts'
import { inBatches } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'
import type { Integration } from './integrations.ts'
import { pictureHash } from './mirror.ts'

/** The provider's catalogue, as it was fetched. What is read of one integration is named by its id. */

/** Those that the mirror knows, in no order. */
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

/** Each with the product of ours that its product is part of: one container holds those of all accounts of a type. */
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

/** What is known of a product: when it was written, and which product of ours it is part of. */
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

/** When each of these prices was written, of those that there are. */
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

/** When each price of a product was written. */
export async function findPriceSeqsOf(
  group: GroupStore,
  integrationId: string,
  productId: string,
): Promise<Map<string, number>> {
  const rows = await selectPriceSeqs(group, integrationId).where('product_id', '=', productId).execute()
  return new Map(rows.map(({ price_id, seq }) => [price_id, seq]))
}

/**
 * What each of these products of ours is made from, in the order of ids: as much as is looked at, and one more where there
 * is more. A key that nothing is known of is not there.
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

/** A default price is looked at, wherever it stands among the others. */
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

/** No price has the id that is there so that the list is never empty. */
const defaultPriceIds = (products: readonly CatalogueProduct[]): string[] => [
  '',
  ...products.flatMap(({ defaultPriceId }) => defaultPriceId ?? []),
]

/** What a walk through a catalogue looks for in what is there already. */

/** Products that a walk has not seen, or that have a price which it has not seen, in the order of their ids. */
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

/** Products of ours that are delivered though the catalogue has nothing that they could be made from. */
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

/** The parts of some products of ours, all of each. */
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
