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

/** Reasons to abort an attempt. */
export class Stopping extends Error {}
class LeaseLost extends Error {}

/** The message for users: without local paths, which belong in the log, and storable by any database. */
function problemOf(error: unknown): string {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isSystemError = code !== undefined && syscall !== undefined
  const message = isSystemError
    ? `A file operation failed (${syscall}, ${code}); see the server's log.`
    : error instanceof Error
      ? error.message
      : String(error)
  return message.slice(0, maxProblemCharacters).toWellFormed().replaceAll('\0', '')
}

/** Undefined when the group is deleted or being deleted. */
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
  /** Checks both clocks: the monotonic one may stop while the machine sleeps, the other one may be set. */
  isOurs(): boolean
  stop(): void
}

/**
 * Renews the lease while the job runs. The lease is lost when another process has claimed the job (after this one was blocked
 * or a clock was set), and counts as lost when renewals have failed for the duration of a lease.
 */
function renewLeaseRegularly(
  { job, claimedMs }: ClaimedJob,
  { clock, renew, onLost }: { clock: Clock; renew: (nowMs: number) => Promise<boolean>; onLost: () => void },
): Lease {
  let renewedMs = claimedMs
  let expiresMs = job.dueMs ?? 0
  async function tryToRenew(): Promise<void> {
    const [startMs, nowMs] = [performance.now(), clock()]
    try {
      if (!(await renew(nowMs))) return onLost()
      renewedMs = startMs
      expiresMs = nowMs + leaseMs
    } catch {
      if (performance.now() - renewedMs > leaseMs) onLost()
    }
  }
  const timer = setInterval(() => void tryToRenew(), leaseMs / 3)
  return {
    isOurs: () => performance.now() - renewedMs < leaseMs && clock() < expiresMs,
    stop: () => clearInterval(timer),
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

/** Runs the handler until it ends or is aborted; throws its error or the reason of the abort. */
async function attempt(
  { clock }: RunDeps,
  { handler, claimed, group, owner, stopping }: Attempt & { owner: Group },
  write: Write,
): Promise<void> {
  const { maxSeconds } = handler
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, stopping])
  let finishing: Promise<void> | undefined
  const lease = renewLeaseRegularly(claimed, {
    clock,
    renew: (nowMs) => renewLease(group.database, claimed, nowMs),
    onLost: () => finishing || controller.abort(new LeaseLost('Another process has taken this job over.')),
  })
  const timeout = setTimeout(
    () => controller.abort(new Error(`It took longer than ${maxSeconds} seconds.`)),
    maxSeconds * 1000,
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
    // Waits for a running transaction, so that no other process claims the job meanwhile.
    const isDone = await finishing?.then(
      () => true,
      () => false,
    )
    if (!isDone) throw signal.reason
  } finally {
    clearTimeout(timeout)
    lease.stop()
    controller.abort() // otherwise the signal and its listeners would live as long as `stopping`
  }
}

type Write = (work: (writer: ContentWriter) => Promise<void>) => Promise<void>

interface Attempt {
  handler: JobHandler
  claimed: ClaimedJob
  group: GroupStore
  stopping: AbortSignal
}

/** Runs one attempt of a claimed job and records its outcome. */
export async function runJob(deps: RunDeps, { handler, claimed, group, stopping }: Attempt): Promise<void> {
  const { clock, logger } = deps
  const { database } = group
  const { job } = claimed
  const { id: jobId, groupId, kind, attempts } = job
  const { retryDelaysSeconds, giveUp } = handler
  const peer = `a job of the kind ${kind}`

  async function fail(error: unknown, delaySeconds: number | undefined): Promise<void> {
    const nowMs = clock()
    const retryAtMs = delaySeconds === undefined ? undefined : nowMs + delaySeconds * 1000
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
  if (attempts > maxAttempts(retryDelaysSeconds)) {
    const problem = `It was started ${attempts - 1} times, and the process stopped during the last attempt.`
    return fail(new PermanentFailure(problem), undefined)
  }
  try {
    await attempt(deps, { handler, claimed, group, owner, stopping }, write)
    await completeJob(database, claimed, clock())
    logger.noteSuccess(peer)
  } catch (error) {
    if (error instanceof LeaseLost) logger.warn({ kind, jobId, groupId }, 'a job was taken over by another process')
    else if (error instanceof Stopping) await releaseJob(database, claimed, clock())
    else
      await fail(error, error instanceof PermanentFailure ? undefined : nextDelaySeconds(retryDelaysSeconds, attempts))
  }
}
