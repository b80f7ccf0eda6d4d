import type { CatalogueProduct } from '../content/catalogue.ts'
import { type Member, maxMembers, priceLimitOf } from '../content/product-offers.ts'
import type { GroupStore } from './groups.ts'
import { inBatches } from './in-batches.ts'

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
