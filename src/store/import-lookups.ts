import type { GroupStore } from './groups.ts'
import { type Order, toOrder } from './orders.ts'

/** What an import asks before it writes. */

export type ImportedTable = 'sites' | 'containers' | 'objects' | 'media' | 'media_files' | 'orders'

/** Ids are unique in a database: those that another group has cannot be this group's. */
export async function findIdsOfOthers(
  { groupId, database }: GroupStore,
  table: ImportedTable,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await database.read
    .selectFrom(table)
    .select('id')
    .where('id', 'in', ids)
    .where('group_id', '!=', groupId)
    .execute()
  return rows.map(({ id }) => id)
}

/** The products of an integration that have one of these ids of the provider. */
export async function findByExternalIds(
  { groupId, database }: GroupStore,
  containerId: string,
  externalIds: readonly string[],
): Promise<{ id: string; externalId: string | null; accountHandle: string }[]> {
  if (externalIds.length === 0) return []
  return database.read
    .selectFrom('objects')
    .select(['id', 'external_id as externalId', 'account_handle as accountHandle'])
    .where('group_id', '=', groupId)
    .where('container_id', '=', containerId)
    .where('external_id', 'in', externalIds)
    .execute()
}

/** The orders of these sessions, of whichever account. */
export async function findOrdersBySessions(
  { groupId, database }: GroupStore,
  sessionIds: readonly string[],
): Promise<Order[]> {
  if (sessionIds.length === 0) return []
  const rows = await database.read
    .selectFrom('orders')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('session_id', 'in', sessionIds)
    .execute()
  return rows.map(toOrder)
}

export interface ContentCounts {
  sites: number
  containers: number
  objects: number
  libraryItems: number
  orders: number
}

export async function countContent({ groupId, database }: GroupStore): Promise<ContentCounts> {
  const count = async (table: ImportedTable): Promise<number> => {
    const { total } = await database.read
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .where('group_id', '=', groupId)
      .executeTakeFirstOrThrow()
    return Number(total)
  }
  return {
    sites: await count('sites'),
    containers: await count('containers'),
    objects: await count('objects'),
    libraryItems: await count('media'),
    orders: await count('orders'),
  }
}

/** Counted from other columns when a row is written, so a row that is to come does not know it yet. */
const derivedColumn = 'index_bytes'

/** How many of these rows are there, each column of them the same. */
export async function countSameRows(
  { groupId, database }: GroupStore,
  table: ImportedTable,
  rows: readonly { id: string }[],
): Promise<number> {
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  const found: { id: string }[] = await database.read
    .selectFrom(table)
    .selectAll()
    .where('group_id', '=', groupId)
    .where('id', 'in', ids)
    .execute()
  const here = new Map(found.map((row) => [row.id, new Map(Object.entries(row))]))
  return rows.filter((row) => {
    const columns = here.get(row.id)
    return (
      columns && Object.entries(row).every(([name, value]) => name === derivedColumn || columns.get(name) === value)
    )
  }).length
}
