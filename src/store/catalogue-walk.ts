import type { GroupStore } from './groups.ts'
import type { Integration } from './integrations.ts'

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
export async function findStrayKeys(
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
export async function findSomeParts(
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
