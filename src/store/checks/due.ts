import { type Authoring, writeContent } from '../content/changes.ts'
import { findNextDue, readDueMs } from '../content/due.ts'
import type { GroupStore } from '../store.ts'

/**
 * Whether a scheduled change or an archive date is due before the group's next due time, and so would be applied late or
 * never. A due time that is too early does no harm: after a deletion by an older server, it is corrected when it comes.
 */
export const isDueTimeTooLate = (group: GroupStore): Promise<boolean> =>
  group.database.snapshot(async (read) => {
    const nextMs = await findNextDue(read, group.groupId)
    const storedMs = await readDueMs({ ...group, database: { ...group.database, read } })
    return nextMs !== null && (storedMs === null || storedMs > nextMs)
  })

/** Cached answers are valid until the former due time, and so end with the revision. */
export const repairDueTime = (outside: GroupStore, authoring: Authoring): Promise<void> =>
  writeContent(outside, authoring, async ({ changeDue, bumpRevision }) => {
    changeDue()
    bumpRevision()
  })
