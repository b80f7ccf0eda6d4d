import { sql, type Transaction } from 'kysely'
import { searchTextOf } from '../../content/index-keys.ts'
import type { Container } from '../../content/model.ts'
import { insideTransaction, qualifiedTable } from '../engine/database.ts'
import { nextEntryId } from '../schema/migrations/content-search.ts'
import type { ContentTables, SearchEntryRow } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'
import { findContainerById } from './containers.ts'

/** Limits of one step, for which all other writers wait. */
const objectsPerStep = 100
const bytesPerStep = 500_000

type Db = Transaction<ContentTables>

/** As many as fit a step, and at least one. */
function firstOf(sizes: readonly { id: string; bytes: number }[]): readonly { id: string }[] {
  let bytes = 0
  const end = sizes.findIndex((row, position) => {
    bytes += row.bytes
    return position > 0 && bytes > bytesPerStep
  })
  return end < 0 ? sizes : sizes.slice(0, end)
}

/** The next objects of a container. PostgreSQL keeps them from being deleted meanwhile. */
async function readStep(db: Db, { groupId, database }: GroupStore, container: Container, after: string) {
  const sizes = await db
    .selectFrom('objects')
    .select(['id', sql<number>`octet_length(value)`.as('bytes')])
    .where('container_id', '=', container.id)
    .where('id', '>', after)
    .orderBy('id')
    .limit(objectsPerStep)
    .execute()
  const ids = firstOf(sizes).map(({ id }) => id)
  if (ids.length === 0) return { entries: [], isLast: true }
  const rows = await db
    .selectFrom('objects')
    .select(['id', 'archived', 'publish_ms', 'created_ms', 'value'])
    .where('id', 'in', ids)
    .orderBy('id')
    .$if(database.engine === 'postgres', (query) => query.forKeyShare())
    .execute()
  const entries = rows.map(
    ({ id, value, ...row }): SearchEntryRow => ({
      ...row,
      object_id: id,
      container_id: container.id,
      group_id: groupId,
      words: searchTextOf(container.schema, JSON.parse(value)),
    }),
  )
  return { entries, isLast: sizes.length < objectsPerStep && ids.length === sizes.length, last: ids.at(-1) }
}

/** Those written meanwhile have entries already. */
export async function insertSearchEntries(
  db: Db,
  { database }: GroupStore,
  entries: readonly SearchEntryRow[],
): Promise<void> {
  const table = qualifiedTable(database, 'search_entries')
  for (const entry of entries) {
    const { object_id, container_id, group_id, archived, publish_ms, created_ms, words } = entry
    const values = sql.join([object_id, container_id, group_id, archived, publish_ms, created_ms, words])
    const columns = sql`object_id, container_id, group_id, archived, publish_ms, created_ms, words`
    const query =
      database.engine === 'sqlite'
        ? sql`with new as (select ${container_id} as container_id)
            insert into ${table} (id, ${columns}) select ${sql.raw(nextEntryId('new.container_id'))}, ${values} from new where true on conflict do nothing`
        : sql`insert into ${table} (${columns}) values (${values}) on conflict do nothing`
    await query.execute(db)
  }
}

/** One step for one container; true when all of its objects are indexed. */
async function takeStep(db: Db, group: GroupStore, containerId: string): Promise<boolean> {
  const inside = { ...group, database: insideTransaction(db, group.database) }
  const state = await db
    .selectFrom('search_containers')
    .select('filled_to')
    .where('container_id', '=', containerId)
    .$if(group.database.engine === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst()
  const container = await findContainerById(inside, containerId)
  if (!container || !state || state.filled_to === null) return true
  const { entries, isLast, last } = await readStep(db, group, container, state.filled_to)
  await insertSearchEntries(db, group, entries)
  await db
    .updateTable('search_containers')
    .set({ filled_to: isLast ? null : last })
    .where('container_id', '=', containerId)
    .execute()
  return isLast
}

/** The containers of a group that are not yet indexed as a whole. */
export function findUnfilledContainers({ groupId, database }: GroupStore): Promise<{ id: string; name: string }[]> {
  return database.read
    .selectFrom('search_containers')
    .innerJoin('containers', 'containers.id', 'search_containers.container_id')
    .select(['containers.id', 'containers.name'])
    .where('containers.group_id', '=', groupId)
    .where('filled_to', 'is not', null)
    .orderBy('containers.id')
    .execute()
}

/** Indexes the objects of all containers of a group in short transactions, so that other writers run in between. */
export async function fillSearchIndex(group: GroupStore, signal?: AbortSignal): Promise<void> {
  const { database, groupId } = group
  for (const { id } of await findUnfilledContainers(group)) {
    let isFilled = false
    while (!isFilled) {
      signal?.throwIfAborted()
      isFilled = await database.write((db) => takeStep(db, group, id), groupId)
    }
  }
}
