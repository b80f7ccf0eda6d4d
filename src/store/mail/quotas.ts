import { dayMs } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { Database } from '../engine/database.ts'
import type { ContentTables } from '../schema/tables.ts'

/** A limit for each fixed window of time, such as a day of UTC. */
export interface Quota {
  subject: string
  maxCount: number
  windowMs: number
  /** First sentence of the error when it is exceeded. */
  refusal: string
}

/** Counts one use in the writer's transaction; throws, and so rolls back, when the quota is exceeded. */
export async function consumeQuota(writer: ContentWriter, quota: Quota): Promise<void> {
  const endMs = await tryCount(writer, quota)
  if (endMs === undefined) return
  const retryAfterSeconds = Math.ceil((endMs - writer.nowMs) / 1000)
  throw new AppError('RateLimited', `${quota.refusal} Wait the seconds in Retry-After and try again.`, {
    retryAfterSeconds,
  })
}

/** Counts one use, or returns when the window ends if the quota is used up. */
async function tryCount(
  { db, group, nowMs }: ContentWriter,
  { subject, maxCount, windowMs }: Omit<Quota, 'refusal'>,
): Promise<number | undefined> {
  const startMs = nowMs - (nowMs % windowMs)
  const key = { group_id: group.groupId, subject, start_ms: startMs }
  const endMs = startMs + windowMs
  if (maxCount < 1) return endMs
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tallies')
    .values({ ...key, end_ms: endMs + windowMs, count: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['group_id', 'subject', 'start_ms'])
        .doUpdateSet(({ eb }) => ({ count: eb('tallies.count', '+', 1) }))
        .where('tallies.count', '<', maxCount),
    )
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 0n ? endMs : undefined
}

const mailQuota = (maxCount: number): Quota => ({
  subject: 'mail',
  maxCount,
  windowMs: dayMs,
  refusal: `The group has sent its ${maxCount} e-mails of today.`,
})

/** One e-mail of the group's daily quota. */
export const consumeMailQuota = (writer: ContentWriter, maxCount: number): Promise<void> =>
  consumeQuota(writer, mailQuota(maxCount))

/** One in ten of a day's e-mails may confirm orders to addresses that no order of the group has. */
const unknownRecipientsShare = 10

/** One e-mail to an address that no order has. */
export function consumeUnknownRecipientQuota(writer: ContentWriter, maxMails: number): Promise<void> {
  const maxCount = Math.min(maxMails, Math.max(1, Math.floor(maxMails / unknownRecipientsShare)))
  return consumeQuota(writer, {
    subject: 'mail strangers',
    maxCount,
    windowMs: dayMs,
    refusal: `The group has sent its ${maxCount} order e-mails of today to addresses that no order of it has.`,
  })
}

/** For an e-mail that can wait: returns when the window ends if the quota is used up. */
export const tryConsumeMailQuota = (writer: ContentWriter, maxCount: number): Promise<number | undefined> =>
  tryCount(writer, mailQuota(maxCount))

export async function pruneTallies(database: Database<ContentTables>, nowMs: number): Promise<void> {
  await database.write((db) => db.deleteFrom('tallies').where('end_ms', '<', nowMs).execute())
}
