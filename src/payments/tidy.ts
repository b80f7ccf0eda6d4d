import { hourMs } from '../core/clock.ts'
import { pruneProviderEvents } from '../store/commerce/integrations.ts'
import { pruneSandbox } from '../store/commerce/sandbox.ts'
import { pruneIdempotencyKeys } from '../store/content/idempotency.ts'
import { databaseNamesInUse, type Store } from '../store/store.ts'
import { scheduleSyncs } from './mirror/sync.ts'

/** Periodic maintenance: prunes expired rows and schedules syncs. */
export async function tidyPayments(store: Store, nowMs: number, syncEveryHours: number): Promise<void> {
  for (const name of await databaseNamesInUse(store.control)) {
    const database = await store.content(name)
    await pruneIdempotencyKeys(database, nowMs)
    await pruneProviderEvents(database, nowMs)
    await pruneSandbox(database, nowMs)
  }
  if (syncEveryHours > 0) await scheduleSyncs(store, nowMs, syncEveryHours * hourMs)
}
