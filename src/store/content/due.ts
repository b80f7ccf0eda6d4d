import type { Kysely } from 'kysely'
import type { ContentTables } from '../schema/tables.ts'
import type { GroupStore } from '../store.ts'

/**
 * Scheduled changes and archive dates take effect in the database, by `settle-due.ts`. `due_ms` of the group says when: the
 * first read or write from then on settles, and answers made before are valid until then.
 *
 * While a part of what is due has been applied and the rest has not, it is negative: what is due up to its absolute value must be
 * applied before anything is read, also by a process whose clock is behind.
 */

export const isDue = (dueMs: number | null, nowMs: number): boolean => dueMs !== null && dueMs <= nowMs

/** When the next scheduled change or archive date is due. */
export async function findNextDue(db: Pick<Kysely<ContentTables>, 'selectFrom'>, groupId: string) {
  const change = await db
    .selectFrom('working_copies')
    .select('due_ms as dueMs')
    .where('group_id', '=', groupId)
    .where('due_ms', 'is not', null)
    .orderBy('due_ms')
    .limit(1)
    .executeTakeFirst()
  const archiving = await objectsToArchive(db, groupId).select('archive_ms as dueMs').limit(1).executeTakeFirst()
  const times = [change, archiving].flatMap((row) => row?.dueMs ?? [])
  return times.length > 0 ? Math.min(...times) : null
}

/** What is due up to this time is to be applied: up to now, or up to where another process has begun to. */
export const settlesUntilMs = (dueMs: number | null, nowMs: number): number => Math.max(nowMs, -(dueMs ?? 0))

/** The new `due_ms`. */
export async function nextDueMs(
  db: Pick<Kysely<ContentTables>, 'selectFrom'>,
  groupId: string,
  untilMs: number,
): Promise<number | null> {
  const nextMs = await findNextDue(db, groupId)
  return isDue(nextMs, untilMs) ? -untilMs : nextMs
}

/** In the order of their archive dates. */
export const objectsToArchive = (db: Pick<Kysely<ContentTables>, 'selectFrom'>, groupId: string) =>
  db
    .selectFrom('objects')
    .where('group_id', '=', groupId)
    .where('archived', '=', (eb) => eb.lit(0))
    .where('archive_ms', 'is not', null)
    .orderBy('archive_ms')
    .orderBy('id')

export async function readDueMs({ groupId, database }: GroupStore): Promise<number | null> {
  const row = await database.read
    .selectFrom('group_revisions')
    .select('due_ms')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row?.due_ms ?? null
}

/** For reads of anything but lists and sites. If settling fails, the former state is still right to show. */
export async function settleIfDue(group: GroupStore, nowMs: number): Promise<void> {
  if (isDue(await readDueMs(group), nowMs)) await group.database.settleDue(group.groupId, nowMs).catch(() => {})
}
