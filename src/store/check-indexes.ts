import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { AnyDatabase } from './check-open.ts'
import type { Database } from './database.ts'
import { type Migration, migrate } from './migrate.ts'
import { openSqlite } from './sqlite.ts'
import type { MigrationRow } from './tables.ts'

export interface IndexDefinition {
  name: string
  /** Makes it. */
  statement: string
}

type Migrated = { migrations: MigrationRow }

async function definitionsIn({ read }: Database<Migrated>): Promise<IndexDefinition[]> {
  const { rows } = await sql<IndexDefinition>`
    select name, sql as statement from sqlite_master where type = 'index' and sql is not null order by name
  `.execute(read)
  return rows
}

/** All that the migrations make, learned by migrating an empty database: the list cannot fall behind them. */
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

/** What a database should have and has not. */
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
