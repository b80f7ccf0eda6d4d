import type { KyselyPlugin } from 'kysely'
import type { Database } from './database.ts'
import { sqliteFileOf } from './open.ts'
import { openReading } from './sqlite/reading.ts'
import type { ContentTables } from './tables.ts'

/** Each thread keeps so much of each file. */
const cacheKb = 32 * 1024

/** Thrown for what is to be done in the main thread. */
export class NotHere extends Error {
  constructor() {
    super('This thread reads, and nothing that takes long or is large.')
  }
}

const refuse = async (): Promise<never> => {
  throw new NotHere()
}

/**
 * Of more than this the main thread makes the answer. Taken apart, put together and with the addresses of its files, content
 * may become a hundred times as long, and where one text is too large for a thread's heap V8 ends the whole process.
 */
const mostCharacters = 2_000_000

function refuseMuch(rows: Iterable<Iterable<unknown>>): void {
  let characters = 0
  for (const row of rows) for (const value of row) if (typeof value === 'string') characters += value.length
  if (characters > mostCharacters) throw new NotHere()
}

const refusesMuch: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  async transformResult({ result }) {
    refuseMuch(result.rows.map((row) => Object.values(row)))
    return result
  },
}

/** The content databases of SQLite for a thread that makes answers beside the main one, which has opened them before. */
export function openReadings(dataDir: string): { content(name: string): Promise<Database<ContentTables>> } {
  const opened = new Map<string, Database<ContentTables>>()
  function open(name: string): Database<ContentTables> {
    const reading = openReading<ContentTables>(sqliteFileOf(dataDir, name), cacheKb)
    return {
      engine: 'sqlite',
      schemaName: undefined,
      read: reading.read.withPlugin(refusesMuch),
      async readValues(text, parameters) {
        const rows = await reading.readValues(text, parameters)
        refuseMuch(rows)
        return rows
      },
      snapshot: refuse,
      readAside: refuse,
      inLongTurn: refuse,
      write: refuse,
      onRevision: () => {},
      close: async () => reading.close(),
    }
  }
  return {
    async content(name) {
      const known = opened.get(name)
      if (known) return known
      const database = open(name)
      opened.set(name, database)
      return database
    },
  }
}
