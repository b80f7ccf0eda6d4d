import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after } from 'node:test'
import type { Database } from '../../src/store/engine/database.ts'
import { openPostgres, openPostgresPool } from '../../src/store/engine/postgres.ts'
import { openSqlite } from '../../src/store/engine/sqlite.ts'
import { type Migration, migrate } from '../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../src/store/schema/migrations/content.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import { createEmptyDatabase, type TestDatabase, type TestEngine } from './harness.ts'

function migrationsBefore(step: string): Migration[] {
  const count = contentMigrations.findIndex(({ name }) => name === step)
  assert.ok(count > 0, `there is no step "${step}"`)
  return contentMigrations.slice(0, count)
}

const mainFile = (dataDir: string): string => join(dataDir, 'databases/main.sqlite')
const mainSchema = 'sluice_main'

/** The content database without migrating it. */
export async function openAsItIs(engine: TestEngine, { env }: TestDatabase): Promise<Database<ContentTables>> {
  if (engine === 'sqlite') {
    mkdirSync(join(env.DATA_DIR, 'databases'), { recursive: true })
    return openSqlite(mainFile(env.DATA_DIR))
  }
  const pool = await openPostgresPool(env.DATABASE_URL, () => {})
  const database = openPostgres<ContentTables>(pool, mainSchema)
  return {
    ...database,
    async close() {
      await database.close()
      await pool.end()
    },
  }
}

/** An empty content database before a given migration. */
export async function openFormer(engine: TestEngine, step: string): Promise<Database<ContentTables>> {
  const testDatabase = await createEmptyDatabase(engine)
  const database = await openAsItIs(engine, testDatabase)
  after(async () => {
    await database.close()
    await testDatabase.remove()
  })
  await migrate(database, migrationsBefore(step), 0)
  return database
}

/** Maintained by triggers, or by the migration itself. */
const notCopied = ['migrations', 'totals', 'group_usage']

/** The tables in the order in which they were created, so that none refers to a later one. */
const sqliteTables =
  "select name from main.sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid"
const postgresTables = `select relname as name from pg_class where relnamespace = '${mainSchema}'::regnamespace and relkind = 'r' order by oid`

const copyStatement = (table: string, columns: string, into: string): string =>
  `insert into ${into}.${table} (${columns}) select ${columns} from present.${table}`

function copyIntoSqlite(file: string, presentFile: string): void {
  const db = new DatabaseSync(file)
  db.exec(`attach '${presentFile}' as present; begin`)
  for (const { name } of db.prepare(sqliteTables).all()) {
    if (notCopied.includes(String(name))) continue
    const columns = db.prepare('select name from pragma_table_info(?)').all(String(name))
    db.exec(copyStatement(String(name), columns.map((column) => column.name).join(', '), 'main'))
  }
  db.exec('commit')
  db.close()
}

async function copyIntoPostgres(url: string): Promise<void> {
  const pool = await openPostgresPool(url, () => {})
  const { rows: tables } = await pool.query(postgresTables)
  for (const { name } of tables) {
    if (notCopied.includes(name)) continue
    const { rows } = await pool.query(
      'select column_name from information_schema.columns where table_schema = $1 and table_name = $2',
      [mainSchema, name],
    )
    await pool.query(copyStatement(name, rows.map((row) => row.column_name).join(', '), mainSchema))
  }
  await pool.query('drop schema present cascade')
  await pool.end()
}

/** Replaces a content database, which nobody uses, by one of the schema before a given migration, with the same content. */
export async function makeFormer(
  engine: TestEngine,
  testDatabase: TestDatabase,
  step: string,
  change: (database: Database<ContentTables>) => Promise<void>,
): Promise<void> {
  const { DATA_DIR, DATABASE_URL } = testDatabase.env
  const file = mainFile(DATA_DIR)
  const presentFile = join(DATA_DIR, 'present.sqlite')
  if (engine === 'sqlite') renameSync(file, presentFile)
  else {
    const pool = await openPostgresPool(DATABASE_URL, () => {})
    await pool.query(`alter schema ${mainSchema} rename to present`)
    await pool.end()
  }
  const database = await openAsItIs(engine, testDatabase)
  await migrate(database, migrationsBefore(step), 0)
  if (engine === 'sqlite') copyIntoSqlite(file, presentFile)
  else await copyIntoPostgres(DATABASE_URL)
  rmSync(presentFile, { force: true })
  await change(database)
  await database.close()
}
