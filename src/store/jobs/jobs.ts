import { sql } from 'kysely'
import { makeId } from '../../core/ids.ts'
import type { ContentWriter } from '../content/changes.ts'
import type { Database } from '../engine/database.ts'
import type { ContentTables, JobRow } from '../schema/tables.ts'
import { databaseNamesInUse, type GroupStore, type Store } from '../store.ts'

export const jobStates = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const

export type JobState = (typeof jobStates)[number]

/** Deferred work. */
export interface Job {
  id: string
  groupId: string
  kind: string
  /** Input of its handler; never a secret, because it is shown. */
  payload: unknown
  state: JobState
  /** When it is due, or when its lease expires. Null when it has ended. */
  dueMs: number | null
  /** Started attempts. */
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
    state: row.state as JobState, // only our own values are stored
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
  /** Now by default. */
  runAtMs?: number
  /** Deduplicates: a waiting job of the same topic is used instead. */
  topic?: string
}

/** In the transaction of its cause. */
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
    .where('state', '=', sql.lit('waiting')) // a literal, to match the partial index
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

/** Waiting and running jobs of one kind. */
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

/** Restarts a job now. False when it runs, is done or does not exist. */
export function retryJob(writer: ContentWriter, id: string): Promise<boolean> {
  const restarted = { state: 'waiting', due_ms: writer.nowMs, attempts: 0, problem: null, finished_ms: null }
  return changeJob(writer, id, ['waiting', 'failed', 'cancelled'], restarted)
}

/** False when the job runs, has already ended or does not exist. */
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
  for (const name of await databaseNamesInUse(store.control)) {
    const page = await listJobsOf(await store.content(name), { ...query, skip: 0, limit: skip + limit })
    jobs.push(...page.jobs)
    totalCount += page.totalCount
  }
  jobs.sort((one, other) => (one.id < other.id ? 1 : -1))
  return { jobs: jobs.slice(skip, skip + limit), totalCount }
}

export interface JobCount {
  kind: string
  state: string
  count: number
}

/** States that metrics report. There may be a million done jobs. */
export const reportedJobStates = jobStates.filter((state) => state !== 'done')

/** Counts jobs of all groups by kind and state, as a long read. */
export async function countJobs({ read, readLong }: Database<ContentTables>): Promise<JobCount[]> {
  const { sql, parameters } = read
    .selectFrom('jobs')
    .select(['kind', 'state', ({ fn }) => fn.countAll<number>().as('count')])
    .where('state', 'in', reportedJobStates)
    .groupBy(['kind', 'state'])
    .compile()
  return readLong(sql, parameters)
}
