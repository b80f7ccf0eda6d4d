import assert from 'node:assert/strict'
import { isUsageMiscounted, recountUsage } from '../../src/store/checks/counters.ts'
import { readDatabaseBytes, readMediaBytes } from '../../src/store/content/usage.ts'
import type { GroupStore } from '../../src/store/store.ts'

/** Asserts that the stored usage of a group equals a recount. */
export async function assertUsageIsRight(group: GroupStore): Promise<void> {
  if (!(await isUsageMiscounted(group))) return
  const kept = { database: await readDatabaseBytes(group), media: await readMediaBytes(group) }
  assert.fail(`${JSON.stringify(kept)} is kept, and ${JSON.stringify(await recountUsage(group))} is there`)
}
