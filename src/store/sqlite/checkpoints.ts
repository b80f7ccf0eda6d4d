import type { DatabaseSync } from 'node:sqlite'

/** So many pages of 4 KB may wait in the log until they are carried over. */
const duePages = 1000

/**
 * Says after a commit whether it is time for a checkpoint, of which one runs at a time. SQLite itself would make it inside
 * of the commit with which the log becomes too long, and stop the process for as long.
 */
export function createCheckpoints(file: DatabaseSync, checkpoint: () => Promise<void>): () => void {
  const pages = file.prepare('pragma wal_checkpoint(noop)') // SQLite before 3.51 makes one right here
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
