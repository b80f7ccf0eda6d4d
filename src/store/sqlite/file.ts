import { DatabaseSync } from 'node:sqlite'
import { createBoundedMap } from '../../bounded-map.ts'

export const sqliteBusy = 5
export const sqliteInterrupt = 9
export const sqliteIoError = 10
/** A function of SQL that long statements call for each row. Where they run aside it ends those that take too long. */
export const timeFunction = 'in_time'
/** How long a reader may wait, blocking, for another process to finish recovering the file. */
const readTimeoutMs = 1000
const maxCachedStatements = 300
/** Longer texts are bulk inserts of some odd size, which do not come again. */
const maxCachedCharacters = 20_000

/** SQLite does not say which file it could not open. */
export function openFile(path: string): DatabaseSync {
  try {
    const file = new DatabaseSync(path, { timeout: readTimeoutMs, enableForeignKeyConstraints: true })
    file.function(timeFunction, () => 1)
    return file
  } catch (error) {
    if (error instanceof Error) error.message = `${path}: ${error.message}`
    throw error
  }
}

export function openReader(path: string): DatabaseSync {
  const reader = openFile(path)
  reader.exec('pragma query_only = on')
  return reader
}

/** Prepares each text once, as long as it is in use. */
export function createPreparer<Prepared>(prepare: (text: string) => Prepared): (text: string) => Prepared {
  const known = createBoundedMap<string, Prepared>(maxCachedStatements)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const prepared = prepare(text)
    if (text.length <= maxCachedCharacters) known.set(text, prepared)
    return prepared
  }
}
