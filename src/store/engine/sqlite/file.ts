import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { createLruMap } from '../../../cache/lru-map.ts'

export const sqliteBusy = 5
export const sqliteInterrupt = 9
export const sqliteIoError = 10
export const sqliteCorrupt = 11

/** Ignores the extended part of an error code. */
export const isSqliteError = (error: unknown, code: number): error is Error =>
  error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === code

/** An SQL function that long statements call for each row. In a worker it throws after the time limit. */
export const timeFunction = 'in_time'
/** An SQL function that tells whether a statement may examine one more text; see `createByteBudget`. */
export const budgetFunction = 'in_budget'
/** How long a reader may wait, blocking, for another process to finish recovering the file. */
const readTimeoutMs = 1000
const maxCachedStatements = 300
/** Longer texts are bulk inserts of odd sizes, which rarely repeat. */
const maxCachedCharacters = 20_000

/**
 * Whether the texts that the statement of this number has examined before have fewer bytes than `maxBytes`. A window function
 * would copy all texts before the first one is examined.
 */
function createByteBudget() {
  let current: SQLOutputValue | undefined
  let spent = 0
  return (statement: SQLOutputValue, bytes: SQLOutputValue, maxBytes: SQLOutputValue): number => {
    if (statement !== current) spent = 0
    current = statement
    const isLeft = spent < Number(maxBytes)
    spent += Number(bytes)
    return isLeft ? 1 : 0
  }
}

/** SQLite does not say which file it could not open. */
export function openFile(path: string): DatabaseSync {
  try {
    const file = new DatabaseSync(path, { timeout: readTimeoutMs, enableForeignKeyConstraints: true })
    file.function(timeFunction, () => 1)
    file.function(budgetFunction, createByteBudget())
    return file
  } catch (error) {
    if (error instanceof Error) error.message = `${path}: ${error.message}`
    throw error
  }
}

export function openReadOnly(path: string): DatabaseSync {
  const reader = openFile(path)
  reader.exec('pragma query_only = on')
  return reader
}

/** An LRU cache of prepared statements. */
export function createStatementCache<Prepared>(prepare: (text: string) => Prepared): (text: string) => Prepared {
  const known = createLruMap<string, Prepared>(maxCachedStatements)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const prepared = prepare(text)
    if (text.length <= maxCachedCharacters) known.set(text, prepared)
    return prepared
  }
}
