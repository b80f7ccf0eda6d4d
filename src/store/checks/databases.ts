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

/** One database as it is: nothing was made, nothing was migrated. */
export interface FoundDatabase<Tables> {
  name: string
  /** The file, or the schema. */
  place: string
  /** Undefined where it is not there or cannot be opened. */
  database: Database<Tables> | undefined
  /** Why it cannot be opened; undefined too where it is not there at all. */
  failure: unknown
  version: number
  /** The version that this Sluice works with. */
  knownVersion: number
  migrations: readonly Migration[]
}

export interface FoundDatabases {
  engine: Engine
  control: FoundDatabase<ControlTables>
  /** Those that are there, and those that groups say should be. */
  contents: FoundDatabase<ContentTables>[]
  /** False where a pooler before PostgreSQL loses prepared statements. */
  supportsPreparedStatements(): Promise<boolean>
  close(): Promise<void>
}

export type AnyFound = FoundDatabase<ControlTables> | FoundDatabase<ContentTables>
export type AnyDatabase = Database<ControlTables> | Database<ContentTables>

/** The database, where this version can work with it. */
export function usableDatabase<Tables>(found: FoundDatabase<Tables>): Database<Tables> | undefined {
  return found.version === found.knownVersion ? found.database : undefined
}

/** Where the databases of an engine lie. */
interface Home {
  engine: Engine
  /** Names of all that are there. */
  names: string[]
  placeOf(name: string): string
  open<Tables>(name: string): Database<Tables>
  supportsPreparedStatements(): Promise<boolean>
  close(): Promise<void>
}

async function sqliteHome(dataDir: string): Promise<Home> {
  const folder = dirname(sqlitePath(dataDir, 'any'))
  const placeOf = (name: string): string => sqlitePath(dataDir, name)
  const files = existsSync(folder) ? await readdir(folder) : []
  const contents = files.filter((file) => file.endsWith('.sqlite')).map((file) => file.slice(0, -'.sqlite'.length))
  return {
    engine: 'sqlite',
    names: [controlName, ...contents].filter((name) => existsSync(placeOf(name))),
    placeOf,
    open: (name) => openSqlite(placeOf(name)),
    supportsPreparedStatements: async () => true,
    close: async () => {},
  }
}

/** Schemas that hold tables of ours; others may begin with the same word. */
async function schemasIn(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ nspname: string }>(
    `select nspname from pg_namespace where starts_with(nspname, $1)
       and exists (select 1 from pg_class where relnamespace = pg_namespace.oid and relname = 'migrations')`,
    [schemaPrefix],
  )
  return rows.map(({ nspname }) => nspname)
}

async function postgresHome(url: string, onConnectionError: (error: Error) => void): Promise<Home> {
  const pool = await openPostgresPool(url, onConnectionError)
  try {
    return {
      engine: 'postgres',
      names: (await schemasIn(pool)).map((schema) => schema.slice(schemaPrefix.length)),
      placeOf: schemaOf,
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
  home: Home,
  name: string,
  migrations: readonly Migration[],
): Promise<FoundDatabase<Tables>> {
  const found = { name, place: home.placeOf(name), migrations, knownVersion: migrations.length }
  const absent = { ...found, database: undefined, failure: undefined, version: 0 }
  if (!home.names.includes(name)) return absent
  let database: Database<Tables> | undefined
  try {
    database = home.open<Tables>(name)
    return { ...found, database, failure: undefined, version: await readVersion(database) }
  } catch (failure) {
    await database?.close()
    return { ...absent, failure }
  }
}

/** These columns are there in every version. */
async function databaseNamesInUse({ database }: FoundDatabase<ControlTables>): Promise<string[]> {
  const rows = await database?.read.selectFrom('groups').select('database_name').distinct().execute()
  return rows?.map((row) => row.database_name) ?? []
}

/** Looks at all databases there are. Throws only when none can be reached. */
export async function findDatabases(
  options: Pick<StoreOptions, 'dataDir' | 'databaseUrl' | 'onConnectionError'>,
): Promise<FoundDatabases> {
  const { dataDir, databaseUrl, onConnectionError } = options
  const home =
    databaseUrl === undefined ? await sqliteHome(dataDir) : await postgresHome(databaseUrl, onConnectionError)
  const control = await find<ControlTables>(home, controlName, controlMigrations)
  const wanted = control.version > 0 ? await databaseNamesInUse(control).catch(() => []) : []
  const names = [...new Set([...home.names, ...wanted])].filter(
    (name) => name !== controlName && databaseNamePattern.test(name),
  )
  const contents: FoundDatabase<ContentTables>[] = []
  for (const name of names.sort()) contents.push(await find<ContentTables>(home, name, contentMigrations))
  return {
    engine: home.engine,
    control,
    contents,
    supportsPreparedStatements: home.supportsPreparedStatements,
    async close() {
      for (const { database } of [control, ...contents]) await database?.close()
      await home.close()
    },
  }
}

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
