import type { Database } from './database.ts'
import { jobStates } from './jobs.ts'
import type { ContentTables } from './tables.ts'

export interface JobCount {
  kind: string
  state: string
  count: number
}

export interface MessageCount {
  state: string
  count: number
}

/** The states of jobs that somebody may have to look after. What is done is history, and there may be a million of it. */
export const notableJobStates = jobStates.filter((state) => state !== 'done')

/** How many notable jobs of each kind are in which state, whosever they are. There may be many, so nobody waits for it. */
export async function countJobs({ read, readAside }: Database<ContentTables>): Promise<JobCount[]> {
  const { sql, parameters } = read
    .selectFrom('jobs')
    .select(['kind', 'state', ({ fn }) => fn.countAll<number>().as('count')])
    .where('state', 'in', notableJobStates)
    .groupBy(['kind', 'state'])
    .compile()
  return readAside(sql, parameters)
}

/** How many e-mails are in which state, whosever they are. */
export async function countMessages({ read, readAside }: Database<ContentTables>): Promise<MessageCount[]> {
  const { sql, parameters } = read
    .selectFrom('messages')
    .select(['state', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy('state')
    .compile()
  return readAside(sql, parameters)
}
