import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'
import { type Database, type Listeners, logTo, readBy } from './database.ts'
import { createLongTurns, tooMuchToRead } from './long-reads.ts'
import { preparingPool, type StatementNames } from './prepared-statements.ts'
import { createTurns } from './turns.ts'
import { queryValues, type ValuesQuestion } from './values-query.ts'

const connectTimeoutMs = 5000
const maxConnections = 10
const statementTimeoutMs = 15_000
/** Long reads have connections of their own, so that nobody else waits for one. As for SQLite's, they are ended earlier. */
const maxLongConnections = 3
const longStatementTimeoutMs = 5000
export const forLongReads = { max: maxLongConnections, timeoutMs: longStatementTimeoutMs }
/** What PostgreSQL says when a statement is ended by its time-out. */
const queryCanceled = '57014'
/** Longer than any statement may take, and than the pool keeps idle connections (10 s). */
const silenceTimeoutMs = 20_000
const int8 = 20

/** A server that vanished without a word (a cut cable, a frozen machine) gives no error: silence for too long is one. */
function openWatchedSocket(): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceTimeoutMs, () => {
    socket.destroy(new Error('Connection terminated: the database has fallen silent'))
  })
}

/** As `pg` reads them, with a warning of several lines each time: all of these verify the certificate and the name. */
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
  // The pool replaces a connection that breaks, and what runs on it fails by itself. But an `error` event without a
  // listener ends the process, so there is one on the pool for idle connections and one on each for busy ones.
  pool.on('error', onConnectionError)
  pool.on('connect', (client) => client.on('error', onConnectionError))
  return pool
}

export interface PostgresOptions extends Listeners {
  /** Which statements are prepared; none where the server's pooler cannot keep them. */
  statements?: StatementNames | undefined
  /** Connections for what takes long; without them, as in short commands, it takes one of all. */
  longReads?: Pool
}

const noNames: StatementNames = { nameOf: () => undefined, observe: () => {} }

function readsValues(
  pool: Pool,
  { nameOf, observe }: StatementNames,
  { onQuery }: Listeners,
): Database<unknown>['readValues'] {
  const known: ValuesQuestion['known'] = new Map()
  return async (text, parameters) => {
    const startMs = performance.now()
    const rows = await queryValues(pool, { text, name: nameOf(text), parameters, known }).catch((error) => {
      observe(error)
      throw error
    })
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows
  }
}

/** What a statement of a long read fails with when it is ended. */
async function inTimeOrNot<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading
  } catch (error) {
    throw (error as { code?: unknown } | null)?.code === queryCanceled ? tooMuchToRead() : error
  }
}

export function openPostgres<Tables>(pool: Pool, schemaName: string, options: PostgresOptions = {}): Database<Tables> {
  const { onQuery, onRevision = () => {}, onAccess = () => {}, statements = noNames, longReads = pool } = options
  const queryOf = (connections: Pool): Kysely<Tables> => {
    const dialect = new PostgresDialect({ pool: preparingPool(connections, statements) })
    return new Kysely<Tables>({ dialect, log: logTo(onQuery) }).withSchema(schemaName)
  }
  const db = queryOf(pool)
  const long = queryOf(longReads)
  const takeTurn = createTurns()
  const inLongTurn = createLongTurns()
  const snapshot: Database<Tables>['snapshot'] = (work) =>
    long.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work)
  return {
    engine: 'postgres',
    schemaName,
    read: db,
    readAside: (text, parameters, whose) => inLongTurn(whose, () => inTimeOrNot(readBy(long)(text, parameters))),
    inLongTurn,
    readValues: readsValues(pool, statements, options),
    snapshot: (work, whose) => inLongTurn(whose, () => inTimeOrNot(snapshot(work))),
    write: (work, whose) => takeTurn(whose, () => db.transaction().execute(work)),
    onRevision,
    onAccess,
    close: async () => {}, // the pool is shared, and closed by who opened it
  }
}
