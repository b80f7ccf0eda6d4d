import { closeSync, existsSync, openSync } from 'node:fs'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely } from 'kysely'
import { type Database, type Listeners, logTo, readBy } from './database.ts'
import type { Aside } from './sqlite/aside.ts'
import { createCheckpoints } from './sqlite/checkpoints.ts'
import { createDialect, createPauses } from './sqlite/connection.ts'
import { createDurability, openWal, type Wal } from './sqlite/durability.ts'
import { createPreparer, openFile, openReader, sqliteIoError } from './sqlite/file.ts'
import { createTurns } from './turns.ts'

/** Checkpoints are made aside. This is for when that does not keep up, or does not work. */
const mostLogPages = 20_000

/** What SQLite keeps of a database's file for readers, as it fills up: to ask the system for a page again takes longer. */
const readerCacheKb = 64 * 1024

const mostIdleSnapshots = 4

export interface SqliteOptions extends Listeners {
  /** A thread for what takes long. Without one, as in short commands, everything is done in ours. */
  aside?: Aside | undefined
  /** The log; a test may bring its own. */
  wal?: Wal | undefined
}

const readsAside =
  (aside: Aside, path: string, { onQuery }: Listeners) =>
  async <Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> => {
    const startMs = performance.now()
    const rows = await aside.read(path, text, parameters as readonly SQLInputValue[])
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows as Row[]
  }

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

export function openSqlite<Tables>(path: string, options: SqliteOptions = {}): Database<Tables> {
  const { onQuery, onRevision = () => {}, aside, wal = openWal(path) } = options
  // For its owner only; SQLite gives the files beside it the same mode. A file that is there is left alone: closing it
  // would end the locks of others in this process.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const writer = openFile(path)
  // The journal mode is stored in the file. With `normal` a commit is written but not synced: we do that, outside of this
  // thread, before anybody is told (docs/adr/0008).
  writer.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const reader = openReader(path)
  reader.exec(`pragma cache_size = -${readerCacheKb}`)
  writer.exec('pragma busy_timeout = 0') // from here on `beginImmediate` waits, without blocking the process
  const query = (file: DatabaseSync) => new Kysely<Tables>({ dialect: createDialect(file), log: logTo(onQuery) })
  const written = query(writer)
  const read = query(reader)
  const takeTurn = createTurns()
  const takeLongTurn = createTurns()
  const readLong = aside ? readsAside(aside, path, options) : readBy(read)
  const dataVersion = reader.prepare('pragma data_version') // another one after each commit of another connection
  const durability = createDurability(wal, () => dataVersion.get()?.data_version)

  /** A connection of its own: what others read meanwhile is not held back to its moment. A few are kept for the next. */
  const idleSnapshots: { file: DatabaseSync; read: Kysely<Tables> }[] = []
  const openSnapshot = () => {
    const file = openReader(path)
    return { file, read: query(file) }
  }

  async function checkpoint(thread: Aside): Promise<void> {
    await thread.checkpoint(path).catch((error: Error & { errcode?: unknown }) => {
      // Whatever else it is, there will be another checkpoint.
      if ((Number(error.errcode) & 0xff) === sqliteIoError) durability.fail(error)
    })
  }

  if (aside) writer.exec(`pragma wal_autocheckpoint = ${mostLogPages}`)
  const checkpointWhenDue = aside ? createCheckpoints(writer, () => checkpoint(aside)) : () => {}
  return {
    engine: 'sqlite',
    schemaName: undefined,
    read,
    readAside: (text, parameters, whose) => takeLongTurn(whose, () => readLong(text, parameters)),
    readValues: readsValues(reader, options),
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
    async write(work, whose) {
      durability.refuseAfterFailure()
      const result = await takeTurn(whose, () => written.transaction().execute(work)) // Kysely lets one in at a time
      checkpointWhenDue()
      await durability.reached()
      return result
    },
    onRevision,
    async close() {
      await durability.reached().catch(() => {}) // whoever waits for it has been told
      await aside?.forget(path).catch(() => {})
      for (const { file } of [...idleSnapshots.splice(0), { file: writer }, { file: reader }]) file.close()
      await wal.close()
    },
  }
}
