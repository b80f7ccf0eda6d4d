import type { GroupStore } from './groups.ts'
import { type Job, toJob } from './jobs.ts'

/** How many jobs of a group have failed for good, by kind, but for those of which another check tells. */
export async function countFailedJobs(
  { groupId, database }: GroupStore,
  toldElsewhere: string,
): Promise<{ kind: string; count: number }[]> {
  const rows = await database.read
    .selectFrom('jobs')
    .select(['kind', ({ fn }) => fn.countAll<number>().as('count')])
    .where('group_id', '=', groupId)
    .where('state', '=', 'failed')
    .where('kind', '<>', toldElsewhere)
    .groupBy('kind')
    .orderBy('kind')
    .execute()
  return rows.map(({ kind, count }) => ({ kind, count: Number(count) }))
}

/** The latest of them. */
export async function findFailedJobs(
  { groupId, database }: GroupStore,
  toldElsewhere: string,
  limit: number,
): Promise<Job[]> {
  const rows = await database.read
    .selectFrom('jobs')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('state', '=', 'failed')
    .where('kind', '<>', toldElsewhere)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toJob)
}

/** How many jobs of a group nobody has taken up in time, and since when the first of them is due. */
export async function findOverdueJobs({ groupId, database }: GroupStore, dueBeforeMs: number) {
  const { count, sinceMs } = await database.read
    .selectFrom('jobs')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('due_ms').as('sinceMs')])
    .where('group_id', '=', groupId)
    .where('due_ms', '<', dueBeforeMs)
    .executeTakeFirstOrThrow()
  return { count: Number(count), sinceMs: sinceMs === null ? dueBeforeMs : Number(sinceMs) }
}
