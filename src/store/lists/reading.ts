import { AppError } from '../../core/errors.ts'
import { isDue } from '../content/due.ts'
import { ChangesDue, readRevision, Superseded } from '../content/revisions.ts'
import { insideTransaction } from '../engine/database.ts'
import { MainThreadOnly } from '../engine/main-thread-only.ts'
import type { GroupStore } from '../store.ts'
import { type ContentCache, createContentCache } from './content-cache.ts'

/** Before reading from a snapshot. */
const maxAttempts = 2

/** One attempt to read content at a single revision. */
export interface Reading {
  readonly group: GroupStore
  readonly cache: ContentCache
  readonly nowMs: number
  /** Whether working copies are read in place of live values, for a preview of the whole site. */
  readonly isPreview: boolean
  /** Of everything read so far; 0 before the first statement. */
  readonly revision: number
  /** Must be called with the revision of each statement. Throws `Superseded` if it differs from the first one. */
  confirm(revision: number): void
  /**
   * The time until which an answer is valid, by when the next change of the group is due. Throws `ChangesDue` if it is due
   * already, and not known to fail.
   */
  untilDue(dueMs: number | null): number
}

interface ReadingOptions {
  isPreview?: boolean
  /** Whether to read the former state of what is due. */
  ignoresDue?: boolean
}

function beginReading(
  group: GroupStore,
  cache: ContentCache,
  nowMs: number,
  { isPreview = false, ignoresDue = false }: ReadingOptions,
): Reading {
  let first: number | undefined
  return {
    group,
    cache,
    nowMs,
    isPreview,
    get revision() {
      return first ?? 0
    },
    confirm(revision) {
      first ??= revision
      if (revision === first) return
      cache.observe(group.groupId, revision)
      throw new Superseded()
    },
    untilDue(dueMs) {
      if (isDue(dueMs, nowMs) && !ignoresDue) throw new ChangesDue()
      return dueMs ?? Number.POSITIVE_INFINITY
    },
  }
}

/** Whether a query was refused because of an outdated cached schema. */
async function isRefusedByOldSchema(error: unknown, { group, confirm }: Reading): Promise<boolean> {
  if (!(error instanceof AppError && error.code === 'ValidationError')) return false
  try {
    confirm(await readRevision(group))
    return false
  } catch (superseded) {
    if (superseded instanceof Superseded) return true
    throw superseded
  }
}

/**
 * Reads like `readAtOneRevision`, after everything due has been applied. If that fails, as on a read-only disk, the former state
 * is read; the answer is then outdated from the start, and so not cached.
 */
export async function readSettled<Result>(
  group: GroupStore,
  cache: ContentCache,
  nowMs: number,
  read: (reading: Reading) => Promise<Result>,
  isPreview = false,
): Promise<Result> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    try {
      return await readAtOneRevision(group, cache, nowMs, read, { isPreview })
    } catch (error) {
      if (!(error instanceof ChangesDue)) throw error
    }
    try {
      await group.database.settleDue(group.groupId, nowMs)
    } catch (error) {
      if (error instanceof MainThreadOnly) throw error
      break
    }
  }
  return readAtOneRevision(group, cache, nowMs, read, { isPreview, ignoresDue: true })
}

/**
 * Reads with several statements at one revision. After a concurrent write everything is read again; the last attempt reads
 * from a snapshot, with an empty cache.
 */
export async function readAtOneRevision<Result>(
  group: GroupStore,
  cache: ContentCache,
  nowMs: number,
  read: (reading: Reading) => Promise<Result>,
  options: ReadingOptions = {},
): Promise<Result> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const reading = beginReading(group, cache, nowMs, options)
    try {
      return await read(reading)
    } catch (error) {
      if (!(error instanceof Superseded) && !(await isRefusedByOldSchema(error, reading))) throw error
    }
  }
  return group.database.snapshot(
    (db) =>
      read(
        beginReading(
          { ...group, database: insideTransaction(db, group.database) },
          createContentCache(),
          nowMs,
          options,
        ),
      ),
    group.groupId,
  )
}
