import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { AppError } from '../../core/errors.ts'
import type { Database, Engine } from '../engine/database.ts'
import type { MigrationRow } from './tables.ts'

/**
 * One step of a schema's history. The list only ever grows at its end; a step that has landed is never edited, and
 * leaves a schema that the version before can still read, so that servers of both can run during a rollout.
 * In SQLite foreign keys are on: dropping a table deletes the rows that refer to it.
 */
export interface Migration {
  name: string
  /** `schemaName`, with PostgreSQL only, is for what has no other way to name it. */
  up(db: Transaction<unknown>, engine: Engine, schemaName: string | undefined): Promise<void>
}

type Migrated = { migrations: MigrationRow }

/** Any number; all processes that migrate must agree on it. */
const advisoryLock = 7_236_001

/** Waits for others that migrate, and makes the schema where they have not. */
async function ensureSchema<Tables>(transaction: Transaction<Tables>, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLock})`.execute(transaction)
  // Not "create … if not exists": a session may remember from before the lock that there was no such schema.
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

/** The schema's version, 0 where there is nothing yet. Reads only. */
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
    `The database is at schema version ${version}, this Sluice knows ${migrations.length}. ` +
      'Start the newer Sluice again, or restore a backup from before its upgrade.',
  )
}

/** Takes the next step in a transaction of its own; false when there is none left. */
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

/** Brings a database to the current schema. Several processes may do this at the same moment; a current one is only read. */
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

/** Text that both engines compare byte by byte. PostgreSQL would otherwise sort by the server's language. */
export function textType(engine: Engine): RawBuilder<unknown> {
  return engine === 'postgres' ? sql`text collate "C"` : sql`text`
}
