import { type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import { dayMs, maxClockSkewMs } from '../../core/clock.ts'
import { makeId } from '../../core/ids.ts'
import type { ContentWriter } from '../content/changes.ts'
import { type Database, qualifiedTable } from '../engine/database.ts'
import type { ContentTables, JobRow } from '../schema/tables.ts'
import { type Job, toJob } from './jobs.ts'

type Content = Database<ContentTables>

/** A leased job. Its worker's updates apply only while it holds the lease. */
export interface ClaimedJob {
  job: Job
  /** The lease's token. */
  worker: string
  /** `performance.now()` before the claim, and so no later than the start of the lease. */
  claimedMs: number
}

interface Wanted {
  kind: string
  groupId: string
  /** Jobs running in this process, whose leases look expired after the clock was set ahead. */
  except?: readonly string[]
  nowMs: number
}

export const leaseMs = 30_000
/** How long ended jobs are retained. */
const keptMs = { done: 7 * dayMs, failed: 90 * dayMs, cancelled: 90 * dayMs }
const rowsPerDelete = 1000

/** Round-robin state of one kind of job. */
interface Turn {
  lastServed: string
  /** Groups at their concurrency limit. */
  except: readonly string[]
  nowMs: number
}

/**
 * The first group after `after` with a due job. Skips from group to group in the index `jobs_due`, so its cost does not
 * depend on their numbers of jobs.
 */
async function findDueGroup(
  database: Content,
  kind: string,
  after: string,
  { except, nowMs }: Omit<Turn, 'lastServed'>,
) {
  const jobs = qualifiedTable(database, 'jobs')
  const nextAfter = (group: unknown) =>
    sql`(select min(group_id) from ${jobs} where kind = ${kind} and due_ms is not null and group_id > ${group})`
  const { rows } = await sql<{ group_id: string }>`
    with recursive turns (group_id) as (
      select ${nextAfter(after)}
      union all
      select ${nextAfter(sql`turns.group_id`)} from turns where turns.group_id is not null
    )
    select group_id from turns
    where ${except.length === 0 ? sql`true` : sql`group_id not in (${sql.join(except)})`} and exists (
      select 1 from ${jobs} as due
      where due.kind = ${kind} and due.group_id = turns.group_id and due.due_ms <= ${nowMs}
    )
    limit 1`.execute(database.read)
  return rows[0]?.group_id
}

/** Round robin: the next group with a due job of this kind after the one served last. */
export async function nextDueGroup(database: Content, kind: string, { lastServed, ...turn }: Turn) {
  const next = await findDueGroup(database, kind, lastServed, turn)
  return next === undefined && lastServed !== '' ? findDueGroup(database, kind, '', turn) : next
}

/** With PostgreSQL several workers may claim at once, without waiting for each other. */
const skipLocked =
  ({ engine }: Content) =>
  <Row>(query: SelectQueryBuilder<ContentTables, 'jobs', Row>) =>
    engine === 'postgres' ? query.forUpdate().skipLocked() : query

/** Leases the group's oldest due job. The attempt is counted here, because the process may die during it. */
export function claimJob(
  database: Content,
  { kind, groupId, except = [], nowMs }: Wanted,
): Promise<ClaimedJob | undefined> {
  const claimedMs = performance.now()
  return database.write(async (db) => {
    const found = await db
      .selectFrom('jobs')
      .selectAll()
      .where('kind', '=', kind)
      .where('group_id', '=', groupId)
      .where('due_ms', '<=', nowMs)
      .$if(except.length > 0, (query) => query.where('id', 'not in', except))
      .orderBy('due_ms')
      .orderBy('id')
      .limit(1)
      .$call(skipLocked(database))
      .executeTakeFirst()
    if (!found) return undefined
    const worker = makeId()
    const claimed = { state: 'running', due_ms: nowMs + leaseMs, attempts: found.attempts + 1, worker }
    await db.updateTable('jobs').set(claimed).where('id', '=', found.id).execute()
    return { job: toJob({ ...found, ...claimed }), worker, claimedMs }
  })
}

async function changeOwn(db: Transaction<ContentTables>, { job, worker }: ClaimedJob, to: Partial<JobRow>) {
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set(to)
    .where('id', '=', job.id)
    .where('worker', '=', worker)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

const done = (nowMs: number) => ({ state: 'done', due_ms: null, worker: null, problem: null, finished_ms: nowMs })

/** False, here and below, when the lease is lost. */
export const renewLease = (database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> =>
  database.write((db) => changeOwn(db, claimed, { due_ms: nowMs + leaseMs }))

export const completeJob = (database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> =>
  database.write((db) => changeOwn(db, claimed, done(nowMs)))

const takenOver = (): Error => new Error('Another process has taken this job over; nothing was written.')

/** In the transaction that writes the job's effect: throws, and so rolls back, when the lease is lost. */
export async function completeJobInTransaction(writer: ContentWriter, claimed: ClaimedJob): Promise<void> {
  if (!(await changeOwn(writer.db, claimed, done(writer.nowMs)))) throw takenOver()
}

const failed = (problem: string, nowMs: number) => ({
  state: 'failed',
  due_ms: null,
  worker: null,
  problem,
  finished_ms: nowMs,
})

/** Fails a job without a retry, in the transaction that writes the consequences. */
export async function failJobInTransaction(writer: ContentWriter, claimed: ClaimedJob, problem: string): Promise<void> {
  if (!(await changeOwn(writer.db, claimed, failed(problem, writer.nowMs)))) throw takenOver()
}

/** Without a retry if `retryAtMs` is undefined. */
export function failJob(
  database: Content,
  claimed: ClaimedJob,
  { problem, retryAtMs, nowMs }: { problem: string; retryAtMs: number | undefined; nowMs: number },
): Promise<boolean> {
  const state =
    retryAtMs === undefined ? failed(problem, nowMs) : { state: 'waiting', due_ms: retryAtMs, worker: null, problem }
  return database.write((db) => changeOwn(db, claimed, state))
}

/** Releases the lease and does not count the attempt. */
export function releaseJob(database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> {
  const { attempts } = claimed.job
  return database.write((db) =>
    changeOwn(db, claimed, { state: 'waiting', due_ms: nowMs, worker: null, attempts: attempts - 1 }),
  )
}

/** For a job of a deleted group. */
export async function deleteJob(database: Content, { job, worker }: ClaimedJob): Promise<void> {
  await database.write((db) => db.deleteFrom('jobs').where('id', '=', job.id).where('worker', '=', worker).execute())
}

/**
 * Reschedules jobs written while a clock was far ahead, which would otherwise wait as long: new jobs, retries and leases
 * of dead processes.
 */
export async function rescheduleMisdatedJobs(
  database: Content,
  { kind, longestWaitMs, nowMs }: { kind: string; longestWaitMs: number; nowMs: number },
): Promise<void> {
  const latestPlausibleMs = nowMs + maxClockSkewMs
  await database.write(async (db) => {
    const ofKind = db.updateTable('jobs').where('kind', '=', kind)
    const running = ofKind.where('state', '=', 'running').where('due_ms', '>', latestPlausibleMs + leaseMs)
    const waiting = ofKind.where('state', '=', 'waiting')
    const begun = waiting.where('attempts', '>', 0).where('due_ms', '>', latestPlausibleMs + longestWaitMs)
    for (const late of [running, begun]) await late.set({ due_ms: nowMs }).execute()
    await waiting
      .where('created_ms', '>', latestPlausibleMs)
      .set((eb) => ({ due_ms: sql`${eb.ref('due_ms')} - ${eb.ref('created_ms')} + ${nowMs}`, created_ms: nowMs }))
      .execute()
  })
}

/** Deletes jobs that ended long ago, in short transactions. */
export async function pruneJobs(database: Content, nowMs: number): Promise<void> {
  for (const [state, keptForMs] of Object.entries(keptMs)) {
    while (await database.write((db) => deleteSome(db, database, state, nowMs - keptForMs)));
  }
}

async function deleteSome(db: Transaction<ContentTables>, database: Content, state: string, beforeMs: number) {
  const rows = await db
    .selectFrom('jobs')
    .select('id')
    .where('state', '=', state)
    .where('finished_ms', '<', beforeMs)
    .limit(rowsPerDelete)
    .$call(skipLocked(database))
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await db.deleteFrom('jobs').where('id', 'in', ids).execute()
  return ids.length === rowsPerDelete
}
