import { setTimeout as sleep } from 'node:timers/promises'
import { createSemaphore, type Semaphore } from '../concurrency/semaphore.ts'
import { databasePeer } from '../core/outage-log.ts'
import { isDatabaseUnavailable } from '../store/engine/unavailable.ts'
import { claimJob, nextDueGroup, pruneJobs, rescheduleMisdatedJobs } from '../store/jobs/claim-jobs.ts'
import type { Job } from '../store/jobs/jobs.ts'
import { controlName, databaseNamesInUse, type GroupStore } from '../store/store.ts'
import type { JobHandler } from './handler.ts'
import { type RunDeps, runJob, Stopping } from './run-job.ts'

const pollEveryMs = 1000
const tidyEveryMs = 600_000
/** How long a running job may go on when the process is to stop. */
const stopGraceMs = 10_000
/** So often in a row somebody else may be faster; after that we wait for the next second. */
const maxMisses = 10

export interface WorkerOptions extends RunDeps {
  handlers: readonly JobHandler[]
  /** How many jobs of each kind run at once in this process, times their `atOnce`; none of themselves where it is 0. */
  workers: number
}

/** Takes up what is due, in all databases. */
export interface Worker {
  /** Looks for work every second, until `stop`. */
  start(): void
  /** Takes up nothing new, and gives what runs some time to end; what has not ended then is left to others. */
  stop(): Promise<void>
  /** Runs what is due now until nothing is, and says how many attempts that were. */
  runDue(): Promise<number>
}

/** Each kind has places of its own: mail never waits behind pictures. */
interface Lane {
  handler: JobHandler
  slots: Semaphore
  /** For each database the group that was served last. */
  lastServed: Map<string, string>
  /** What is under way, by the id of its job. */
  running: Map<string, { run: Promise<void>; groupId: string }>
}

/** The groups that have as many jobs of the kind under way as they may. */
function busyGroups({ handler: { maxPerGroup = Number.POSITIVE_INFINITY }, running }: Lane): string[] {
  const counts = new Map<string, number>()
  for (const { groupId } of running.values()) counts.set(groupId, (counts.get(groupId) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= maxPerGroup).map(([groupId]) => groupId)
}

const isLongAgo = (ms: number | undefined, intervalMs: number): boolean =>
  ms === undefined || performance.now() - ms > intervalMs

export function createWorker({ handlers, workers, ...deps }: WorkerOptions): Worker {
  const { store, clock, logger } = deps
  // `runDue` is asked for by name, and then works like one worker
  const slotsFor = ({ atOnce = 1 }: JobHandler) => createSemaphore({ maxPerKey: Math.max(workers, 1) * atOnce })
  const lanes = handlers.map(
    (handler): Lane => ({
      handler,
      slots: slotsFor(handler),
      lastServed: new Map(),
      running: new Map(),
    }),
  )
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  /** What is under way in each database, so that it is not begun twice. */
  const underWay = new Map<string, Promise<void>>()
  /** What was asked for while it was under way: it may have looked too early to see what the asker means. */
  const wantedAgain = new Set<string>()
  const tidiedMs = new Map<string, number>()
  let attempts = 0
  let isStopping = false
  let timer: NodeJS.Timeout | undefined

  function complain(name: string, error: unknown): void {
    logger.noteOutage(isDatabaseUnavailable(error) ? databasePeer : 'working on jobs', error, { database: name })
  }

  function track(run: Promise<void>, lane: Lane, { id, groupId }: Job): void {
    running.add(run)
    lane.running.set(id, { run, groupId })
    void run.then(() => {
      running.delete(run)
      lane.running.delete(id)
    })
  }

  /** Failures of one database stay there. */
  function once(what: string, name: string, work: () => Promise<void>): Promise<void> {
    const key = `${name}: ${what}`
    const current = underWay.get(key)
    if (current) {
      wantedAgain.add(key)
      return current
    }
    const begun = work()
      .catch((error) => complain(name, error))
      .then(() => {
        underWay.delete(key)
        if (wantedAgain.delete(key)) return once(what, name, work)
      })
    underWay.set(key, begun)
    return begun
  }

  /** False where somebody else was faster. */
  async function takeOne(name: string, group: GroupStore, lane: Lane): Promise<boolean> {
    const { handler, slots, lastServed } = lane
    const { groupId, database } = group
    const release = await slots.acquire(handler.kind)
    let run: Promise<void> | undefined
    try {
      const wanted = { kind: handler.kind, groupId, except: [...lane.running.keys()], nowMs: clock() }
      const claimed = isStopping ? undefined : await claimJob(database, wanted)
      lastServed.set(name, groupId)
      if (!claimed) return false
      attempts += 1
      run = runJob(deps, { handler, claimed, group, stopping: stopping.signal })
        .catch((error) => complain(name, error)) // the database is away; when the lease ends, the job is begun again
        .finally(release)
      track(run, lane, claimed.job)
      return true
    } finally {
      if (!run) release()
    }
  }

  async function takeAllDue(name: string, lane: Lane): Promise<void> {
    const database = await store.content(name)
    for (let misses = 0; !isStopping && misses < maxMisses; ) {
      const last = lane.lastServed.get(name) ?? ''
      const busy = busyGroups(lane)
      const groupId = await nextDueGroup(database, lane.handler.kind, {
        lastServed: last,
        except: busy,
        nowMs: clock(),
      })
      if (groupId !== undefined) misses = (await takeOne(name, { groupId, database }, lane)) ? 0 : misses + 1
      else if (busy.length > 0)
        await Promise.race([
          ...lane.running.values().map(({ run }) => run),
          sleep(pollEveryMs, undefined, { ref: false }),
        ])
      else return
    }
  }

  async function tidy(name: string): Promise<void> {
    const database = await store.content(name)
    for (const { handler } of lanes) {
      const longestWaitMs = Math.max(0, ...handler.retryAfterSeconds) * 1000
      await rescheduleMisdatedJobs(database, { kind: handler.kind, longestWaitMs, nowMs: clock() })
    }
    await pruneJobs(database, clock())
    tidiedMs.set(name, performance.now())
  }

  async function look(): Promise<void> {
    const names = await databaseNamesInUse(store.control)
    logger.noteSuccess(databasePeer)
    for (const name of names) {
      if (isLongAgo(tidiedMs.get(name), tidyEveryMs)) void once('tidy', name, () => tidy(name))
      for (const lane of lanes) void once(`take ${lane.handler.kind}`, name, () => takeAllDue(name, lane))
    }
  }

  const lookOnce = () => once('look', controlName, look)

  async function allEnded(): Promise<void> {
    while (underWay.size + running.size > 0) await Promise.all([...underWay.values(), ...running])
  }

  return {
    start() {
      if (workers === 0) return // others do it
      timer = setInterval(lookOnce, pollEveryMs)
      void lookOnce()
    },
    async runDue() {
      const before = attempts
      tidiedMs.clear()
      for (let seen = -1; seen !== attempts; ) {
        seen = attempts
        await lookOnce()
        await allEnded()
      }
      return attempts - before
    },
    async stop() {
      isStopping = true
      clearInterval(timer)
      const grace = setTimeout(() => stopping.abort(new Stopping('The process is about to stop.')), stopGraceMs)
      await allEnded()
      clearTimeout(grace)
    },
  }
}
