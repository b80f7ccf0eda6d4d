import { closeSync, existsSync, openSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { Kysely, type Transaction } from 'kysely'
import { type Database, type Listeners, logTo, readBy } from './database.ts'
import { createLongTurns, tooMuchToRead } from './long-reads.ts'
import type { Aside, ReadRows } from './sqlite/aside.ts'
import { createCheckpoints } from './sqlite/checkpoints.ts'
import { createRemoteDialect } from './sqlite/connection.ts'
import { createDurability, openWal, type Wal } from './sqlite/durability.ts'
import { openFile, sqliteInterrupt, sqliteIoError } from './sqlite/file.ts'
import { openReading, queryOf } from './sqlite/reading.ts'
import { createTurns } from './turns.ts'

/** Checkpoints are made aside. This is for when that does not keep up, or does not work. */
const mostLogPages = 20_000

/** What SQLite keeps of a database's file for readers, as it fills up: to ask the system for a page again takes longer. */
const readerCacheKb = 64 * 1024

export interface SqliteOptions extends Listeners {
  /** Threads for what takes long. Without them, as in short commands, everything is done in ours. */
  aside?: Aside | undefined
  /** Counts what is being written, or waits for it. */
  writes?: { inWork: number } | undefined
  /** The log; a test may bring its own. */
  wal?: Wal | undefined
}

const isInterrupted = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === sqliteInterrupt

const inTimeOrNot =
  (read: ReadRows): ReadRows =>
  (text, parameters) =>
    read(text, parameters).catch((error) => {
      throw isInterrupted(error) ? tooMuchToRead() : error
    })

const readsAside =
  (aside: Aside, path: string, { onQuery }: Listeners) =>
  async <Row>(text: string, parameters: readonly unknown[]): Promise<Row[]> => {
    const startMs = performance.now()
    const read = inTimeOrNot((...statement) => aside.read(path, ...statement))
    const rows = await read(text, parameters as readonly SQLInputValue[])
    onQuery?.({ sql: text, parameters, durationMs: performance.now() - startMs })
    return rows as Row[]
  }

/** A snapshot of a thread's: what it takes stops nobody, and it may take as long as any long read. */
const snapshotsAside =
  <Tables>(aside: Aside, path: string, { onQuery }: Listeners): Database<Tables>['snapshot'] =>
  (work) =>
    aside.snapshot(path, (read) =>
      work(new Kysely<Tables>({ dialect: createRemoteDialect(inTimeOrNot(read)), log: logTo(onQuery) })),
    )

export function openSqlite<Tables>(path: string, options: SqliteOptions = {}): Database<Tables> {
  const { onRevision = () => {}, onAccess = () => {}, aside, writes = { inWork: 0 }, wal = openWal(path) } = options
  // For its owner only; SQLite gives the files beside it the same mode. A file that is there is left alone: closing it
  // would end the locks of others in this process.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const writer = openFile(path)
  // The journal mode is stored in the file. With `normal` a commit is written but not synced: we do that, outside of this
  // thread, before anybody is told (docs/adr/0008).
  writer.exec('pragma journal_mode = wal; pragma synchronous = normal')
  const reading = openReading<Tables>(path, readerCacheKb, options)
  const { reader, read } = reading
  writer.exec('pragma busy_timeout = 0') // from here on `beginImmediate` waits, without blocking the process
  const written = queryOf<Tables>(writer, options)
  const takeTurn = createTurns()
  const inLongTurn = createLongTurns()
  const snapshot = aside ? snapshotsAside<Tables>(aside, path, options) : reading.snapshot
  const readLong = aside ? readsAside(aside, path, options) : readBy(read)
  const dataVersion = reader.prepare('pragma data_version') // another one after each commit of another connection
  const durability = createDurability(wal, () => dataVersion.get()?.data_version)

  async function checkpoint(thread: Aside): Promise<void> {
    await thread.checkpoint(path).catch((error: Error & { errcode?: unknown }) => {
      // Whatever else it is, there will be another checkpoint.
      if ((Number(error.errcode) & 0xff) === sqliteIoError) durability.fail(error)
    })
  }

  async function writeInTurn<Result>(
    work: (transaction: Transaction<Tables>) => Promise<Result>,
    whose: string | undefined,
  ): Promise<Result> {
    writes.inWork += 1
    try {
      return await takeTurn(whose, () => written.transaction().execute(work)) // Kysely lets one in at a time
    } finally {
      writes.inWork -= 1
    }
  }

  if (aside) writer.exec(`pragma wal_autocheckpoint = ${mostLogPages}`)
  const checkpointWhenDue = aside ? createCheckpoints(writer, () => checkpoint(aside)) : () => {}
  return {
    engine: 'sqlite',
    schemaName: undefined,
    read,
    readAside: (text, parameters, whose) => inLongTurn(whose, () => readLong(text, parameters)),
    inLongTurn,
    readValues: reading.readValues,
    snapshot: (work, whose) => inLongTurn(whose, () => snapshot(work)),
    async write(work, whose) {
      durability.refuseAfterFailure()
      const result = await writeInTurn(work, whose)
      checkpointWhenDue()
      await durability.reached()
      return result
    },
    onRevision,
    onAccess,
    async close() {
      await durability.reached().catch(() => {}) // whoever waits for it has been told
      await aside?.forget(path).catch(() => {})
      writer.close()
      reading.close()
      await wal.close()
    },
  }
}
