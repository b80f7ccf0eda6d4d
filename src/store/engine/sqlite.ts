import { closeSync, existsSync, openSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { Kysely, type Transaction } from 'kysely'
import { createKeyedMutex } from '../../concurrency/semaphore.ts'
import {
  createLongReadSemaphore,
  type Database,
  type Listeners,
  queryLog,
  rawReader,
  readTimedOut,
} from './database.ts'
import { createRemoteDialect } from './sqlite/connection.ts'
import { createCheckpoints, createDurability, openWal, type Wal } from './sqlite/durability.ts'
import { isSqliteError, openFile, sqliteInterrupt, sqliteIoError } from './sqlite/file.ts'
import { openSqliteReader, queryOf } from './sqlite/reader.ts'
import type { ReadRows, SqliteWorker } from './sqlite/worker-client.ts'

/** The worker makes checkpoints. This is the fallback when it cannot keep up or fails. */
const maxLogPages = 20_000

/** SQLite's page cache for readers, which is faster than the system's. */
const readerCacheKb = 8 * 1024

export interface SqliteOptions extends Listeners {
  /** Worker threads for long statements. Without them, as in short commands, everything runs in this thread. */
  worker?: SqliteWorker | undefined
  /** Counts running and waiting writes. */
  writes?: { inWork: number } | undefined
  /** Replaceable in tests. */
  wal?: Wal | undefined
}

const withReadTimeout =
  (read: ReadRows): ReadRows =>
  (text, parameters) =>
    read(text, parameters).catch((error) => {
      throw isSqliteError(error, sqliteInterrupt) ? readTimedOut() : error
    })

const readsInWorker =
  (worker: SqliteWorker, path: string, { onQuery }: Listeners) =>
  async <Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> => {
    const startMs = performance.now()
    const read = withReadTimeout((...statement) => worker.read(path, ...statement))
    const rows = await read(text, parameters as readonly SQLInputValue[])
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows as Row[]
  }

/** A snapshot in a worker thread does not block the event loop; it has the timeout of long reads. */
const snapshotsInWorker =
  <Tables>(worker: SqliteWorker, path: string, { onQuery }: Listeners): Database<Tables>['snapshot'] =>
  (work) =>
    worker.snapshot(path, (read) =>
      work(new Kysely<Tables>({ dialect: createRemoteDialect(withReadTimeout(read)), log: queryLog(onQuery) })),
    )

export function openSqlite<Tables>(path: string, options: SqliteOptions = {}): Database<Tables> {
  const { onRevision = () => {}, onAccess = () => {}, worker, writes = { inWork: 0 }, wal = openWal(path) } = options
  // Readable by its owner only; SQLite applies the mode to the files beside it. An existing file is not opened here: closing it
  // would drop this process's POSIX locks.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const writer = openFile(path)
  // The journal mode is stored in the file. With `normal` a commit is written but not synced: we do that off
  // this thread before we acknowledge it (docs/adr/0008).
  writer.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const reading = openSqliteReader<Tables>(path, readerCacheKb, options)
  const { reader, read } = reading
  writer.exec('pragma busy_timeout = 0') // `beginImmediate` waits without blocking the process
  const written = queryOf<Tables>(writer, options)
  const writeMutex = createKeyedMutex()
  const { run: withLongReadPermit } = createLongReadSemaphore()
  const snapshot = worker ? snapshotsInWorker<Tables>(worker, path, options) : reading.snapshot
  const readUnlimited = worker ? readsInWorker(worker, path, options) : rawReader(read)
  const dataVersion = reader.prepare('pragma data_version') // changes with each commit of another connection
  const durability = createDurability(wal, () => dataVersion.get()?.data_version)

  async function checkpoint(sqliteWorker: SqliteWorker): Promise<void> {
    await sqliteWorker.checkpoint(path).catch((error: Error & { errcode?: unknown }) => {
      // After any other failure, the next checkpoint catches up.
      if ((Number(error.errcode) & 0xff) === sqliteIoError) durability.fail(error)
    })
  }

  async function writeInTurn<Result>(
    work: (transaction: Transaction<Tables>) => Promise<Result>,
    whose: string | undefined,
  ): Promise<Result> {
    writes.inWork += 1
    try {
      return await writeMutex.run(whose, () => written.transaction().execute(work)) // Kysely lets one in at a time
    } finally {
      writes.inWork -= 1
    }
  }

  if (worker) writer.exec(`pragma wal_autocheckpoint = ${maxLogPages}`)
  const checkpointWhenDue = worker ? createCheckpoints(writer, () => checkpoint(worker)) : () => {}
  return {
    engine: 'sqlite',
    schemaName: undefined,
    read,
    readLong: (text, parameters, whose) => withLongReadPermit(whose, () => readUnlimited(text, parameters)),
    withLongReadPermit,
    readRowArrays: reading.readRowArrays,
    snapshot: (work, whose) => withLongReadPermit(whose, () => snapshot(work)),
    async write(work, whose) {
      durability.refuseAfterFailure()
      const result = await writeInTurn(work, whose)
      checkpointWhenDue()
      await durability.reached()
      return result
    },
    onRevision,
    settleDue: async () => {}, // see `openStore`
    onAccess,
    async close() {
      await durability.reached().catch(() => {}) // its callers have the error
      await worker?.forget(path).catch(() => {})
      writer.close()
      reading.close()
      await wal.close()
    },
  }
}
