import type { Transaction } from 'kysely'
import type { ContentWriter } from './changes.ts'
import type { Database } from './database.ts'
import type { ContentTables } from './tables.ts'

/** Longer than any provider sends an event again. */
const keptMs = 30 * 24 * 3_600_000
const rowsPerDelete = 500

/** Whether the event is new. Each counts once, however often it is sent. */
export async function noteEvent(
  { db, group, nowMs }: ContentWriter,
  integrationId: string,
  event: { id: string; type: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('provider_events')
    .values({
      integration_id: integrationId,
      event_id: event.id,
      group_id: group.groupId,
      received_ms: nowMs,
    })
    .onConflict((conflict) => conflict.columns(['integration_id', 'event_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Deletes what came long ago, a part at a time, so that nobody waits long. */
export async function pruneProviderEvents(database: Database<ContentTables>, nowMs: number): Promise<void> {
  while (await database.write((db) => deleteSome(db, nowMs - keptMs)));
}

async function deleteSome(db: Transaction<ContentTables>, beforeMs: number): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('provider_events')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('integration_id', 'event_id'),
        'in',
        selectFrom('provider_events')
          .select(['integration_id', 'event_id'])
          .where('received_ms', '<', beforeMs)
          .limit(rowsPerDelete)
          .$asTuple('integration_id', 'event_id'),
      ),
    )
    .executeTakeFirst()
  return numDeletedRows === BigInt(rowsPerDelete)
}
