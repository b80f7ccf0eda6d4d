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
  const { db, group, nowMs } = writer
  const { subject, most, stretchMs, complaint } = quota
  const startMs = nowMs - (nowMs % stretchMs)
  const place = { group_id: group.groupId, subject, start_ms: startMs }
  const row = await db
    .selectFrom('tallies')
    .select('count')
    .where((eb) => eb.and(place))
    .executeTakeFirst()
  const count = row?.count ?? 0
  if (count >= most) {
    const retryAfterSeconds = Math.ceil((startMs + stretchMs - nowMs) / 1000)
    throw new AppError('RateLimited', `${complaint} Wait the seconds in Retry-After and try again.`, {
      retryAfterSeconds,
    })
  }
  const end_ms = startMs + 2 * stretchMs
  await db
    .insertInto('tallies')
    .values({ ...place, end_ms, count: 1 })
    .onConflict((conflict) => conflict.columns(['group_id', 'subject', 'start_ms']).doUpdateSet({ count: count + 1 }))
    .execute()
}

export async function pruneTallies(database: Database<ContentTables>, nowMs: number): Promise<void> {
  await database.write((db) => db.deleteFrom('tallies').where('end_ms', '<', nowMs).execute())
}
