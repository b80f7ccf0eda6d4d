import { sql } from 'kysely'
import { AppError } from '../../core/errors.ts'
import type { GroupStore } from '../store.ts'

/** The storage that a group uses, in bytes. */
export interface Usage {
  databaseBytes: number
  mediaBytes: number
}

const removeKind = 'media.remove'

export const formatBytes = (bytes: number): string => {
  const [size, unit] = bytes < 1024 ** 3 ? [bytes / 1024 ** 2, 'MB'] : [bytes / 1024 ** 3, 'GB']
  return `${Math.round(size * 100) / 100} ${unit}`
}

/** The size of a group's content in the database, from the counters. */
export async function readDatabaseBytes({ groupId, database }: GroupStore): Promise<number> {
  const row = await database.read
    .selectFrom('group_revisions')
    .leftJoin('group_usage', 'group_usage.group_id', 'group_revisions.group_id')
    .select(['changes_bytes', 'database_bytes'])
    .where('group_revisions.group_id', '=', groupId)
    .executeTakeFirst()
  return (row?.changes_bytes ?? 0) + (row?.database_bytes ?? 0)
}

/** Bytes in its bucket, including replaced and deleted files until they are removed. */
export async function readMediaBytes({ groupId, database }: GroupStore): Promise<number> {
  const bytes = database.engine === 'sqlite' ? sql`payload ->> 'bytes'` : sql`(payload::jsonb ->> 'bytes')::bigint`
  const pending = await database.read
    .selectFrom('jobs')
    .select(sql<number | null>`sum(${bytes})`.as('bytes'))
    .where('kind', '=', removeKind)
    .where('group_id', '=', groupId)
    .where('due_ms', 'is not', null)
    .executeTakeFirst()
  const row = await database.read
    .selectFrom('group_usage')
    .select('media_bytes')
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return (row?.media_bytes ?? 0) + Number(pending?.bytes ?? 0)
}

export const readUsage = async (group: GroupStore): Promise<Usage> => ({
  databaseBytes: await readDatabaseBytes(group),
  mediaBytes: await readMediaBytes(group),
})

/** `outside` sees the state before the transaction. A write that frees space is never refused. */
export async function refuseOverQuota(inside: GroupStore, outside: GroupStore, quotaBytes: number): Promise<void> {
  const bytes = await readDatabaseBytes(inside)
  if (bytes <= quotaBytes) return
  const before = await readDatabaseBytes(outside)
  if (bytes <= before) return
  throw new AppError(
    'QuotaExceeded',
    `The group would have ${formatBytes(bytes)} in the database, of ${formatBytes(quotaBytes)} that its tier allows; it has ${formatBytes(before)}. Nothing was stored. Delete objects or collections, keep fewer versions (group set-versions), or ask the operator for another tier.`,
  )
}

/** Called after a file was added. */
export async function refuseOverMediaQuota(inside: GroupStore, fileBytes: number, quotaBytes: number): Promise<void> {
  const bytes = await readMediaBytes(inside)
  if (bytes > quotaBytes) throw mediaQuotaExceeded(bytes - fileBytes, quotaBytes)
}

export const mediaQuotaExceeded = (usedBytes: number, quotaBytes: number): AppError =>
  new AppError(
    'QuotaExceeded',
    `There is no room for this file: the group’s files take ${formatBytes(usedBytes)}, and its tier allows ${formatBytes(quotaBytes)}. Delete files (media delete, media sweep), or ask the operator for another tier.`,
  )
