import type { Container } from '../../content/model.ts'
import { rawReader } from '../engine/database.ts'
import { createSqlBuilder } from '../engine/statement.ts'
import { entriesPerContainer } from '../schema/migrations/content-search.ts'
import type { GroupStore } from '../store.ts'

/** The keys of a container's entries in the search index. */
export interface SearchIndex {
  /** They come after this, … */
  after: string | number
  /** … and, with SQLite, not after this. */
  last: number | undefined
}

/** The container's part of the index; undefined until it has all objects. */
export async function findSearchIndex(
  { database }: GroupStore,
  { id }: Pick<Container, 'id'>,
): Promise<SearchIndex | undefined> {
  const { engine, table, bind, parameters } = createSqlBuilder(database)
  const first = `number * ${entriesPerContainer}`
  const last = `(select max(id) from search_entries where id > ${first} and id < ${first} + ${entriesPerContainer})`
  const range = engine === 'sqlite' ? `${first} as first, ${last} as last` : '0 as first, 0 as last'
  const [row] = await rawReader(database.read)<{ first: number; last: number | null }>(
    `select ${range} from ${table('search_containers')} where container_id = ${bind(id)} and filled_to is null`,
    parameters,
  )
  if (!row) return undefined
  return engine === 'sqlite' ? { after: row.first, last: row.last ?? row.first } : { after: '', last: undefined }
}
