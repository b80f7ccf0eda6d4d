import { sql } from 'kysely'
import type { AnyDatabase } from './check-open.ts'

const mostShown = 5

const sqliteCorrupt = 11

function isCorrupt(error: unknown): error is Error {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteCorrupt
}

/** What SQLite says of a damaged file, the first few lines of it; nothing of a sound one. */
export async function findDamage({ read }: AnyDatabase): Promise<string[]> {
  try {
    const { rows } = await sql<{ quick_check: string }>`pragma quick_check(${sql.lit(mostShown)})`.execute(read)
    return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
  } catch (error) {
    if (isCorrupt(error)) return [error.message] // so damaged that it cannot be checked
    throw error
  }
}

/** SQLite only: rows that refer to rows that are not there, counted by table. */
export async function countBrokenReferences({
  read,
}: AnyDatabase): Promise<{ table: string; parent: string; count: number }[]> {
  const { rows } = await sql<{ table: string; parent: string; count: number }>`
    select "table", "parent", count(*) as "count" from pragma_foreign_key_check group by "table", "parent"
  `.execute(read)
  return rows
}

/** PostgreSQL only: indexes that are there but not used, because their making failed. */
export async function findInvalidIndexes({ read, schemaName }: AnyDatabase): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select pg_class.relname as name
    from pg_index
    join pg_class on pg_class.oid = pg_index.indexrelid
    join pg_namespace on pg_namespace.oid = pg_class.relnamespace
    where pg_namespace.nspname = ${schemaName} and not (pg_index.indisvalid and pg_index.indisready)
    order by 1
  `.execute(read)
  return rows.map(({ name }) => name)
}

export const reindexStatement = (schemaName: string | undefined, index: string): string =>
  `reindex index "${schemaName}"."${index}"`

export const brokenReferencesStatement = 'pragma foreign_key_check'
