import { sql } from 'kysely'
import type { Container } from '../../content/model.ts'
import { rawReader } from '../engine/database.ts'
import { createSqlBuilder } from '../engine/statement.ts'
import { entriesPerContainer, postgresIndexName } from '../schema/migrations/content-search.ts'
import type { GroupStore } from '../store.ts'

/** The entries of a container in the search index. */
export interface SearchIndex {
  /** The words that the index of trigrams can find. */
  canFind(word: string): boolean
  /** The entries' keys come after this, … */
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
  if (engine === 'postgres') return { canFind: await findPostgresIndex(database), after: '', last: undefined }
  return { canFind: (word) => [...word].length >= 3, after: row.first, last: row.last ?? row.first }
}

type CanFind = SearchIndex['canFind']

/** By the connection. Once there is an index, it stays. */
const known = new WeakMap<object, CanFind>()

const hasAsciiTrigram: CanFind = (word) => /[a-z0-9]{3}/.test(word)
const hasTrigram: CanFind = (word) => /[\p{L}\p{N}]{3}/u.test(word)
const neither: CanFind = () => false

/**
 * PostgreSQL's trigrams are of letters and digits only, and what a letter is depends on the database's locale: in the locale C,
 * it is none outside of ASCII.
 */
async function findPostgresIndex({ read, schemaName }: GroupStore['database']): Promise<CanFind> {
  const found = known.get(read)
  if (found) return found
  const index = `"${schemaName}".${postgresIndexName}`
  const { rows } = await sql<{ of_extension: string }>`
    select quote_ident(nspname) as of_extension
    from pg_index, pg_extension join pg_namespace on pg_namespace.oid = extnamespace
    where indexrelid = to_regclass(${index}) and indisvalid and extname = 'pg_trgm'
  `.execute(read)
  const [row] = rows
  if (!row) return neither
  const letters = await sql<{ trigrams: number }>`
    select cardinality(${sql.raw(row.of_extension)}.show_trgm('語語語語')) as trigrams
  `.execute(read)
  const canFind = letters.rows[0]?.trigrams ? hasTrigram : hasAsciiTrigram
  known.set(read, canFind)
  return canFind
}
