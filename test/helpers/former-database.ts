import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Database } from '../../src/store/engine/database.ts'
import { openPostgres, openPostgresPool } from '../../src/store/engine/postgres.ts'
import { openSqlite } from '../../src/store/engine/sqlite.ts'
import { migrate } from '../../src/store/schema/migrate.ts'
import { contentMigrations } from '../../src/store/schema/migrations/content.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'
import { createEmptyDatabase, type TestEngine } from './harness.ts'

/** An empty content database before a given migration. */
export async function openFormer(engine: TestEngine, step: string): Promise<Database<ContentTables>> {
  const stepsBefore = contentMigrations.findIndex(({ name }) => name === step)
  assert.ok(stepsBefore > 0, `there is no step "${step}"`)
  const testDatabase = await createEmptyDatabase(engine)
  const { DATA_DIR, DATABASE_URL } = testDatabase.env
  const pool = engine === 'postgres' ? await openPostgresPool(DATABASE_URL, () => {}) : undefined
  mkdirSync(join(DATA_DIR, 'databases'), { recursive: true })
  const database = pool
    ? openPostgres<ContentTables>(pool, 'sluice_main')
    : openSqlite<ContentTables>(join(DATA_DIR, 'databases/main.sqlite'))
  after(async () => {
    await database.close()
    await pool?.end()
    await testDatabase.remove()
  })
  await migrate(database, contentMigrations.slice(0, stepsBefore), 0)
  return database
}
