import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { createBoundedMap } from '../bounded-map.ts'
import { type Database, type Listeners, logTo } from './database.ts'

/** How long a reader may wait, blocking, for another process to finish recovering the file. */
const readTimeoutMs = 1000
/** How long a writer waits, without blocking, for another process's transaction. */
const writeTimeoutMs = 10_000
const writeRetryMs = 5
const maxCachedStatements = 300
/** Longer texts are bulk inserts of some odd size, which do not come again. */
const maxCachedCharacters = 20_000
const sqliteBusy = 5
/** How long a row of statements may keep everybody else waiting. */
const turnEveryMs = 20

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy
}

/** One SQLite connection for Kysely. Statements are prepared once; `node:sqlite` is synchronous, so are they. */
function createConnection(file: DatabaseSync): DatabaseConnection {
  const statements = createBoundedMap<string, StatementSync>(maxCachedStatements)
  let turnedMs = 0

  /** A long row of statements would never let the process do anything else, so it pauses now and then. */
  async function letOthersIn(): Promise<void> {
    if (performance.now() - turnedMs < turnEveryMs) return
    await nextTurn()
    turnedMs = performance.now()
  }

  function prepare(text: string): StatementSync {
    const known = statements.get(text)
    if (known) return known
    const statement = file.prepare(text)
    if (text.length <= maxCachedCharacters) statements.set(text, statement)
    return statement
  }

  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      await letOthersIn()
      const statement = prepare(sql)
      const values = parameters as SQLInputValue[]
      if (statement.columns().length > 0) return { rows: statement.all(...values) as Row[] }
      const { changes } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes) }
    },
    // biome-ignore lint/correctness/useYield: the interface asks for a generator, and we never stream
    async *streamQuery() {
      throw new Error('Streaming is not used with SQLite.')
    },
  }
}

/** `begin immediate` takes the write lock at once, so a transaction never fails half-way because another was faster. */
async function beginImmediate(file: DatabaseSync): Promise<void> {
  const deadline = performance.now() + writeTimeoutMs
  for (;;) {
    try {
      file.exec('begin immediate')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await sleep(writeRetryMs)
    }
  }
}

function createDialect(file: DatabaseSync): Dialect {
  const connection = createConnection(file)
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: () => beginImmediate(file),
    commitTransaction: async () => file.exec('commit'),
    // When the disk is full SQLite has rolled back by itself; a second time would hide the cause.
    rollbackTransaction: async () => {
      if (file.isTransaction) file.exec('rollback')
    },
    releaseConnection: async () => {},
    destroy: async () => {}, // who opened the file closes it
  }
  return {
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function openFile(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: readTimeoutMs, enableForeignKeyConstraints: true })
}

function openReader(path: string): DatabaseSync {
  const reader = openFile(path)
  reader.exec('pragma query_only = on')
  return reader
}

export function openSqlite<Tables>(path: string, { onQuery, onRevision = () => {} }: Listeners = {}): Database<Tables> {
  closeSync(openSync(path, 'a', 0o600)) // for its owner only; SQLite gives the files beside it the same mode
  const writer = openFile(path)
  // The journal mode is stored in the file; `synchronous = full` makes every acknowledged commit survive a power cut.
  writer.exec('pragma journal_mode = wal; pragma synchronous = full')
  const reader = openReader(path)
  writer.exec('pragma busy_timeout = 0') // from here on `beginImmediate` waits, without blocking the process
  const query = (file: DatabaseSync) => new Kysely<Tables>({ dialect: createDialect(file), log: logTo(onQuery) })
  const written = query(writer)
  return {
    engine: 'sqlite',
    schemaName: undefined,
    read: query(reader),
    async snapshot(work) {
      const file = openReader(path) // of its own: what others read meanwhile is not held back to this moment
      try {
        file.exec('begin')
        return await work(query(file))
      } finally {
        file.close() // ends the transaction too
      }
    },
    write: (work) => written.transaction().execute(work), // Kysely lets one in at a time
    onRevision,
    async close() {
      writer.close()
      reader.close()
    },
  }
}
