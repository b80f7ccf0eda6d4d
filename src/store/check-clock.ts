import { sql } from 'kysely'
import type { AnyDatabase } from './check-open.ts'
import type { ControlTables } from './control-tables.ts'
import type { Database } from './database.ts'
import type { ContentTables } from './tables.ts'

/** PostgreSQL only: what its machine takes the time to be. */
export async function readDatabaseTime({ read }: AnyDatabase): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms
  `.execute(read)
  return rows[0]?.ms ?? Number.NaN
}

/** When content was last changed, by the clock of whoever did it. */
export async function readLatestContentWrite({ read }: Database<ContentTables>): Promise<number> {
  const row = await read
    .selectFrom('group_revisions')
    .select(({ fn }) => fn.max('swept_ms').as('ms'))
    .executeTakeFirst()
  return Number(row?.ms ?? 0)
}

/** When groups, keys or people were last changed. */
export async function readLatestControlWrite({ read }: Database<ControlTables>): Promise<number> {
  const row = await read.selectFrom('changes').select('at_ms').orderBy('id', 'desc').limit(1).executeTakeFirst()
  return row?.at_ms ?? 0
}
