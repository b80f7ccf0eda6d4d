import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database, Engine } from './database.ts'
import type { MigrationRow } from './tables.ts'

/** One step of a schema's history. The list only ever grows at its end; a step that has landed is never edited. */
export interface Migration {
  name: string
  up(db: Transaction<unknown>, engine: Engine): Promise<void>
}

type Migrated = { migrations: MigrationRow }

/** Any number; all processes that migrate must agree on it. */
const advisoryLock = 7_236_001

async function ensureMigrationsTable(db: Kysely<Migrated>): Promise<void> {
  await db.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_ms', 'bigint', (column) => column.notNull())
    .execute()
}

async function currentVersion(db: Kysely<Migrated>): Promise<number> {
  const row = await db
    .selectFrom('migrations')
    .select(({ fn }) => fn.max('version').as('version'))
    .executeTakeFirst()
  return Number(row?.version ?? 0)
}

function refuseNewer(version: number, migrations: readonly Migration[]): void {
  if (version <= migrations.length) return
  throw new Error(
    `The database is at schema version ${version}, this Sluice knows ${migrations.length}. ` +
      'Start the newer Sluice again, or restore a backup from before its upgrade.',
  )
}

/** Brings a database to the current schema, one transaction a step. Several processes may do this at the same moment. */
export async function migrate<Tables extends Migrated>(
  database: Database<Tables>,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<string[]> {
  const applied: string[] = []
  for (let done = false; !done; ) {
    await database.write(async (transaction) => {
      if (database.schemaName !== undefined) {
        await sql`select pg_advisory_xact_lock(${advisoryLock})`.execute(transaction)
        await sql`create schema if not exists ${sql.id(database.schemaName)}`.execute(transaction)
      }
      const db = transaction as unknown as Transaction<Migrated>
      await ensureMigrationsTable(db)
      const version = await currentVersion(db)
      refuseNewer(version, migrations)
      const next = migrations[version]
      if (!next) {
        done = true
        return
      }
      await next.up(transaction as unknown as Transaction<unknown>, database.engine)
      await db
        .insertInto('migrations')
        .values({ version: version + 1, name: next.name, applied_ms: nowMs })
        .execute()
      applied.push(next.name)
    })
  }
  return applied
}

/** True when every step has been taken. For the readiness check, which must not write. */
export async function isCurrent<Tables extends Migrated>(
  database: Database<Tables>,
  migrations: readonly Migration[],
): Promise<boolean> {
  return (await currentVersion(database.read as unknown as Kysely<Migrated>)) === migrations.length
}
