import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { type Database, logTo, type QueryListener } from './database.ts'

/** How long a reader may wait, blocking, for another process to finish recovering the file. */
const readTimeoutMs = 1000
/** How long a writer waits, without blocking, for another process's transaction. */
const writeTimeoutMs = 10_000
const writeRetryMs = 5
const maxCachedStatements = 300
const sqliteBusy = 5

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === sqliteBusy
}

/** One SQLite connection for Kysely. Statements are prepared once; `node:sqlite` is synchronous, so are they. */
function createConnection(file: DatabaseSync): DatabaseConnection {
  const statements = new Map<string, { statement: StatementSync; returnsRows: boolean }>()

  function prepare(text: string) {
    const known = statements.get(text)
    if (known) return known
    if (statements.size >= maxCachedStatements) statements.delete(statements.keys().next().value ?? '')
    const statement = file.prepare(text)
    const prepared = { statement, returnsRows: statement.columns().length > 0 }
    statements.set(text, prepared)
    return prepared
  }

  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { statement, returnsRows } = prepare(sql)
      const values = parameters as SQLInputValue[]
      if (returnsRows) return { rows: statement.all(...values) as Row[] }
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
async function beginImmediate(connection: DatabaseConnection): Promise<void> {
  const deadline = performance.now() + writeTimeoutMs
  for (;;) {
    try {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'))
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      await sleep(writeRetryMs)
    }
  }
}

function createDialect(file: DatabaseSync): Dialect {
  const connection = createConnection(file)
  const run = async (text: string): Promise<void> => void (await connection.executeQuery(CompiledQuery.raw(text)))
  const driver: Driver = {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: () => beginImmediate(connection),
    commitTransaction: () => run('commit'),
    rollbackTransaction: () => run('rollback'),
    releaseConnection: async () => {},
    destroy: async () => file.close(),
  }
  return {
    createDriver: () => driver,
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

function openFile(path: string, timeoutMs: number): DatabaseSync {
  const file = new DatabaseSync(path, { timeout: timeoutMs })
  file.exec('pragma foreign_keys = on')
  return file
}

export function openSqlite<Tables>(path: string, onQuery?: QueryListener): Database<Tables> {
  const writer = openFile(path, readTimeoutMs)
  // The journal mode is stored in the file; `synchronous = full` makes every acknowledged commit survive a power cut.
  writer.exec('pragma journal_mode = wal; pragma synchronous = full')
  const reader = openFile(path, readTimeoutMs)
  reader.exec('pragma query_only = on')
  writer.exec('pragma busy_timeout = 0') // from here on `beginImmediate` waits, without blocking the process
  const read = new Kysely<Tables>({ dialect: createDialect(reader), log: logTo(onQuery) })
  const written = new Kysely<Tables>({ dialect: createDialect(writer), log: logTo(onQuery) })
  return {
    engine: 'sqlite',
    schemaName: undefined,
    read,
    write: (work) => written.transaction().execute(work), // Kysely lets one in at a time
    close: async () => {
      await written.destroy()
      await read.destroy()
    },
  }
}
