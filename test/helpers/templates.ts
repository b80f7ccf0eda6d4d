import { cp } from 'node:fs/promises'
import pg from 'pg'
import { defaultDatabase } from '../../src/store/control/groups.ts'
import { openStore } from '../../src/store/open.ts'

/** The variables through which test processes find the databases migrated once per run. */
interface TemplateEnv {
  TEST_POSTGRES_URL: string
  TEST_POSTGRES_TEMPLATE: string
  TEST_SQLITE_TEMPLATE: string
}

let pool: pg.Pool | undefined

/** Over one connection for the process, which ends when nothing else is left to do. */
async function runStatement(serverUrl: string, statement: string): Promise<void> {
  pool ??= new pg.Pool({ connectionString: serverUrl, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true }).on(
    'error',
    () => {}, // a test, or the end of the run, has closed it; the next statement connects again
  )
  await pool.query(statement)
}

function databaseUrlOf(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Creates an empty database to be filled once. */
export async function createTemplateDatabase(serverUrl: string, name: string): Promise<string> {
  await runStatement(serverUrl, `create database ${name}`)
  return databaseUrlOf(serverUrl, name)
}

async function migrateAll(dataDir: string, databaseUrl: string | undefined): Promise<void> {
  const onConnectionError = (error: Error): never => {
    throw error
  }
  const store = await openStore({ dataDir, databaseUrl, clock: () => 0, onConnectionError })
  await store.content(defaultDatabase)
  await store.close()
}

/** Migrates a database on each engine, to be copied by the tests. */
export async function createTemplates(folder: string, serverUrl: string): Promise<TemplateEnv> {
  const template = 'migrated'
  await migrateAll(folder, await createTemplateDatabase(serverUrl, template))
  await migrateAll(folder, undefined)
  return { TEST_POSTGRES_URL: serverUrl, TEST_POSTGRES_TEMPLATE: template, TEST_SQLITE_TEMPLATE: folder }
}

/** Copies the migrated SQLite files into a data folder. */
export async function copySqliteTemplate(dataDir: string): Promise<void> {
  const { TEST_SQLITE_TEMPLATE: template } = process.env
  if (template) await cp(template, dataDir, { recursive: true })
}

export interface PostgresDatabase {
  url: string
  drop(): Promise<void>
}

/** A separate database on the server of this run: empty, or a copy of a template. */
export async function createPostgresDatabase(template = 'template1'): Promise<PostgresDatabase> {
  const { TEST_POSTGRES_URL: serverUrl } = process.env
  if (!serverUrl)
    throw new Error('TEST_POSTGRES_URL is not set: run the tests with "npm test", which starts a PostgreSQL.')
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2)}`
  await runStatement(serverUrl, `create database ${name} template ${template} strategy file_copy`)
  return {
    url: databaseUrlOf(serverUrl, name),
    drop: () => runStatement(serverUrl, `drop database ${name} with (force)`),
  }
}
