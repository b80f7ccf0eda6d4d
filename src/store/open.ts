import { mkdirSync } from 'node:fs'
import type { Pool } from 'pg'
import type { Clock } from '../core/clock.ts'
import { createSettler } from './content/settle-due.ts'
import type { AccessListener, Database, QueryListener, RevisionListener } from './engine/database.ts'
import { longReadPool, openPostgres, openPostgresPool } from './engine/postgres.ts'
import { createStatementNames, type StatementNames, supportsPreparedStatements } from './engine/prepared-statements.ts'
import { createSqliteWorker } from './engine/sqlite/worker-client.ts'
import { openSqlite } from './engine/sqlite.ts'
import type { ControlTables } from './schema/control-tables.ts'
import { migrate, readVersion } from './schema/migrate.ts'
import { contentMigrations } from './schema/migrations/content.ts'
import { controlMigrations } from './schema/migrations/control.ts'
import type { ContentTables } from './schema/tables.ts'
import {
  controlName,
  databaseNamePattern,
  databaseNamesInUse,
  databasesFolder,
  type PoolUse,
  type Quotas,
  type Store,
  schemaOf,
  sqlitePath,
} from './store.ts'

export interface StoreOptions {
  dataDir: string
  /** `postgres://…`; undefined for SQLite files in `dataDir`. */
  databaseUrl: string | undefined
  /** The largest answer; bounds the memory of worker threads. */
  maxAnswerBytes?: number
  /** PostgreSQL only: false where a pooler cannot hold prepared statements. */
  preparesStatements?: boolean | undefined
  clock: Clock
  onConnectionError(error: Error): void
  /** PostgreSQL only: called when a pooler loses prepared statements; none is prepared from then on. */
  onStatementsLost?(): void
  onQuery?: QueryListener | undefined
  onRevision?: RevisionListener | undefined
  onAccess?: AccessListener | undefined
  /** Storage quotas of groups; unlimited when undefined. */
  quotas?: Quotas | undefined
}

interface Opener {
  open<Tables>(name: string): Database<Tables>
  poolUse(): PoolUse | undefined
  isWriting(): boolean
  close(): Promise<void>
}

function sqliteOpener({ dataDir, maxAnswerBytes = 0, ...listeners }: StoreOptions): Opener {
  mkdirSync(databasesFolder(dataDir), { recursive: true, mode: 0o700 })
  const worker = createSqliteWorker({ maxAnswerBytes })
  const writes = { inWork: 0 }
  return {
    open: (name) => openSqlite(sqlitePath(dataDir, name), { ...listeners, worker, writes }),
    poolUse: () => undefined,
    isWriting: () => writes.inWork > 0,
    close: () => worker.close(),
  }
}

async function namesFor(pool: Pool, onLost: () => void): Promise<StatementNames | undefined> {
  try {
    if (await supportsPreparedStatements(pool)) return createStatementNames(onLost)
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
  const longReads = await openPostgresPool(url, onConnectionError, longReadPool)
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

/** Opens and migrates all databases in use. */
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
      return { ...database, settleDue: createSettler(database) }
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
    for (const name of await databaseNamesInUse(control)) await content(name)
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
      // A newer schema is fine: old servers keep serving during a rollout.
      if ((await readVersion(control)) < controlMigrations.length) return false
      const databases = await Promise.all((await databaseNamesInUse(control)).map(content))
      const versions = await Promise.all(databases.map(readVersion))
      return versions.every((version) => version >= contentMigrations.length)
    },
  }
}
