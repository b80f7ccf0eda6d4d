import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely } from 'kysely'
import { type Database, type Listeners, queryLog } from '../database.ts'
import { createDialect, createYieldPoint } from './connection.ts'
import { createStatementCache, openReadOnly } from './file.ts'

const maxIdleSnapshots = 4

/** Read access to a database from one thread. */
export interface SqliteReader<Tables> extends Pick<Database<Tables>, 'read' | 'readRowArrays' | 'snapshot'> {
  reader: DatabaseSync
  close(): void
}

export const queryOf = <Tables>(file: DatabaseSync, { onQuery }: Listeners): Kysely<Tables> =>
  new Kysely<Tables>({ dialect: createDialect(file), log: queryLog(onQuery) })

/** Rows as arrays are faster than objects. */
function readsValues(reader: DatabaseSync, { onQuery }: Listeners): Database<unknown>['readRowArrays'] {
  const prepare = createStatementCache((text) => {
    const statement = reader.prepare(text)
    statement.setReturnArrays(true)
    return statement
  })
  const pause = createYieldPoint()
  return async (text, parameters) => {
    await pause()
    const startMs = performance.now()
    const rows: unknown = prepare(text).all(...(parameters as readonly SQLInputValue[]))
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows as unknown[][] // the typings lack setReturnArrays
  }
}

/** `cacheKb` is the size of SQLite's page cache. */
export function openSqliteReader<Tables>(
  path: string,
  cacheKb: number,
  listeners: Listeners = {},
): SqliteReader<Tables> {
  const reader = openReadOnly(path)
  reader.exec(`pragma cache_size = -${cacheKb}`)

  /** Each snapshot has its own connection, from a small pool. */
  const idleSnapshots: { file: DatabaseSync; read: Kysely<Tables> }[] = []
  const openSnapshot = () => {
    const file = openReadOnly(path)
    return { file, read: queryOf<Tables>(file, listeners) }
  }

  return {
    reader,
    read: queryOf(reader, listeners),
    readRowArrays: readsValues(reader, listeners),
    async snapshot(work) {
      const snapshot = idleSnapshots.pop() ?? openSnapshot()
      try {
        snapshot.file.exec('begin')
        return await work(snapshot.read)
      } finally {
        if (snapshot.file.isTransaction) snapshot.file.exec('rollback') // nothing was written
        if (idleSnapshots.length < maxIdleSnapshots) idleSnapshots.push(snapshot)
        else snapshot.file.close()
      }
    },
    close() {
      for (const { file } of [...idleSnapshots.splice(0), { file: reader }]) file.close()
    },
  }
}
