import type { Store } from '../store.ts'

const flushEveryMs = 30_000

const tables = ['api_keys', 'admin_tokens'] as const
type UsedTable = (typeof tables)[number]

/** Collects the last uses of keys and tokens and writes them twice a minute, so that a request costs no write. */
export interface LastUses {
  note(table: UsedTable, id: string, nowMs: number): void
  flush(): Promise<void>
  close(): Promise<void>
}

export function createLastUses(store: Store, onError: (error: unknown) => void): LastUses {
  const uses: Record<UsedTable, Map<string, number>> = { api_keys: new Map(), admin_tokens: new Map() }

  async function flush(): Promise<void> {
    // All servers write in the order of the ids, which prevents deadlocks.
    const taken = tables.map((table) => [table, [...uses[table]].sort()] as const)
    for (const table of tables) uses[table].clear()
    if (taken.every(([, used]) => used.length === 0)) return
    try {
      await store.control.write(async (db) => {
        for (const [table, used] of taken) {
          for (const [id, atMs] of used) {
            await db
              .updateTable(table)
              .set({ last_used_ms: atMs })
              .where('id', '=', id)
              .where((eb) => eb.or([eb('last_used_ms', 'is', null), eb('last_used_ms', '<', atMs)]))
              .execute()
          }
        }
      })
    } catch (error) {
      for (const [table, used] of taken) uses[table] = new Map([...used, ...uses[table]])
      throw error
    }
  }

  const timer = setInterval(() => void flush().catch(onError), flushEveryMs)
  timer.unref()
  return {
    note: (table, id, nowMs) => void uses[table].set(id, nowMs),
    flush,
    async close() {
      clearInterval(timer)
      await flush().catch(onError)
    },
  }
}
