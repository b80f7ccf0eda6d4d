import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Clock } from '../clock.ts'
import type { ControlTables } from './control-tables.ts'
import type { AccessListener, Database, QueryListener, RevisionListener } from './database.ts'
import { migrate, readVersion } from './migrate.ts'
import { contentMigrations } from './migrations/content.ts'
import { controlMigrations } from './migrations/control.ts'
import { forLongReads, openPostgres, openPostgresPool } from './postgres.ts'
import { createStatementNames, keepsStatements, type StatementNames } from './prepared-statements.ts'
import { createAside } from './sqlite/aside.ts'
import { openSqlite } from './sqlite.ts'
import type { ContentTables } from './tables.ts'
import type { Quotas } from './usage.ts'

/** All databases of the service: `control` knows the groups, each named content database holds the content of some. */
export interface Store {
  control: Database<ControlTables>
  quotas: Quotas | undefined
  /** Opens a content database on its first use, and brings it to the current schema. */
  content(name: string): Promise<Database<ContentTables>>
  /** Whether every database answers and has all that this version needs. Throws when one does not answer. */
  isReady(): Promise<boolean>
  /** PostgreSQL only: what the connections are doing. */
  poolUse(): PoolUse | undefined
  /** SQLite only: whether the main thread is needed to write. */
  isWriting(): boolean
  close(): Promise<void>
}

export interface PoolUse {
  busy: number
  idle: number
  /** Pieces of work without a connection yet. */
  waiting: number
}

export interface StoreOptions {
  dataDir: string
  /** `postgres://…`, or undefined for SQLite files in `dataDir`. */
  databaseUrl: string | undefined
  /** How much is read at once at the most. */
  maxAnswerBytes?: number
  /** PostgreSQL only: whether connections keep prepared statements. A pooler of old cannot. */
  preparesStatements?: boolean | undefined
  clock: Clock
  onConnectionError(error: Error): void
  /** PostgreSQL only: a pooler loses prepared statements, so none is prepared from now on. */
  onStatementsLost?(): void
  onQuery?: QueryListener | undefined
  onRevision?: RevisionListener | undefined
  onAccess?: AccessListener | undefined
  /** How much each group may store; as much as there is room for where it is not said. */
  quotas?: Quotas | undefined
}

export const databaseNamePattern = /^[a-z][a-z0-9_]{0,39}$/
export const controlName = 'control'

const databasesFolder = (dataDir: string): string => join(dataDir, 'databases')

/** Where a database lies: with SQLite a file, with PostgreSQL a schema. */
export const sqliteFileOf = (dataDir: string, name: string): string =>
  name === controlName ? join(dataDir, 'control.sqlite') : join(databasesFolder(dataDir), `${name}.sqlite`)
export const schemaPrefix = 'sluice_'
export const schemaOf = (name: string): string => schemaPrefix + name

interface Opener {
  open<Tables>(name: string): Database<Tables>
  poolUse(): PoolUse | undefined
  isWriting(): boolean
  close(): Promise<void>
}

function sqliteOpener({ dataDir, maxAnswerBytes = 0, ...listeners }: StoreOptions): Opener {
  mkdirSync(databasesFolder(dataDir), { recursive: true, mode: 0o700 })
  const aside = createAside({ maxAnswerBytes })
  const writes = { inWork: 0 }
  return {
    open: (name) => openSqlite(sqliteFileOf(dataDir, name), { ...listeners, aside, writes }),
    poolUse: () => undefined,
    isWriting: () => writes.inWork > 0,
    close: () => aside.close(),
  }
}

async function namesFor(pool: Pool, onLost: () => void): Promise<StatementNames | undefined> {
  try {
    if (await keepsStatements(pool)) return createStatementNames(onLost)
    onLost()
    return undefined
  } catch (error) {
    await pool.end()
    throw error
  }
}

async function postgresOpener(url: string, options: StoreOptions): Promise<Opener> {
  const { onConnectionError, onStatementsLost = () => {}, preparesStatements = true, ...listeners } = options
  const pool = await openPostgresPool(url, onConnectionError)
  const statements = preparesStatements ? await namesFor(pool, onStatementsLost) : undefined
  const longReads = await openPostgresPool(url, onConnectionError, forLongReads)
  const all = [pool, longReads]
  const sum = (count: (of: Pool) => number): number => all.map(count).reduce((total, each) => total + each, 0)
  return {
    open: (name) => openPostgres(pool, schemaOf(name), { ...listeners, statements, longReads }),
    poolUse: () => ({
      busy: sum(({ totalCount, idleCount }) => totalCount - idleCount),
      idle: sum(({ idleCount }) => idleCount),
      waiting: sum(({ waitingCount }) => waitingCount),
    }),
    isWriting: () => false,
    async close() {
      await Promise.all(all.map((each) => each.end()))
    },
  }
}

/** The content databases in which groups live. */
export async function namesInUse(control: Database<ControlTables>): Promise<string[]> {
  const rows = await control.read.selectFrom('groups').select('database_name').distinct().execute()
  return rows.map((row) => row.database_name)
}

/** Opens everything there is, at the current schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, clock } = options
  const opener = databaseUrl === undefined ? sqliteOpener(options) : await postgresOpener(databaseUrl, options)
  const control = opener.open<ControlTables>(controlName)
  const opened = new Map<string, Promise<Database<ContentTables>>>()

  async function openContent(name: string): Promise<Database<ContentTables>> {
    if (!databaseNamePattern.test(name) || name === controlName) throw new Error(`"${name}" cannot name a database.`)
    const database = opener.open<ContentTables>(name)
    try {
      await migrate(database, contentMigrations, clock())
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  function content(name: string): Promise<Database<ContentTables>> {
    let database = opened.get(name)
    if (!database) {
      database = openContent(name)
      opened.set(name, database)
      database.catch(() => opened.delete(name)) // the next caller tries again
    }
    return database
  }

  async function close(): Promise<void> {
    await Promise.allSettled([...opened.values()].map(async (database) => (await database).close()))
    await control.close()
    await opener.close()
  }

  try {
    await migrate(control, controlMigrations, clock())
    for (const name of await namesInUse(control)) await content(name)
  } catch (error) {
    await close()
    throw error
  }
  return {
    control,
    quotas: options.quotas,
    content,
    poolUse: opener.poolUse,
    isWriting: opener.isWriting,
    close,
    async isReady() {
      // A newer schema will do: during a rollout the old servers go on serving.
      if ((await readVersion(control)) < controlMigrations.length) return false
      const databases = await Promise.all((await namesInUse(control)).map(content))
      const versions = await Promise.all(databases.map(readVersion))
      return versions.every((version) => version >= contentMigrations.length)
    },
  }
}
