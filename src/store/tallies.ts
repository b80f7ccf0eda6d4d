import { AppError } from '../errors.ts'
import type { ContentWriter } from './changes.ts'
import type { Database } from './database.ts'
import type { ContentTables } from './tables.ts'

/** How often something may be done in each stretch of time, such as a day of UTC. */
export interface Quota {
  subject: string
  most: number
  stretchMs: number
  /** The beginning of the sentence that says that it is used up. */
  complaint: string
}

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** Counts one more, in the transaction of what is counted; refuses it, and so undoes that, when there were enough. */
export async function takeFromQuota(writer: ContentWriter, quota: Quota): Promise<void> {
  const endMs = await countIfFree(writer, quota)
  if (endMs === undefined) return
  const retryAfterSeconds = Math.ceil((endMs - writer.nowMs) / 1000)
  throw new AppError('RateLimited', `${quota.complaint} Wait the seconds in Retry-After and try again.`, {
    retryAfterSeconds,
  })
}

/** Counts one more, unless there were enough: then it tells when the stretch ends, and counts nothing. */
async function countIfFree(
  { db, group, nowMs }: ContentWriter,
  { subject, most, stretchMs }: Omit<Quota, 'complaint'>,
): Promise<number | undefined> {
  const startMs = nowMs - (nowMs % stretchMs)
  const place = { group_id: group.groupId, subject, start_ms: startMs }
  const endMs = startMs + stretchMs
  if (most < 1) return endMs
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tallies')
    .values({ ...place, end_ms: endMs + stretchMs, count: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['group_id', 'subject', 'start_ms'])
        .doUpdateSet(({ eb }) => ({ count: eb('tallies.count', '+', 1) }))
        .where('tallies.count', '<', most),
    )
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 0n ? endMs : undefined
}

const mailQuota = (most: number): Quota => ({
  subject: 'mail',
  most,
  stretchMs: dayMs,
  complaint: `The group has sent its ${most} e-mails of today.`,
})

/** One e-mail more in the day of the group. */
export const takeFromMailQuota = (writer: ContentWriter, most: number): Promise<void> =>
  takeFromQuota(writer, mailQuota(most))

/** Of a day's e-mails so many may confirm orders to addresses that no order of the group has: one in ten. */
const strangersShare = 10

/** One e-mail more of those to strangers. */
export function takeFromStrangersQuota(writer: ContentWriter, mailMost: number): Promise<void> {
  const most = Math.min(mailMost, Math.max(1, Math.floor(mailMost / strangersShare)))
  return takeFromQuota(writer, {
    subject: 'mail strangers',
    most,
    stretchMs: dayMs,
    complaint: `The group has sent its ${most} order e-mails of today to addresses that no order of it has.`,
  })
}

/** The same for an e-mail that can wait: where there were enough, until when. */
export const countMailOrWait = (writer: ContentWriter, most: number): Promise<number | undefined> =>
  countIfFree(writer, mailQuota(most))

/** So long the owner of a site is left in peace after a notice: a flood becomes a few of them. */
const restMs = 300_000

const noticesOf = (siteId: string): string => `notices ${siteId}`

/** Until when the owner of a site is left in peace; 0 where there was no notice lately. */
export async function findRestMs({ db, group, nowMs }: ContentWriter, siteId: string): Promise<number> {
  const row = await db
    .selectFrom('tallies')
    .select(({ fn }) => fn.max('end_ms').as('end_ms'))
    .where('group_id', '=', group.groupId)
    .where('subject', '=', noticesOf(siteId))
    .where('start_ms', '<=', nowMs) // one that is later was written by a clock that was ahead
    .executeTakeFirst()
  return row?.end_ms ?? 0
}

export async function noteNotice({ db, group, nowMs }: ContentWriter, siteId: string): Promise<void> {
  await db
    .insertInto('tallies')
    .values({
      group_id: group.groupId,
      subject: noticesOf(siteId),
      start_ms: nowMs,
      end_ms: nowMs + restMs,
      count: 1,
    })
    .execute()
}

export async function pruneTallies(database: Database<ContentTables>, nowMs: number): Promise<void> {
  await database.write((db) => db.deleteFrom('tallies').where('end_ms', '<', nowMs).execute())
}
