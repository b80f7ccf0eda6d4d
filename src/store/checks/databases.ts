import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { Database, Engine } from '../engine/database.ts'
import { openPostgres, openPostgresPool } from '../engine/postgres.ts'
import { supportsPreparedStatements } from '../engine/prepared-statements.ts'
import { openSqlite } from '../engine/sqlite.ts'
import type { StoreOptions } from '../open.ts'
import type { ControlTables } from '../schema/control-tables.ts'
import { type Migration, readVersion } from '../schema/migrate.ts'
import { contentMigrations } from '../schema/migrations/content.ts'
import { controlMigrations } from '../schema/migrations/control.ts'
import type { ContentTables, MigrationRow } from '../schema/tables.ts'
import { controlName, databaseNamePattern, schemaOf, schemaPrefix, sqlitePath } from '../store.ts'

/** A database as found, neither created nor migrated. */
export interface FoundDatabase<Tables> {
  name: string
  /** The file, or the schema. */
  location: string
  /** Undefined if it does not exist or cannot be opened. */
  database: Database<Tables> | undefined
  /** Why it cannot be opened. */
  failure: unknown
  version: number
  /** The version that this Sluice requires. */
  knownVersion: number
  migrations: readonly Migration[]
}

export interface FoundDatabases {
  engine: Engine
  control: FoundDatabase<ControlTables>
  /** Existing databases, and those that groups refer to. */
  contents: FoundDatabase<ContentTables>[]
  /** False when a pooler in front of PostgreSQL loses prepared statements. */
  supportsPreparedStatements(): Promise<boolean>
  close(): Promise<void>
}

export type AnyFound = FoundDatabase<ControlTables> | FoundDatabase<ContentTables>
export type AnyDatabase = Database<ControlTables> | Database<ContentTables>

/** Undefined unless the database is at this version's schema. */
export const usableDatabase = <Tables>(found: FoundDatabase<Tables>): Database<Tables> | undefined =>
  found.version === found.knownVersion ? found.database : undefined

/** The databases of an engine. */
interface DatabaseSource {
  engine: Engine
  /** Of all existing databases. */
  names: string[]
  locationOf(name: string): string
  open<Tables>(name: string): Database<Tables>
  supportsPreparedStatements(): Promise<boolean>
  close(): Promise<void>
}

async function openSqliteSource(dataDir: string): Promise<DatabaseSource> {
  const folder = dirname(sqlitePath(dataDir, 'any'))
  const locationOf = (name: string): string => sqlitePath(dataDir, name)
  const files = existsSync(folder) ? await readdir(folder) : []
  const contents = files.filter((file) => file.endsWith('.sqlite')).map((file) => file.slice(0, -'.sqlite'.length))
  return {
    engine: 'sqlite',
    names: [controlName, ...contents].filter((name) => existsSync(locationOf(name))),
    locationOf,
    open: (name) => openSqlite(locationOf(name)),
    supportsPreparedStatements: async () => true,
    close: async () => {},
  }
}

/** Schemas with our tables; others may have the same prefix. */
async function schemasIn(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ nspname: string }>(
    `select nspname from pg_namespace where starts_with(nspname, $1)
       and exists (select 1 from pg_class where relnamespace = pg_namespace.oid and relname = 'migrations')`,
    [schemaPrefix],
  )
  return rows.map(({ nspname }) => nspname)
}

async function openPostgresSource(url: string, onConnectionError: (error: Error) => void): Promise<DatabaseSource> {
  const pool = await openPostgresPool(url, onConnectionError)
  try {
    return {
      engine: 'postgres',
      names: (await schemasIn(pool)).map((schema) => schema.slice(schemaPrefix.length)),
      locationOf: schemaOf,
      open: (name) => openPostgres(pool, schemaOf(name)),
      supportsPreparedStatements: () => supportsPreparedStatements(pool),
      close: () => pool.end(),
    }
  } catch (error) {
    await pool.end()
    throw error
  }
}

async function find<Tables extends { migrations: MigrationRow }>(
  source: DatabaseSource,
  name: string,
  migrations: readonly Migration[],
): Promise<FoundDatabase<Tables>> {
  const found = { name, location: source.locationOf(name), migrations, knownVersion: migrations.length }
  const absent = { ...found, database: undefined, failure: undefined, version: 0 }
  if (!source.names.includes(name)) return absent
  let database: Database<Tables> | undefined
  try {
    database = source.open<Tables>(name)
    return { ...found, database, failure: undefined, version: await readVersion(database) }
  } catch (failure) {
    await database?.close()
    return { ...absent, failure }
  }
}

/** Works with every schema version. */
async function databaseNamesInUse({ database }: FoundDatabase<ControlTables>): Promise<string[]> {
  const rows = await database?.read.selectFrom('groups').select('database_name').distinct().execute()
  return rows?.map((row) => row.database_name) ?? []
}

/** Finds all databases. Throws only when none can be reached. */
export async function findDatabases(
  options: Pick<StoreOptions, 'dataDir' | 'databaseUrl' | 'onConnectionError'>,
): Promise<FoundDatabases> {
  const { dataDir, databaseUrl, onConnectionError } = options
  const source =
    databaseUrl === undefined
      ? await openSqliteSource(dataDir)
      : await openPostgresSource(databaseUrl, onConnectionError)
  const control = await find<ControlTables>(source, controlName, controlMigrations)
  const wanted = control.version > 0 ? await databaseNamesInUse(control).catch(() => []) : []
  const names = [...new Set([...source.names, ...wanted])].filter(
    (name) => name !== controlName && databaseNamePattern.test(name),
  )
  const contents: FoundDatabase<ContentTables>[] = []
  for (const name of names.sort()) contents.push(await find<ContentTables>(source, name, contentMigrations))
  return {
    engine: source.engine,
    control,
    contents,
    supportsPreparedStatements: source.supportsPreparedStatements,
    async close() {
      for (const { database } of [control, ...contents]) await database?.close()
      await source.close()
    },
  }
}

/** PostgreSQL only: the time of the server's clock. */
export async function readDatabaseTime({ read }: AnyDatabase): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms
  `.execute(read)
  return rows[0]?.ms ?? Number.NaN
}

/** When content was last changed, by the writer's clock. */
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
