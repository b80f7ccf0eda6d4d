import type { MessageState } from '../../content/mail.ts'
import { type Job, toJob } from '../jobs/jobs.ts'
import type { GroupStore } from '../store.ts'

/** Counts failed jobs by kind, except for the kind that another check reports. */
export async function countFailedJobs(
  { groupId, database }: GroupStore,
  exceptKind: string,
): Promise<{ kind: string; count: number }[]> {
  const rows = await database.read
    .selectFrom('jobs')
    .select(['kind', ({ fn }) => fn.countAll<number>().as('count')])
    .where('group_id', '=', groupId)
    .where('state', '=', 'failed')
    .where('kind', '<>', exceptKind)
    .groupBy('kind')
    .orderBy('kind')
    .execute()
  return rows.map(({ kind, count }) => ({ kind, count: Number(count) }))
}

/** The latest failed jobs. */
export async function findFailedJobs(
  { groupId, database }: GroupStore,
  exceptKind: string,
  limit: number,
): Promise<Job[]> {
  const rows = await database.read
    .selectFrom('jobs')
    .selectAll()
    .where('group_id', '=', groupId)
    .where('state', '=', 'failed')
    .where('kind', '<>', exceptKind)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(toJob)
}

/** Counts jobs that were due before a time, and finds the oldest due time. */
export async function findOverdueJobs({ groupId, database }: GroupStore, dueBeforeMs: number) {
  const { count, sinceMs } = await database.read
    .selectFrom('jobs')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('due_ms').as('sinceMs')])
    .where('group_id', '=', groupId)
    .where('due_ms', '<', dueBeforeMs)
    .executeTakeFirstOrThrow()
  return { count: Number(count), sinceMs: sinceMs === null ? dueBeforeMs : Number(sinceMs) }
}

interface FoundMessages {
  count: number
  latest: { id: string; problem: string | null }[]
}

const messagesOf = ({ groupId, database }: GroupStore, state: MessageState) =>
  database.read
    .selectFrom('messages')
    .leftJoin('jobs', 'jobs.id', 'messages.job_id')
    .where('messages.group_id', '=', groupId)
    .where('messages.state', '=', state)

async function summarise(query: ReturnType<typeof messagesOf>, limit: number): Promise<FoundMessages> {
  const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const latest = await query
    .select(({ fn, ref }) => ['messages.id', fn.coalesce(ref('messages.problem'), ref('jobs.problem')).as('problem')])
    .orderBy('messages.id', 'desc')
    .limit(limit)
    .execute()
  return { count: Number(count), latest }
}

export const findFailedMessages = (group: GroupStore, sinceMs: number, limit: number): Promise<FoundMessages> =>
  summarise(messagesOf(group, 'failed').where('messages.ended_ms', '>=', sinceMs), limit)

/** Accepted before a time and not delivered yet. */
export const findDelayedMessages = (group: GroupStore, beforeMs: number, limit: number): Promise<FoundMessages> =>
  summarise(
    messagesOf(group, 'waiting').where('messages.created_ms', '<', beforeMs).where('jobs.due_ms', 'is not', null),
    limit,
  )

/** Waiting without a pending job. */
export const findStrandedMessages = (group: GroupStore, limit: number): Promise<FoundMessages> =>
  summarise(messagesOf(group, 'waiting').where('jobs.due_ms', 'is', null), limit)
