import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely } from 'kysely'
import { type Database, type Listeners, logTo } from '../database.ts'
import { createDialect, createPauses } from './connection.ts'
import { createPreparer, openReader } from './file.ts'

const mostIdleSnapshots = 4

/** What reads a database in one thread. */
export interface Reading<Tables> extends Pick<Database<Tables>, 'read' | 'readValues' | 'snapshot'> {
  reader: DatabaseSync
  close(): void
}

export const queryOf = <Tables>(file: DatabaseSync, { onQuery }: Listeners): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: createDialect(file), log: logTo(onQuery) })

/** Rows as arrays are made and read faster than as objects. */
function readsValues(reader: DatabaseSync, { onQuery }: Listeners): Database<unknown>['readValues'] {
  const prepare = createPreparer((text) => {
    const statement = reader.prepare(text)
    statement.setReturnArrays(true)
    return statement
  })
  const pause = createPauses()
  return async (text, parameters) => {
    await pause()
    const startMs = performance.now()
    const rows: unknown = prepare(text).all(...(parameters as readonly SQLInputValue[]))
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows as unknown[][] // what the typings do not know of
  }
}

/** `cacheKb` is what SQLite keeps of the file as it fills up: to ask the system for a page again takes longer. */
export function openReading<Tables>(path: string, cacheKb: number, listeners: Listeners = {}): Reading<Tables> {
  const reader = openReader(path)
  reader.exec(`pragma cache_size = -${cacheKb}`)

  /** A connection of its own: what others read meanwhile is not held back to its moment. A few are kept for the next. */
  const idleSnapshots: { file: DatabaseSync; read: Kysely<Tables> }[] = []
  const openSnapshot = () => {
    const file = openReader(path)
    return { file, read: queryOf<Tables>(file, listeners) }
  }

  return {
    reader,
    read: queryOf(reader, listeners),
    readValues: readsValues(reader, listeners),
    async snapshot(work) {
      const snapshot = idleSnapshots.pop() ?? openSnapshot()
      try {
        snapshot.file.exec('begin')
        return await work(snapshot.read)
      } finally {
        if (snapshot.file.isTransaction) snapshot.file.exec('rollback') // nothing was written
        if (idleSnapshots.length < mostIdleSnapshots) idleSnapshots.push(snapshot)
        else snapshot.file.close()
      }
    },
    close() {
      for (const { file } of [...idleSnapshots.splice(0), { file: reader }]) file.close()
    },
  }
}
