import type { MessageState } from '../content/mail.ts'
import type { GroupStore } from './groups.ts'

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
