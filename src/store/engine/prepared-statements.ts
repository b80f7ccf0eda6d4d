import { hash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { createLruMap } from '../../cache/lru-map.ts'

/** PostgreSQL holds about 50 KB for each on every connection. */
const maxPreparedStatements = 200
const maxTextLength = 8000
/** A text is prepared from its third use on. */
const minUses = 3
const maxWatchedTexts = 2000

export interface StatementNames {
  /**
   * The name under which connections prepare a text that is used often. `select *` gets none: it would fail after a
   * migration has added a column.
   */
  nameOf(text: string): string | undefined
  /** Turns naming off once a failure shows that a pooler loses prepared statements. */
  observe(error: unknown): void
}

/** "Does not exist" and "already exists": a pooler has assigned us another client's session. */
const lostStatementCodes = new Set(['26000', '42P05'])

export const isStatementLost = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && lostStatementCodes.has(String(error.code))

/** `onLost` is called once. */
export function createStatementNames(onLost: () => void = () => {}): StatementNames {
  const names = new Map<string, string>()
  const uses = createLruMap<string, number>(maxWatchedTexts)
  let areLost = false
  return {
    nameOf(text) {
      if (areLost) return undefined
      const known = names.get(text)
      if (known !== undefined || names.size >= maxPreparedStatements) return known
      if (text.length > maxTextLength || /\b(select|returning) \*|\.\*/.test(text)) return undefined
      const used = (uses.get(text) ?? 0) + 1
      uses.set(text, used)
      if (used < minUses) return undefined
      const name = `s_${hash('sha256', text, 'base64url').slice(0, 22)}`
      names.set(text, name)
      uses.delete(text)
      return name
    },
    observe(error) {
      if (areLost || !isStatementLost(error)) return
      areLost = true
      onLost()
    },
  }
}

const probeRounds = 3

/**
 * Whether prepared statements stay on their connection. A pooler in transaction mode without support for them hands one
 * client's session to another.
 */
export async function supportsPreparedStatements(pool: Pool): Promise<boolean> {
  if (pool.options.max < 2) return true // cannot be tested with one connection; `observe` sees it later
  const probe = { name: 'sluice_probe', text: 'select $1::integer', values: [1] }
  const first = await pool.connect()
  try {
    const second = await pool.connect()
    try {
      for (let round = 0; round < probeRounds; round++) for (const client of [first, second]) await client.query(probe)
      return true
    } finally {
      second.release(true)
    }
  } catch (error) {
    if (isStatementLost(error)) return false
    throw error
  } finally {
    first.release()
  }
}

/** A pool whose connections prepare frequent statements. */
export function preparingPool(pool: Pool, { nameOf, observe }: StatementNames): PostgresPool {
  const clients = new WeakMap<PoolClient, PostgresPoolClient>()

  function preparing(client: PoolClient): PostgresPoolClient {
    const query = async (text: string, parameters: readonly unknown[]) => {
      const name = parameters.length > 0 ? nameOf(text) : undefined
      try {
        return await client.query({ text, values: [...parameters], ...(name !== undefined && { name }) })
      } catch (error) {
        observe(error)
        throw error
      }
    }
    return {
      query: query as unknown as PostgresPoolClient['query'], // without its overload for cursors
      release: (isBroken) => client.release(isBroken),
    }
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect()
      const known = clients.get(client) ?? preparing(client)
      clients.set(client, known) // Kysely identifies a connection by this object
      return known
    },
  }
}
