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

/**
 * Gives texts that come again and again a name, under which a connection has PostgreSQL read and plan them only once. A
 * statement that takes whatever columns there are gets none: it would fail after a migration has added one.
 */
export type StatementNames = (text: string) => string | undefined

export function createStatementNames(): StatementNames {
  const names = new Map<string, string>()
  const uses = createBoundedMap<string, number>(textsWatched)
  return (text) => {
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
  }
}

/** A pool whose connections prepare what is asked of them often. */
export function preparingPool(pool: Pool, nameOf: StatementNames): PostgresPool {
  const clients = new WeakMap<PoolClient, PostgresPoolClient>()

  function preparing(client: PoolClient): PostgresPoolClient {
    const query = (text: string, parameters: readonly unknown[]) => {
      const name = parameters.length > 0 ? nameOf(text) : undefined
      return client.query({ text, values: [...parameters], ...(name !== undefined && { name }) })
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
