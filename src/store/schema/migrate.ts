import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { AppError } from '../../core/errors.ts'
import type { Database, Engine } from '../engine/database.ts'
import type { MigrationRow } from './tables.ts'

/**
 * One step of a schema's history. Steps are only appended, and never edited after a release. Each leaves a schema that the
 * previous version of Sluice can still use, so that servers of both can run during a rollout. With SQLite foreign keys are
 * on: dropping a table deletes the rows that refer to it.
 */
export interface Migration {
  name: string
  /** `schemaName` is for statements that Kysely cannot qualify; PostgreSQL only. */
  up(db: Transaction<unknown>, engine: Engine, schemaName: string | undefined): Promise<void>
}

type Migrated = { migrations: MigrationRow }

/** Any number; all processes that migrate must agree on it. */
const advisoryLock = 7_236_001

/** Waits for other migrating processes, and creates the schema if it is missing. */
async function ensureSchema<Tables>(transaction: Transaction<Tables>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLock})`.execute(transaction)
  // Not "create … if not exists", which may use a stale catalogue snapshot from before the lock.
  const { rows } = await sql`select 1 from pg_namespace where nspname = ${name}`.execute(transaction)
  if (rows.length === 0) await sql`create schema ${sql.id(name)}`.execute(transaction)
}

async function ensureMigrationsTable(db: Kysely<Migrated>): Promise<void> {
  await db.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_ms', 'bigint', (column) => column.notNull())
    .execute()
}

async function versionIn(db: Kysely<Migrated>): Promise<number> {
  const row = await db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}

/** True for "no such table" in SQLite, and for a missing table or schema in PostgreSQL. */
function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return /^no such table/.test(error.message) || ('code' in error && (error.code === '42P01' || error.code === '3F000'))
}

/** The schema's version; 0 for an empty database. Read-only. */
export async function readVersion<Tables extends Migrated>({ read }: Database<Tables>): Promise<number> {
  return versionIn(read as unknown as Kysely<Migrated>).catch((error: unknown) => {
    if (isMissingTable(error)) return 0
    throw error
  })
}

function refuseNewer(version: number, migrations: readonly Migration[]): void {
  if (version <= migrations.length) return
  throw new AppError(
    'Unavailable',
    `The database is at schema version ${version}, and this Sluice supports ${migrations.length}. ` +
      'Start the newer Sluice again, or restore a backup from before its upgrade.',
  )
}

/** Runs the next step in its own transaction; false if there is none. */
async function takeStep<Tables extends Migrated>(
  database: Database<Tables>,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<boolean> {
  return database.write(async (transaction) => {
    if (database.schemaName !== undefined) await ensureSchema(transaction, database.schemaName)
    const db = transaction as unknown as Transaction<Migrated>
    await ensureMigrationsTable(db)
    const version = await versionIn(db)
    refuseNewer(version, migrations)
    const next = migrations[version]
    if (!next) return false
    await next.up(transaction as unknown as Transaction<unknown>, database.engine, database.schemaName)
    await db
      .insertInto('migrations')
      .values({ version: version + 1, name: next.name, applied_ms: nowMs })
      .execute()
    return true
  })
}

/** Brings a database to the current schema. Several processes may do this at once; a current database is only read. */
export async function migrate<Tables extends Migrated>(
  database: Database<Tables>,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<void> {
  const version = await readVersion(database)
  refuseNewer(version, migrations)
  if (version === migrations.length) return
  while (await takeStep(database, migrations, nowMs));
}

/** Text that both engines compare byte by byte; by default, PostgreSQL uses the server's collation. */
export const textType = (engine: Engine): RawBuilder<unknown> =>
  engine === 'postgres' ? sql`text collate "C"` : sql`text`
