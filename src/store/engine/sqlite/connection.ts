import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { createStatementCache, isSqliteError, sqliteBusy } from './file.ts'

/** How long a writer waits, without blocking, for another process's transaction. */
const writeTimeoutMs = 20_000
const writeRetryMs = 5
/** How long a series of statements may block the event loop. */
const turnEveryMs = 5

// biome-ignore lint/correctness/useYield: Kysely asks for a generator, and we never stream
async function* refuseToStream(): AsyncGenerator<never> {
  throw new Error('Streaming is not used with SQLite.')
}

interface Prepared {
  statement: StatementSync
  hasRows: boolean
}

/** Yields between synchronous statements, a long series of which would starve the event loop. */
export function createYieldPoint(): () => Promise<void> | undefined {
  /** When the first statement ran in this turn of the event loop. */
  let turnStartMs: number | undefined
  return () => {
    if (turnStartMs !== undefined) return performance.now() - turnStartMs >= turnEveryMs ? nextTurn() : undefined
    turnStartMs = performance.now()
    setImmediate(() => {
      turnStartMs = undefined
    })
    return undefined
  }
}

/** One SQLite connection for Kysely. `node:sqlite` is synchronous, so are its statements. */
function createConnection(file: DatabaseSync): DatabaseConnection {
  const prepare = createStatementCache((text): Prepared => {
    const statement = file.prepare(text)
    return { statement, hasRows: statement.columns().length > 0 }
  })
  const pause = createYieldPoint()

  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      await pause()
      const { statement, hasRows } = prepare(sql)
      const values = parameters as SQLInputValue[]
      if (hasRows) return { rows: statement.all(...values) as Row[] }
      const { changes } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes) }
    },
    streamQuery: refuseToStream,
  }
}

/** A worker's read connection inside a transaction. */
function createRemoteConnection(
  read: (text: string, parameters: readonly SQLInputValue[]) => Promise<unknown[]>,
): DatabaseConnection {
  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      return { rows: (await read(sql, parameters as SQLInputValue[])) as Row[] }
    },
    streamQuery: refuseToStream,
  }
}

/** `begin immediate` takes the write lock at once, so a transaction never fails halfway. */
async function beginImmediate(file: DatabaseSync): Promise<void> {
  await nextTurn() // let readers run between queued writers
  const deadline = performance.now() + writeTimeoutMs
  for (;;) {
    try {
      file.exec('begin immediate')
      return
    } catch (error) {
      if (!isSqliteError(error, sqliteBusy) || performance.now() > deadline) throw error
      await sleep(writeRetryMs)
    }
  }
}

const dialectOf = (driver: Driver): Dialect => ({
  createDriver: () => driver,
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
})

export function createDialect(file: DatabaseSync): Dialect {
  const connection = createConnection(file)
  return dialectOf({
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: () => beginImmediate(file),
    commitTransaction: async () => file.exec('commit'),
    // SQLite rolls back by itself when the disk is full; a second rollback would hide the cause.
    rollbackTransaction: async () => {
      if (file.isTransaction) file.exec('rollback')
    },
    releaseConnection: async () => {},
    destroy: async () => {}, // the file is closed by its opener
  })
}

export function createRemoteDialect(read: Parameters<typeof createRemoteConnection>[0]): Dialect {
  const connection = createRemoteConnection(read)
  const refuse = async (): Promise<never> => {
    throw new Error('Nothing is written in a snapshot.')
  }
  return dialectOf({
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => {},
  })
}
