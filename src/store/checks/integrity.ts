import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Database } from '../engine/database.ts'
import { isSqliteError, sqliteCorrupt } from '../engine/sqlite/file.ts'
import { openSqlite } from '../engine/sqlite.ts'
import { type Migration, migrate } from '../schema/migrate.ts'
import { rangeTriggers } from '../schema/migrations/content-ranges.ts'
import { postgresIndexName, searchTriggers } from '../schema/migrations/content-search.ts'
import { type Trigger, totalTriggers } from '../schema/migrations/content-totals.ts'
import { usageTriggers } from '../schema/migrations/content-usage.ts'
import type { ContentTables, MigrationRow } from '../schema/tables.ts'
import type { AnyDatabase } from './databases.ts'

const maxShown = 5

/** SQLite only: the first problems of a damaged file. */
export async function findDamage({ read }: AnyDatabase): Promise<string[]> {
  try {
    const { rows } = await sql<{ quick_check: string }>`pragma quick_check(${sql.lit(maxShown)})`.execute(read)
    return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
  } catch (error) {
    if (isSqliteError(error, sqliteCorrupt)) return [error.message] // so damaged that it cannot be checked
    throw error
  }
}

/** SQLite only: rows that refer to missing rows, counted by table. */
export async function countBrokenReferences({
  read,
}: AnyDatabase): Promise<{ table: string; parent: string; count: number }[]> {
  const { rows } = await sql<{ table: string; parent: string; count: number }>`
    select "table", "parent", count(*) as "count" from pragma_foreign_key_check group by "table", "parent"
  `.execute(read)
  return rows
}

/** PostgreSQL only: indexes that are not used, because their creation failed. */
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

export interface IndexDefinition {
  name: string
  /** Creates it. */
  statement: string
}

type Migrated = { migrations: MigrationRow }

async function definitionsIn({ read }: Database<Migrated>): Promise<IndexDefinition[]> {
  const { rows } = await sql<IndexDefinition>`
    select name, sql as statement from sqlite_master where type = 'index' and sql is not null order by name
  `.execute(read)
  return rows
}

/** The indexes that the migrations create, found by migrating an empty database: always up to date. */
export async function listWantedIndexes(migrations: readonly Migration[]): Promise<IndexDefinition[]> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-doctor-'))
  try {
    const database = openSqlite<Migrated>(join(folder, 'empty.sqlite'))
    try {
      await migrate(database, migrations, 0)
      return await definitionsIn(database)
    } finally {
      await database.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function namesIn({ engine, read, schemaName }: AnyDatabase): Promise<string[]> {
  const query =
    engine === 'postgres'
      ? sql<{ name: string }>`select indexname as name from pg_indexes where schemaname = ${schemaName}`
      : sql<{ name: string }>`select name from sqlite_master where type = 'index'`
  return (await query.execute(read)).rows.map(({ name }) => name)
}

export async function findMissingIndexes(
  database: AnyDatabase,
  wanted: readonly IndexDefinition[],
): Promise<IndexDefinition[]> {
  const present = new Set(await namesIn(database))
  const { schemaName } = database
  return wanted
    .filter(({ name }) => !present.has(name))
    .map(({ name, statement }) => ({
      name,
      statement: schemaName === undefined ? statement : statement.replace(/ on "/, ` on "${schemaName}"."`),
    }))
}

const tables = [
  'objects', 'object_versions', 'working_copies', 'preview_tokens', 'site_previews', 'containers', 'sites', 'changes', 'media', 'media_files', 'jobs',
  'group_revisions',
] as const // biome-ignore format: one line reads better

export type RowCounts = Partial<Record<(typeof tables)[number], number>>

/** Counts the rows of each group in each table, whether or not the group exists. */
export async function countRowsByGroup({ read }: Database<ContentTables>): Promise<Map<string, RowCounts>> {
  const counts = new Map<string, RowCounts>()
  for (const table of tables) {
    const rows = await read
      .selectFrom(table)
      .select(['group_id', ({ fn }) => fn.countAll<number>().as('count')])
      .$if(table === 'group_revisions', (query) => query.where('closed' as never, '=', 0 as never)) // of a deleted group
      .groupBy('group_id')
      .execute()
    for (const { group_id, count } of rows) counts.set(group_id, { ...counts.get(group_id), [table]: Number(count) })
  }
  return counts
}

/** Removes all rows of a group, in an order that satisfies the foreign keys. */
export function removalStatement({ engine, schemaName }: Database<ContentTables>, groupId: string): string {
  const qualifier = schemaName === undefined ? '' : `${schemaName}.`
  const pragma = engine === 'sqlite' ? 'pragma foreign_keys = on; ' : ''
  const value = `'${groupId.replaceAll("'", "''")}'`
  return (
    pragma +
    [
      'working_copies', 'objects', 'preview_tokens', 'site_previews', 'containers', 'sites', 'changes', 'media',
      'media_files', 'jobs', 'group_revisions',
    ] // biome-ignore format: few lines read better
      .map((table) => `delete from ${qualifier}${table} where group_id = ${value}`)
      .join('; ')
  )
}

/** Whether searches have an index of trigrams, which PostgreSQL needs extensions for. */
export async function hasTrigramIndex({ read, schemaName }: AnyDatabase): Promise<boolean> {
  if (schemaName === undefined) return true
  const { rows } = await sql`
    select 1 from pg_indexes where schemaname = ${schemaName} and indexname = ${postgresIndexName}
  `.execute(read)
  return rows.length > 0
}

/** The triggers that maintain totals, usage and the search index. */
export async function findMissingTriggers({ read, schemaName }: Database<ContentTables>): Promise<Trigger[]> {
  const select =
    schemaName === undefined
      ? sql`select name from sqlite_master where type = 'trigger'`
      : sql`select trigger_name as name from information_schema.triggers where trigger_schema = ${schemaName}`
  const { rows } = await sql<{ name: string }>`${select}`.execute(read)
  const present = new Set(rows.map(({ name }) => name))
  const wanted = [totalTriggers, usageTriggers, searchTriggers, rangeTriggers].flatMap((list) => list(schemaName))
  return wanted.filter(({ name }) => !present.has(name))
}

export async function createTriggers({ write }: Database<ContentTables>, triggers: readonly Trigger[]): Promise<void> {
  await write(async (db) => {
    for (const statement of triggers.flatMap(({ statements }) => statements)) await sql.raw(statement).execute(db)
  })
}
