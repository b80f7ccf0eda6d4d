import { type SelectQueryBuilder, sql, type Transaction } from 'kysely'
import { makeId } from '../ids.ts'
import type { ContentWriter } from './changes.ts'
import { type Database, tableOf } from './database.ts'
import { type Job, toJob } from './jobs.ts'
import type { ContentTables, JobRow } from './tables.ts'

type Content = Database<ContentTables>

/** A job that somebody has in work. All they write about it is written only while it is still theirs. */
export interface ClaimedJob {
  job: Job
  /** Known to nobody else. */
  worker: string
  /** When it was asked for, by the clock of the process that is never set. */
  askedMs: number
}

interface Wanted {
  kind: string
  groupId: string
  /** Those that we have in work ourselves: a clock that was set ahead makes them look abandoned. */
  except?: readonly string[]
  nowMs: number
}

/** How long a job belongs to who claimed it, unless they ask for more time. */
export const leaseMs = 30_000
/** Clocks of several machines differ a little. What is later than this was written by one that was set right since. */
const mostClockSkewMs = 3_600_000
const dayMs = 86_400_000
/** How long it can be looked up what became of a job. */
const keptMs = { done: 7 * dayMs, failed: 90 * dayMs, cancelled: 90 * dayMs }
const rowsPerDelete = 1000

/** Whose turn it is. */
interface Turn {
  lastServed: string
  /** Groups that have enough in work. */
  except: readonly string[]
  nowMs: number
}

/**
 * The first group after `after` that has a job due. It goes from group to group by the index `jobs_due`, so it makes
 * no difference how many jobs each of them has.
 */
async function findDueGroup(
  database: Content,
  kind: string,
  after: string,
  { except, nowMs }: Omit<Turn, 'lastServed'>,
) {
  const jobs = tableOf(database, 'jobs')
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

/** Groups take turns: the next one that has a job of this kind due, after the group that was served last. */
export async function nextDueGroup(database: Content, kind: string, { lastServed, ...turn }: Turn) {
  const next = await findDueGroup(database, kind, lastServed, turn)
  return next === undefined && lastServed !== '' ? findDueGroup(database, kind, '', turn) : next
}

/** With PostgreSQL several may choose at once, and none takes or waits for what another has chosen. */
const unlessTaken =
  ({ engine }: Content) =>
  <Row>(query: SelectQueryBuilder<ContentTables, 'jobs', Row>) =>
    engine === 'postgres' ? query.forUpdate().skipLocked() : query

/** Takes the job of a group that has been due the longest. An attempt counts from here: it may be our last deed. */
export function claimJob(
  database: Content,
  { kind, groupId, except = [], nowMs }: Wanted,
): Promise<ClaimedJob | undefined> {
  const askedMs = performance.now()
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
      .$call(unlessTaken(database))
      .executeTakeFirst()
    if (!found) return undefined
    const worker = makeId()
    const claimed = { state: 'running', due_ms: nowMs + leaseMs, attempts: found.attempts + 1, worker }
    await db.updateTable('jobs').set(claimed).where('id', '=', found.id).execute()
    return { job: toJob({ ...found, ...claimed }), worker, askedMs }
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

/** Asks for more time. False, here and below, where the job is no longer ours. */
export function renewLease(database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> {
  return database.write((db) => changeOwn(db, claimed, { due_ms: nowMs + leaseMs }))
}

export function completeJob(database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> {
  return database.write((db) => changeOwn(db, claimed, done(nowMs)))
}

const takenOver = (): Error => new Error('Somebody else has taken this job over; nothing was written.')

/** Inside the transaction that writes the job's effect: throws, and so undoes it, where the job is no longer ours. */
export async function completeInside(writer: ContentWriter, claimed: ClaimedJob): Promise<void> {
  if (!(await changeOwn(writer.db, claimed, done(writer.nowMs)))) throw takenOver()
}

const failed = (problem: string, nowMs: number) => ({
  state: 'failed',
  due_ms: null,
  worker: null,
  problem,
  finished_ms: nowMs,
})

/** For good, and inside the transaction that writes what follows from it. */
export async function failInside(writer: ContentWriter, claimed: ClaimedJob, problem: string): Promise<void> {
  if (!(await changeOwn(writer.db, claimed, failed(problem, writer.nowMs)))) throw takenOver()
}

/** Without a time to try again, for good. */
export function failJob(
  database: Content,
  claimed: ClaimedJob,
  { problem, retryAtMs, nowMs }: { problem: string; retryAtMs: number | undefined; nowMs: number },
): Promise<boolean> {
  const state =
    retryAtMs === undefined ? failed(problem, nowMs) : { state: 'waiting', due_ms: retryAtMs, worker: null, problem }
  return database.write((db) => changeOwn(db, claimed, state))
}

/** As if it had not been begun. */
export function giveBackJob(database: Content, claimed: ClaimedJob, nowMs: number): Promise<boolean> {
  const { attempts } = claimed.job
  return database.write((db) =>
    changeOwn(db, claimed, { state: 'waiting', due_ms: nowMs, worker: null, attempts: attempts - 1 }),
  )
}

/** Of a group that is gone. */
export async function forgetJob(database: Content, { job, worker }: ClaimedJob): Promise<void> {
  await database.write((db) => db.deleteFrom('jobs').where('id', '=', job.id).where('worker', '=', worker).execute())
}

/**
 * What was written by a clock that was far ahead, and has been set right since, would not be taken up for as long: the
 * lease of a process that died, the wait after a failure, and the time of a job that was made then.
 */
export async function recallStrayJobs(
  database: Content,
  { kind, longestWaitMs, nowMs }: { kind: string; longestWaitMs: number; nowMs: number },
): Promise<void> {
  const believableMs = nowMs + mostClockSkewMs
  await database.write(async (db) => {
    const stray = db.updateTable('jobs').where('kind', '=', kind)
    const running = stray.where('state', '=', 'running').where('due_ms', '>', believableMs + leaseMs)
    const waiting = stray.where('state', '=', 'waiting')
    const begun = waiting.where('attempts', '>', 0).where('due_ms', '>', believableMs + longestWaitMs)
    for (const late of [running, begun]) await late.set({ due_ms: nowMs }).execute()
    await waiting
      .where('created_ms', '>', believableMs)
      .set((eb) => ({ due_ms: sql`${eb.ref('due_ms')} - ${eb.ref('created_ms')} + ${nowMs}`, created_ms: nowMs }))
      .execute()
  })
}

/** Deletes what ended long ago, a part at a time, so that nobody waits long. */
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
    .$call(unlessTaken(database))
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await db.deleteFrom('jobs').where('id', 'in', ids).execute()
  return ids.length === rowsPerDelete
}
