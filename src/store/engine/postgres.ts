import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'
import { createKeyedMutex } from '../../concurrency/semaphore.ts'
import {
  createLongReadSemaphore,
  type Database,
  type Listeners,
  queryLog,
  rawReader,
  readTimedOut,
} from './database.ts'
import { queryRowArrays, type RowArrayQuery } from './postgres-values.ts'
import { preparingPool, type StatementNames } from './prepared-statements.ts'

const connectTimeoutMs = 5000
const maxConnections = 10
const statementTimeoutMs = 15_000
/** Long reads have their own connections and, as with SQLite, a shorter timeout. */
const maxLongConnections = 3
const longStatementTimeoutMs = 5000
export const longReadPool = { max: maxLongConnections, timeoutMs: longStatementTimeoutMs }
/** PostgreSQL's code for a statement that hit its timeout. */
const queryCanceled = '57014'
/** Longer than any statement may take, and than the pool keeps idle connections (10 s). */
const silenceTimeoutMs = 20_000
const int8 = 20

/** A lost server (a cut cable, a frozen machine) causes no error, so a long silence counts as one. */
function openWatchedSocket(): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceTimeoutMs, () => {
    socket.destroy(new Error('Connection terminated: the database has fallen silent'))
  })
}

/** pg treats all of these as verify-full, with a warning of several lines each time. */
const verifyingModes = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/

const withPlainTlsMode = (url: string): string =>
  url.includes('uselibpqcompat=') ? url : url.replace(verifyingModes, '$1verify-full')

/** One pool for all databases of the service: each is a schema, and every statement names its schema. */
export async function openPostgresPool(
  url: string,
  onConnectionError: (error: Error) => void,
  { max, timeoutMs } = { max: maxConnections, timeoutMs: statementTimeoutMs },
): Promise<Pool> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: withPlainTlsMode(url),
    max,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    stream: openWatchedSocket,
    types: {
      // Our 64-bit integers are milliseconds and counts, which a JavaScript number holds exactly.
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        id === int8 ? Number : pg.types.getTypeParser(id, format as 'text'),
    },
    // As statements and not as start parameters, which poolers refuse. Compiling our short statements (jit) takes
    // PostgreSQL far longer than running them.
    onConnect: (client) => client.query(`set jit = off; set statement_timeout = ${timeoutMs}`).then(() => {}),
  })
  // The pool replaces broken connections, and their statements fail by themselves. But an `error` event without a
  // listener ends the process, so the pool has one for idle connections, and each connection has one while busy.
  pool.on('error', onConnectionError)
  pool.on('connect', (client) => client.on('error', onConnectionError))
  return pool
}

export interface PostgresOptions extends Listeners {
  /** Undefined when the server's pooler loses prepared statements. */
  statements?: StatementNames | undefined
  /** Connections for long reads; short commands use the main pool. */
  longReads?: Pool
}

const noNames: StatementNames = { nameOf: () => undefined, observe: () => {} }

function readsValues(
  pool: Pool,
  { nameOf, observe }: StatementNames,
  { onQuery }: Listeners,
): Database<unknown>['readRowArrays'] {
  const known: RowArrayQuery['known'] = new Map()
  return async (text, parameters) => {
    const startMs = performance.now()
    const rows = await queryRowArrays(pool, { text, name: nameOf(text), parameters, known }).catch((error) => {
      observe(error)
      throw error
    })
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows
  }
}

/** Translates the timeout of a long read. */
async function withReadTimeout<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading
  } catch (error) {
    throw (error as { code?: unknown } | null)?.code === queryCanceled ? readTimedOut() : error
  }
}

export function openPostgres<Tables>(pool: Pool, schemaName: string, options: PostgresOptions = {}): Database<Tables> {
  const { onQuery, onRevision = () => {}, onAccess = () => {}, statements = noNames, longReads = pool } = options
  const queryOf = (connections: Pool): Kysely<Tables> => {
    const dialect = new PostgresDialect({ pool: preparingPool(connections, statements) })
    return new Kysely<Tables>({ dialect, log: queryLog(onQuery) }).withSchema(schemaName)
  }
  const db = queryOf(pool)
  const long = queryOf(longReads)
  const writeMutex = createKeyedMutex()
  const { run: withLongReadPermit } = createLongReadSemaphore()
  const snapshot: Database<Tables>['snapshot'] = (work) =>
    long.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work)
  return {
    engine: 'postgres',
    schemaName,
    read: db,
    readLong: (text, parameters, whose) =>
      withLongReadPermit(whose, () => withReadTimeout(rawReader(long)(text, parameters))),
    withLongReadPermit,
    readRowArrays: readsValues(pool, statements, options),
    snapshot: (work, whose) => withLongReadPermit(whose, () => withReadTimeout(snapshot(work))),
    write: (work, whose) => writeMutex.run(whose, () => db.transaction().execute(work)),
    onRevision,
    settleDue: async () => {}, // see `openStore`
    onAccess,
    close: async () => {}, // the shared pool is closed by its opener
  }
}
