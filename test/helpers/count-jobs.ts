import type { Database } from '../../src/store/engine/database.ts'
import { type JobState, jobStates } from '../../src/store/jobs/jobs.ts'
import type { ContentTables } from '../../src/store/schema/tables.ts'

/** The number of jobs of a database by state. */
export async function countJobs({ read }: Database<ContentTables>): Promise<Record<JobState, number>> {
  const rows = await read
    .selectFrom('jobs')
    .select(['state', ({ fn }) => fn.countAll<number>().as('total')])
    .groupBy('state')
    .execute()
  const counted = new Map(rows.map(({ state, total }) => [state, Number(total)]))
  const counts = { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 }
  for (const state of jobStates) counts[state] = counted.get(state) ?? 0
  return counts
}
