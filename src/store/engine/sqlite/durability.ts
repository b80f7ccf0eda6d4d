import { type FileHandle, open } from 'node:fs/promises'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { sqliteIoError } from './file.ts'

/** The write-ahead log beside a database. */
export interface Wal {
  /** Resolves when everything written before this call would survive a power cut. */
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * One descriptor while the database is open: a descriptor opened after a write failure may not report it. SQLite creates the
 * file before its first commit and holds no locks on it that closing ours could drop.
 */
export function openWal(databasePath: string): Wal {
  const path = `${databasePath}-wal`
  let file: FileHandle | undefined
  return {
    async sync() {
      file ??= await open(path)
      await file.datasync() // includes the file's length
      if ((await file.stat()).nlink === 0) throw new Error(`${path} was removed while the database was open.`)
    },
    async close() {
      await file?.close()
    },
  }
}

/** Tracks commits that may not be on the disk yet. */
export interface Durability {
  /** Throws after a failed sync: acknowledged pages may be lost. */
  refuseAfterFailure(): void
  /** Resolves when everything committed so far is on the disk. */
  reached(): Promise<void>
  /** Refuses all writes until the database is reopened. */
  fail(cause: unknown): void
}

/**
 * Group commit: while a sync runs, later commits share the next one. `commits` changes with every commit of any process.
 */
export function createDurability(wal: Pick<Wal, 'sync'>, commits: () => unknown): Durability {
  let syncedCommits: unknown
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  let failure: Error | undefined

  function fail(cause: unknown): void {
    failure ??= Object.assign(
      new Error('The disk failed to keep a write. Nothing more is written until Sluice is started again.', { cause }),
      { errcode: sqliteIoError }, // reported as an unavailable database
    )
  }

  function refuseAfterFailure(): void {
    if (failure) throw failure
  }

  async function sync(): Promise<void> {
    refuseAfterFailure()
    const covered = commits()
    if (covered === syncedCommits) return
    // Never retried: the system drops what it could not write, and the next sync may report success.
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

/** Pages of 4 KB in the log that make a checkpoint due. */
const duePages = 1000

/**
 * Starts a checkpoint after a commit when one is due, one at a time. SQLite itself would run it inside the commit and block
 * the event loop.
 */
export function createCheckpoints(file: DatabaseSync, checkpoint: () => Promise<void>): () => void {
  const pages = file.prepare('pragma wal_checkpoint(noop)') // SQLite before 3.51 runs one right here
  let isRunning = false

  return () => {
    if (isRunning) return
    const { log, checkpointed } = pages.get() ?? {}
    if (Number(log) - Number(checkpointed) < duePages) return
    isRunning = true
    checkpoint().finally(() => {
      isRunning = false
    })
  }
}

/** From this length on, a checkpoint copies the whole log, so that the next commit restarts it. */
const longLogPages = 4000

/**
 * Copies committed pages into the database file. Under constant writes a passive checkpoint never reaches the end of the log,
 * which would grow forever, so a full one makes writers wait when the log is long.
 */
export function runCheckpoint(prepare: (text: string) => Pick<StatementSync, 'get'>): void {
  const pages = prepare('pragma wal_checkpoint(passive)').get()
  if (Number(pages?.log) > longLogPages) prepare('pragma wal_checkpoint(full)').get()
}
