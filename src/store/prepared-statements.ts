import { hash } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import { createBoundedMap } from '../bounded-map.ts'

/** Every connection keeps them all, and PostgreSQL some 50 KB for each. */
const mostPrepared = 200
const longestText = 8000
/** What is asked for less often than this is not worth a place. */
const usesBefore = 3
const textsWatched = 2000

export interface StatementNames {
  /**
   * Gives texts that come again and again a name, under which a connection has PostgreSQL read and plan them only once. A
   * statement that takes whatever columns there are gets none: it would fail after a migration has added one.
   */
  nameOf(text: string): string | undefined
  /** Nothing is named any more once a failure shows that prepared statements get lost. */
  observe(error: unknown): void
}

/** "Does not exist" and "already exists": a pooler has given us the session of somebody else. */
const lostStatementCodes = new Set(['26000', '42P05'])

export const isStatementLost = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && lostStatementCodes.has(String(error.code))

/** `onLost` hears once that statements get lost. */
export function createStatementNames(onLost: () => void = () => {}): StatementNames {
  const names = new Map<string, string>()
  const uses = createBoundedMap<string, number>(textsWatched)
  let areLost = false
  return {
    nameOf(text) {
      if (areLost) return undefined
      const known = names.get(text)
      if (known !== undefined || names.size >= mostPrepared) return known
      if (text.length > longestText || /\b(select|returning) \*|\.\*/.test(text)) return undefined
      const used = (uses.get(text) ?? 0) + 1
      uses.set(text, used)
      if (used < usesBefore) return undefined
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
 * Whether a statement that one connection prepares stays there. A pooler that shares the sessions of PostgreSQL among its
 * clients, and does not know of prepared statements, hands the first one's session to the second.
 */
export async function keepsStatements(pool: Pool): Promise<boolean> {
  if (pool.options.max < 2) return true // not to be found out with one connection; `observe` sees it later
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

/** A pool whose connections prepare what is asked of them often. */
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
      query: query as unknown as PostgresPoolClient['query'], // which knows cursors, too: we have none
      release: (isBroken) => client.release(isBroken),
    }
  }

  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect()
      const known = clients.get(client) ?? preparing(client)
      clients.set(client, known) // Kysely knows a connection by this object
      return known
    },
  }
}
