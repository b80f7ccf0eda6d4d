import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { ServiceLogger } from '../core/logging.ts'
import { type ContentWriter, writeContent } from '../store/content/changes.ts'
import { findGroupById, type Group } from '../store/control/groups.ts'
import {
  type ClaimedJob,
  completeJob,
  completeJobInTransaction,
  deleteJob,
  failJob,
  failJobInTransaction,
  leaseMs,
  releaseJob,
  renewLease,
} from '../store/jobs/claim-jobs.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { type JobHandler, PermanentFailure } from './handler.ts'
import { maxAttempts, nextDelaySeconds } from './retry-backoff.ts'

const maxProblemCharacters = 500

export interface RunDeps {
  store: Store
  clock: Clock
  logger: Pick<ServiceLogger, 'info' | 'warn' | 'error' | 'noteOutage' | 'noteSuccess'>
}

/** Why an attempt was ended from outside. */
export class Stopping extends Error {}
class LeaseLost extends Error {}

/** What a person is shown of a failure, in a form that any database can hold. Paths of this machine are for its log. */
function problemOf(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isOfSystem = code !== undefined && syscall !== undefined
  const message = isOfSystem
    ? `It was not possible to ${syscall} a file (${code}); the log of the server says more.`
    : error instanceof Error
      ? error.message
      : String(error)
  return message.slice(0, maxProblemCharacters).toWellFormed().replaceAll('\0', '')
}

/** Undefined when the group is gone, or about to be: then its jobs are, too. */
async function findOwner(store: Store, groupId: string): Promise<Group | undefined> {
  try {
    const group = await findGroupById(store, groupId)
    return group.deletingMs === null ? group : undefined
  } catch (error) {
    if (error instanceof AppError && error.code === 'NotFound') return undefined
    throw error
  }
}

interface Lease {
  /** Whether it still lasts. Some machines stop one clock while they sleep, and people set the other: both are asked. */
  isOurs(): boolean
  stop(): void
}

/**
 * Asks for more time while the job runs. It is lost when somebody else has it (because this process was blocked, or a
 * clock was set), and taken for lost when the database could not be asked for as long as a lease lasts.
 */
function renewLeaseRegularly(
  { job, claimedMs }: ClaimedJob,
  { clock, renew, onLost }: { clock: Clock; renew: (nowMs: number) => Promise<boolean>; onLost: () => void },
): Lease {
  let renewedMs = claimedMs
  let dueMs = job.dueMs ?? 0
  async function tryToRenew(): Promise<void> {
    const [askedMs, nowMs] = [performance.now(), clock()]
    try {
      if (!(await renew(nowMs))) return onLost()
      renewedMs = askedMs
      dueMs = nowMs + leaseMs
    } catch {
      if (performance.now() - renewedMs > leaseMs) onLost()
    }
  }
  const timer = setInterval(() => void tryToRenew(), leaseMs / 3)
  return {
    isOurs: () => performance.now() - renewedMs < leaseMs && clock() < dueMs,
    stop: () => clearInterval(timer),
  }
}

/** Rejects as soon as the signal aborts, and never resolves. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { once: true })
  })
}

/** Runs the handler for as long as it may run, and throws what it throws or why it was ended. */
async function attempt(
  { clock }: RunDeps,
  { handler, claimed, group, owner, stopping }: Attempt & { owner: Group },
  write: Write,
): Promise<void> {
  const { limitSeconds } = handler
  const ending = new AbortController()
  const signal = AbortSignal.any([ending.signal, stopping])
  let finishing: Promise<void> | undefined
  const lease = renewLeaseRegularly(claimed, {
    clock,
    renew: (nowMs) => renewLease(group.database, claimed, nowMs),
    onLost: () => finishing || ending.abort(new LeaseLost('Somebody else has taken this job over.')),
  })
  const limit = setTimeout(
    () => ending.abort(new Error(`It took longer than ${limitSeconds} seconds.`)),
    limitSeconds * 1000,
  )
  async function finish(work: (writer: ContentWriter) => Promise<void>): Promise<void> {
    finishing = write(async (writer) => {
      await completeJobInTransaction(writer, claimed)
      await work(writer)
    })
    try {
      await finishing
    } catch (error) {
      finishing = undefined
      throw error
    }
  }
  try {
    const context = { group, owner, signal, isOurs: lease.isOurs, nowMs: clock(), finish }
    await Promise.race([handler.run(claimed.job, context), rejectOnAbort(signal)])
  } catch (error) {
    if (!signal.aborted) throw error
    // What was being written when we were ended is still written: nobody else is to begin it meanwhile.
    const isDone = await finishing?.then(
      () => true,
      () => false,
    )
    if (!isDone) throw signal.reason
  } finally {
    clearTimeout(limit)
    lease.stop()
    ending.abort() // or the signal, and all that listens to it, would live as long as the process
  }
}

/** Changes the content of the job's group. */
type Write = (work: (writer: ContentWriter) => Promise<void>) => Promise<void>

interface Attempt {
  handler: JobHandler
  claimed: ClaimedJob
  group: GroupStore
  stopping: AbortSignal
}

/** One attempt at a claimed job, and what follows from it. */
export async function runJob(deps: RunDeps, { handler, claimed, group, stopping }: Attempt): Promise<void> {
  const { clock, logger } = deps
  const { database } = group
  const { job } = claimed
  const { id: jobId, groupId, kind, attempts } = job
  const { retryAfterSeconds, giveUp } = handler
  /** One that is tried again. */
  const peer = `a job of the kind ${kind}`

  async function fail(error: unknown, retryAfter: number | undefined): Promise<void> {
    const nowMs = clock()
    const retryAtMs = retryAfter === undefined ? undefined : nowMs + retryAfter * 1000
    const problem = problemOf(error)
    const effect = error instanceof PermanentFailure ? error.effect : undefined
    if (retryAtMs === undefined && (giveUp || effect)) await failWith(problem, effect)
    else if (!(await failJob(database, claimed, { problem, retryAtMs, nowMs }))) return
    const line = { kind, jobId, groupId, attempts }
    if (retryAtMs === undefined) logger.error({ ...line, err: error }, 'a job has failed for good')
    else logger.noteOutage(peer, error, { ...line, isTriedAgain: true })
  }

  const owner = await findOwner(deps.store, groupId)
  if (!owner) return deleteJob(database, claimed)
  const author = { id: null, name: 'jobs', address: '' }
  const write: Write = (work) =>
    writeContent(group, { author, verb: kind, nowMs: clock(), versionsKept: owner.versionsKept }, work)
  const failWith = (problem: string, effect: PermanentFailure['effect']) =>
    write(async (writer) => {
      await failJobInTransaction(writer, claimed, problem)
      await giveUp?.(job, problem, writer)
      await effect?.(writer)
    })
  if (attempts > maxAttempts(retryAfterSeconds)) {
    const times = `It was begun ${attempts - 1} times, and the last time it did not come to an end: the process stopped.`
    return fail(new PermanentFailure(times), undefined)
  }
  try {
    await attempt(deps, { handler, claimed, group, owner, stopping }, write)
    await completeJob(database, claimed, clock())
    logger.noteSuccess(peer)
  } catch (error) {
    if (error instanceof LeaseLost) logger.warn({ kind, jobId, groupId }, 'a job was taken over by somebody else')
    else if (error instanceof Stopping) await releaseJob(database, claimed, clock())
    else
      await fail(error, error instanceof PermanentFailure ? undefined : nextDelaySeconds(retryAfterSeconds, attempts))
  }
}
