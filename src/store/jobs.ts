import { sql } from 'kysely'
import { makeId } from '../ids.ts'
import type { ContentWriter } from './changes.ts'
import type { Database } from './database.ts'
import type { GroupStore } from './groups.ts'
import { namesInUse, type Store } from './open.ts'
import type { ContentTables, JobRow } from './tables.ts'

export const jobStates = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const

export type JobState = (typeof jobStates)[number]

/** Work to be done later. */
export interface Job {
  id: string
  groupId: string
  kind: string
  /** What its handler needs to know; never a secret, because people are shown it. */
  payload: unknown
  state: JobState
  /** When it is to be taken up: its time, or the end of the lease of who has it in work. Null when it has ended. */
  dueMs: number | null
  /** How often it was begun. */
  attempts: number
  /** Why the latest attempt failed. */
  problem: string | null
  createdMs: number
  finishedMs: number | null
}

export function toJob(row: JobRow): Job {
  return {
    id: row.id,
    groupId: row.group_id,
    kind: row.kind,
    payload: JSON.parse(row.payload),
    state: row.state as JobState, // nobody else writes it
    dueMs: row.due_ms,
    attempts: row.attempts,
    problem: row.problem,
    createdMs: row.created_ms,
    finishedMs: row.finished_ms,
  }
}

export interface NewJob {
  kind: string
  payload: object
  /** Not before this moment; at once where it is not given. */
  runAtMs?: number
  /** What it is about: where the same is still waiting to be begun, that one will do. */
  topic?: string
}

/** Written in the transaction of what causes it: there is no job without its cause, and no cause without its job. */
export async function insertJob(writer: ContentWriter, { kind, payload, runAtMs, topic }: NewJob): Promise<string> {
  const waiting = topic === undefined ? undefined : await findWaitingJob(writer, kind, topic)
  if (waiting) return waiting.id
  const id = makeId()
  const row: JobRow = {
    id,
    group_id: writer.group.groupId,
    kind,
    payload: JSON.stringify(payload),
    state: 'waiting',
    due_ms: runAtMs ?? writer.nowMs,
    attempts: 0,
    worker: null,
    topic: topic ?? null,
    problem: null,
    created_ms: writer.nowMs,
    finished_ms: null,
  }
  await writer.db.insertInto('jobs').values(row).execute()
  return id
}

async function findWaitingJob({ db, group }: ContentWriter, kind: string, topic: string) {
  return db
    .selectFrom('jobs')
    .select('id')
    .where('group_id', '=', group.groupId)
    .where('kind', '=', kind)
    .where('topic', '=', topic)
    .where('state', '=', sql.lit('waiting')) // as it stands in the index
    .executeTakeFirst()
}

export async function findJob({ groupId, database }: GroupStore, id: string): Promise<Job | undefined> {
  const row = await database.read
    .selectFrom('jobs')
    .selectAll()
    .where('id', '=', id)
    .where('group_id', '=', groupId)
    .executeTakeFirst()
  return row && toJob(row)
}

/** What is still to be done of one kind. */
export async function findPendingJobs({ groupId, database }: GroupStore, kind: string): Promise<Job[]> {
  const rows = await database.read
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('group_id', '=', groupId)
    .where('due_ms', 'is not', null)
    .execute()
  return rows.map(toJob)
}

/** Makes a job begin anew, at once. False where it runs, is done, or does not exist. */
export function retryJob(writer: ContentWriter, id: string): Promise<boolean> {
  const anew = { state: 'waiting', due_ms: writer.nowMs, attempts: 0, problem: null, finished_ms: null }
  return changeJob(writer, id, ['waiting', 'failed', 'cancelled'], anew)
}

/** False where the job runs, has ended otherwise, or does not exist. */
export function cancelJob(writer: ContentWriter, id: string): Promise<boolean> {
  return changeJob(writer, id, ['waiting', 'failed'], {
    state: 'cancelled',
    due_ms: null,
    finished_ms: writer.nowMs,
  })
}

async function changeJob(writer: ContentWriter, id: string, from: JobState[], to: Partial<JobRow>): Promise<boolean> {
  const { numUpdatedRows } = await writer.db
    .updateTable('jobs')
    .set(to)
    .where('id', '=', id)
    .where('group_id', '=', writer.group.groupId)
    .where('state', 'in', from)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface JobQuery {
  state?: JobState | undefined
  kind?: string | undefined
  groupId?: string | undefined
  limit: number
  skip: number
}

export interface JobPage {
  jobs: Job[]
  totalCount: number
}

async function listJobsOf(
  { read }: Database<ContentTables>,
  { state, kind, groupId, limit, skip }: JobQuery,
): Promise<JobPage> {
  const matching = read.selectFrom('jobs').where((eb) =>
    eb.and({
      ...(state !== undefined && { state }),
      ...(kind !== undefined && { kind }),
      ...(groupId !== undefined && { group_id: groupId }),
    }),
  )
  const { total } = await matching.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  const rows = await matching.selectAll().orderBy('id', 'desc').limit(limit).offset(skip).execute()
  return { jobs: rows.map(toJob), totalCount: Number(total) }
}

/** The jobs of all databases, newest first. */
export async function listJobs(store: Store, query: JobQuery): Promise<JobPage> {
  const { skip, limit } = query
  const jobs: Job[] = []
  let totalCount = 0
  for (const name of await namesInUse(store.control)) {
    const page = await listJobsOf(await store.content(name), { ...query, skip: 0, limit: skip + limit })
    jobs.push(...page.jobs)
    totalCount += page.totalCount
  }
  jobs.sort((one, other) => (one.id < other.id ? 1 : -1))
  return { jobs: jobs.slice(skip, skip + limit), totalCount }
}
