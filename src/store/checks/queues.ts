import type { MessageState } from '../../content/mail.ts'
import { type Job, toJob } from '../jobs/jobs.ts'
import type { GroupStore } from '../store.ts'

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

/** Messages of one sort: how many there are, and the latest of them. */
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

async function summarise(query: ReturnType<typeof messagesOf>, most: number): Promise<FoundMessages> {
  const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  const latest = await query
    .select(({ fn, ref }) => ['messages.id', fn.coalesce(ref('messages.problem'), ref('jobs.problem')).as('problem')])
    .orderBy('messages.id', 'desc')
    .limit(most)
    .execute()
  return { count: Number(count), latest }
}

export const findFailedMessages = (group: GroupStore, sinceMs: number, most: number): Promise<FoundMessages> =>
  summarise(messagesOf(group, 'failed').where('messages.ended_ms', '>=', sinceMs), most)

/** Accepted before a moment, and still to be delivered. */
export const findDelayedMessages = (group: GroupStore, beforeMs: number, most: number): Promise<FoundMessages> =>
  summarise(
    messagesOf(group, 'waiting').where('messages.created_ms', '<', beforeMs).where('jobs.due_ms', 'is not', null),
    most,
  )

/** They wait, and nobody will come for them. */
export const findStrandedMessages = (group: GroupStore, most: number): Promise<FoundMessages> =>
  summarise(messagesOf(group, 'waiting').where('jobs.due_ms', 'is', null), most)
