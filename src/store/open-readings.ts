import type { Database } from './database.ts'
import { sqliteFileOf } from './open.ts'
import { openReading } from './sqlite/reading.ts'
import type { ContentTables } from './tables.ts'

/** Each thread keeps so much of each file. */
const cacheKb = 32 * 1024

/** Thrown for what is to be done in the main thread. */
export class NotHere extends Error {
  constructor() {
    super('This thread reads, and nothing that takes long.')
  }
}

const refuse = async (): Promise<never> => {
  throw new NotHere()
}

/** The content databases of SQLite for a thread that makes answers beside the main one, which has opened them before. */
export function openReadings(dataDir: string): { content(name: string): Promise<Database<ContentTables>> } {
  const opened = new Map<string, Database<ContentTables>>()
  function open(name: string): Database<ContentTables> {
    const reading = openReading<ContentTables>(sqliteFileOf(dataDir, name), cacheKb)
    return {
      engine: 'sqlite',
      schemaName: undefined,
      read: reading.read,
      readValues: reading.readValues,
      snapshot: refuse,
      readAside: refuse,
      inLongTurn: refuse,
      write: refuse,
      onRevision: () => {},
      onAccess: () => {},
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
