import type { KnownPrice } from '../content/checkout.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'
import { findObjects } from './objects.ts'

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
