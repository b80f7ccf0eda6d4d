import type { ContentTables } from '../schema/tables.ts'
import { sqlitePath } from '../store.ts'
import type { Database } from './database.ts'
import { openSqliteReader } from './sqlite/reader.ts'

/** SQLite's page cache for each file in each thread. */
const cacheKb = 8 * 1024

/** Thrown for operations that only the main thread supports. */
export class MainThreadOnly extends Error {
  constructor() {
    super('Only the main thread writes and runs long reads.')
  }
}

const refuse = async (): Promise<never> => {
  throw new MainThreadOnly()
}

/** SQLite's content databases for a worker thread that builds answers. The main thread has opened and migrated them. */
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
      settleDue: refuse,
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
