import { AppError } from '../../core/errors.ts'
import { readRevision, Superseded } from '../content/revisions.ts'
import { insideTransaction } from '../engine/database.ts'
import type { GroupStore } from '../store.ts'
import { type ContentCache, createContentCache } from './content-cache.ts'

/** Before reading from a snapshot. */
const maxAttempts = 2

/** One attempt to read content at a single revision. */
export interface Reading {
  readonly group: GroupStore
  readonly cache: ContentCache
  readonly nowMs: number
  /** Of everything read so far; 0 before the first statement. */
  readonly revision: number
  /** Must be called with the revision of each statement. Throws `Superseded` if it differs from the first one. */
  confirm(revision: number): void
}

function beginReading(group: GroupStore, cache: ContentCache, nowMs: number): Reading {
  let first: number | undefined
  return {
    group,
    cache,
    nowMs,
    get revision() {
      return first ?? 0
    },
    confirm(revision) {
      first ??= revision
      if (revision === first) return
      cache.observe(group.groupId, revision)
      throw new Superseded()
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
 * Reads with several statements at one revision. After a concurrent write everything is read again; the last attempt reads
 * from a snapshot, with an empty cache.
 */
export async function readAtOneRevision<Result>(
  group: GroupStore,
  cache: ContentCache,
  nowMs: number,
  read: (reading: Reading) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const reading = beginReading(group, cache, nowMs)
    try {
      return await read(reading)
    } catch (error) {
      if (!(error instanceof Superseded) && !(await isRefusedByOldSchema(error, reading))) throw error
    }
  }
  return group.database.snapshot(
    (db) =>
      read(beginReading({ ...group, database: insideTransaction(db, group.database) }, createContentCache(), nowMs)),
    group.groupId,
  )
}
