import assert from 'node:assert/strict'
import { findMiscounted, recountUsage } from '../../src/store/check-usage.ts'
import type { GroupStore } from '../../src/store/groups.ts'
import { readDatabaseBytes, readMediaBytes } from '../../src/store/usage.ts'

/** The bytes that are kept of a group are those that a count finds. */
export async function assertUsageIsRight(group: GroupStore): Promise<void> {
  if (!(await findMiscounted(group))) return
  const kept = { database: await readDatabaseBytes(group), media: await readMediaBytes(group) }
  assert.fail(`${JSON.stringify(kept)} is kept, and ${JSON.stringify(await recountUsage(group))} is there`)
}
