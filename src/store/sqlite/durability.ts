import { type FileHandle, open } from 'node:fs/promises'
import { sqliteIoError } from './file.ts'

/** The file beside a database into which SQLite writes what is committed. */
export interface Wal {
  /** Ends when all that was written to the file before this call would survive a power cut. */
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * One descriptor for as long as the database is open: the system tells each descriptor of a failure to write, but one that is
 * opened later may not hear of it. SQLite makes the file before its first commit, and keeps it while anybody has the
 * database open. SQLite has no locks on it that closing our descriptor could end.
 */
export function openWal(databasePath: string): Wal {
  const path = `${databasePath}-wal`
  let file: FileHandle | undefined
  return {
    async sync() {
      file ??= await open(path)
      await file.datasync() // with the file's length, as far as it is needed to read the file
      if ((await file.stat()).nlink === 0) throw new Error(`${path} was removed while the database was open.`)
    },
    async close() {
      await file?.close()
    },
  }
}

/** What is committed, but may not be on the disk yet. */
export interface Durability {
  /** Throws after a failure: the disk may have lost what it had said to take. */
  refuseAfterFailure(): void
  /** Ends when all that has been committed until now is on the disk. */
  reached(): Promise<void>
  /** From now on nothing is written, until the database is opened anew. */
  fail(cause: unknown): void
}

/**
 * Shares syncs between commits: while one runs, all that commit wait for the next one, which begins when that has ended.
 * `commits` changes with every commit, whoever made it.
 */
export function createDurability(wal: Pick<Wal, 'sync'>, commits: () => unknown): Durability {
  let syncedCommits: unknown
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  let failure: Error | undefined

  function fail(cause: unknown): void {
    failure ??= Object.assign(
      new Error('The disk failed to keep a write. Nothing more is written until Sluice is started again.', { cause }),
      { errcode: sqliteIoError }, // so that who asked is told that the database is away
    )
  }

  function refuseAfterFailure(): void {
    if (failure) throw failure
  }

  async function sync(): Promise<void> {
    refuseAfterFailure()
    const covered = commits()
    if (covered === syncedCommits) return
    // Never tried again: the system drops what it could not write, and the next sync may well report success.
    await wal.sync().catch(fail)
    refuseAfterFailure()
    syncedCommits = covered
  }

  function start(): Promise<void> {
    following = undefined
    running = sync().finally(() => {
      running = undefined
    })
    return running
  }

  function reached(): Promise<void> {
    if (following) return following
    if (!running) return start()
    following = running.then(start, start)
    return following
  }

  return { refuseAfterFailure, reached, fail }
}
