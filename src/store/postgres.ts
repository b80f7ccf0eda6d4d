import { Kysely, PostgresDialect } from 'kysely'
import type { Pool } from 'pg'
import { type Database, logTo, type QueryListener } from './database.ts'

const connectTimeoutMs = 5000
const statementTimeoutMs = 15_000
const int8 = 20

/** One pool for all databases of the service: each is a schema, and every statement names its schema. */
export async function openPostgresPool(url: string, onIdleError: (error: Error) => void): Promise<Pool> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    types: {
      // Our 64-bit integers are milliseconds and counts, which a JavaScript number holds exactly.
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        id === int8 ? Number : pg.types.getTypeParser(id, format as 'text'),
    },
  })
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', onIdleError)
  // Compiling our short statements takes PostgreSQL far longer than running them.
  pool.on('connect', (client) => void client.query('set jit = off').catch(onIdleError))
  return pool
}

export function openPostgres<Tables>(pool: Pool, schemaName: string, onQuery?: QueryListener): Database<Tables> {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), log: logTo(onQuery) }).withSchema(schemaName)
  return {
    engine: 'postgres',
    schemaName,
    read: db,
    write: (work) => db.transaction().execute(work),
    close: async () => {}, // the pool is shared, and closed by who opened it
  }
}
