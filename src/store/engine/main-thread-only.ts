import type { ContentTables } from '../schema/tables.ts'
import { sqlitePath } from '../store.ts'
import type { Database } from './database.ts'
import { openSqliteReader } from './sqlite/reader.ts'

/** Each thread keeps so much of each file. */
const cacheKb = 8 * 1024

/** Thrown for what is to be done in the main thread. */
export class MainThreadOnly extends Error {
  constructor() {
    super('This thread reads, and nothing that takes long.')
  }
}

const refuse = async (): Promise<never> => {
  throw new MainThreadOnly()
}

/** The content databases of SQLite for a thread that makes answers beside the main one, which has opened them before. */
export function openReadOnlyStore(dataDir: string): { content(name: string): Promise<Database<ContentTables>> } {
  const opened = new Map<string, Database<ContentTables>>()
  function open(name: string): Database<ContentTables> {
    const reading = openSqliteReader<ContentTables>(sqlitePath(dataDir, name), cacheKb)
    return {
      engine: 'sqlite',
      schemaName: undefined,
      read: reading.read,
      readRowArrays: reading.readRowArrays,
      snapshot: refuse,
      readLong: refuse,
      withLongReadPermit: refuse,
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
