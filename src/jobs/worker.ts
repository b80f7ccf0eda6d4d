import { setTimeout as sleep } from 'node:timers/promises'
import { createSemaphore, type Semaphore } from '../concurrency/semaphore.ts'
import { minuteMs } from '../core/clock.ts'
import { databasePeer } from '../core/outage-log.ts'
import { isDatabaseUnavailable } from '../store/engine/unavailable.ts'
import { claimJob, nextDueGroup, pruneJobs, rescheduleMisdatedJobs } from '../store/jobs/claim-jobs.ts'
import type { Job } from '../store/jobs/jobs.ts'
import { controlName, databaseNamesInUse, type GroupStore } from '../store/store.ts'
import type { JobHandler } from './handler.ts'
import { type RunDeps, runJob, Stopping } from './run-job.ts'

const pollEveryMs = 1000
const maintenanceEveryMs = 10 * minuteMs
/** How long running jobs may continue when the process stops. */
const stopGraceMs = 10_000
/** After this many claims in a row won by other processes, this one waits for the next poll. */
const maxMisses = 10

export interface WorkerOptions extends RunDeps {
  handlers: readonly JobHandler[]
  /** Concurrent jobs of each kind, times their `maxPerWorker`. With 0, `start` does nothing. */
  workers: number
}

/** Runs the due jobs of all databases. */
export interface Worker {
  /** Polls every second until `stop`. */
  start(): void
  /** Stops claiming and waits for running jobs; after the grace period, aborts and releases them. */
  stop(): Promise<void>
  /** Runs jobs until none is due, and returns the number of attempts. */
  runDue(): Promise<number>
}

/** The jobs of one kind, with separate permits, so that mail never waits for pictures. */
interface Lane {
  handler: JobHandler
  permits: Semaphore
  /** The group served last, by database. */
  lastServed: Map<string, string>
  /** By job id. */
  running: Map<string, { run: Promise<void>; groupId: string }>
}

/** Groups at their concurrency limit. */
function busyGroups({ handler: { maxPerGroup = Number.POSITIVE_INFINITY }, running }: Lane): string[] {
  const counts = new Map<string, number>()
  for (const { groupId } of running.values()) counts.set(groupId, (counts.get(groupId) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= maxPerGroup).map(([groupId]) => groupId)
}

export function createWorker({ handlers, workers, ...deps }: WorkerOptions): Worker {
  const { store, clock, logger } = deps
  const lanes = handlers.map((handler): Lane => {
    const maxPerKey = Math.max(workers, 1) * (handler.maxPerWorker ?? 1) // with 0, `runDue` works like one worker
    return { handler, permits: createSemaphore({ maxPerKey }), lastServed: new Map(), running: new Map() }
  })
  const stopping = new AbortController()
  const running = new Set<Promise<void>>()
  /** Running tasks by database and name, so that none runs twice at a time. */
  const tasks = new Map<string, Promise<void>>()
  /** Tasks to repeat: requested while they ran, they may have missed new jobs. */
  const repeated = new Set<string>()
  const maintainedMs = new Map<string, number>()
  let attempts = 0
  let isStopping = false
  let timer: NodeJS.Timeout | undefined

  function noteFailure(name: string, error: unknown): void {
    logger.noteOutage(isDatabaseUnavailable(error) ? databasePeer : 'running jobs', error, { database: name })
  }

  function track(run: Promise<void>, lane: Lane, { id, groupId }: Job): void {
    running.add(run)
    lane.running.set(id, { run, groupId })
    void run.then(() => {
      running.delete(run)
      lane.running.delete(id)
    })
  }

  /** Never rejects, so that a failing database does not affect the others. */
  function runTask(task: string, name: string, work: () => Promise<void>): Promise<void> {
    const key = `${name}: ${task}`
    const current = tasks.get(key)
    if (current) {
      repeated.add(key)
      return current
    }
    const started = work()
      .catch((error) => noteFailure(name, error))
      .then(() => {
        tasks.delete(key)
        if (repeated.delete(key)) return runTask(task, name, work)
      })
    tasks.set(key, started)
    return started
  }

  /** False if another process was faster. */
  async function claimOne(name: string, group: GroupStore, lane: Lane): Promise<boolean> {
    const { handler, permits, lastServed } = lane
    const { groupId, database } = group
    const release = await permits.acquire(handler.kind)
    let run: Promise<void> | undefined
    try {
      const wanted = { kind: handler.kind, groupId, except: [...lane.running.keys()], nowMs: clock() }
      const claimed = isStopping ? undefined : await claimJob(database, wanted)
      lastServed.set(name, groupId)
      if (!claimed) return false
      attempts += 1
      run = runJob(deps, { handler, claimed, group, stopping: stopping.signal })
        .catch((error) => noteFailure(name, error)) // the job is retried when its lease expires
        .finally(release)
      track(run, lane, claimed.job)
      return true
    } finally {
      if (!run) release()
    }
  }

  async function claimAllDue(name: string, lane: Lane): Promise<void> {
    const database = await store.content(name)
    for (let misses = 0; !isStopping && misses < maxMisses; ) {
      const lastServed = lane.lastServed.get(name) ?? ''
      const except = busyGroups(lane)
      const groupId = await nextDueGroup(database, lane.handler.kind, { lastServed, except, nowMs: clock() })
      if (groupId !== undefined) misses = (await claimOne(name, { groupId, database }, lane)) ? 0 : misses + 1
      else if (except.length === 0) return
      else
        await Promise.race([
          ...lane.running.values().map(({ run }) => run),
          sleep(pollEveryMs, undefined, { ref: false }),
        ])
    }
  }

  async function maintain(name: string): Promise<void> {
    const database = await store.content(name)
    for (const { handler } of lanes) {
      const longestWaitMs = Math.max(0, ...handler.retryDelaysSeconds) * 1000
      await rescheduleMisdatedJobs(database, { kind: handler.kind, longestWaitMs, nowMs: clock() })
    }
    await pruneJobs(database, clock())
    maintainedMs.set(name, performance.now())
  }

  async function pollDatabases(): Promise<void> {
    const names = await databaseNamesInUse(store.control)
    logger.noteSuccess(databasePeer)
    for (const name of names) {
      const sinceMs = performance.now() - (maintainedMs.get(name) ?? Number.NEGATIVE_INFINITY)
      if (sinceMs > maintenanceEveryMs) void runTask('maintain', name, () => maintain(name))
      for (const lane of lanes) void runTask(`claim ${lane.handler.kind}`, name, () => claimAllDue(name, lane))
    }
  }

  const poll = () => runTask('poll', controlName, pollDatabases)

  async function allEnded(): Promise<void> {
    while (tasks.size + running.size > 0) await Promise.all([...tasks.values(), ...running])
  }

  return {
    start() {
      if (workers === 0) return // other processes run the jobs
      timer = setInterval(poll, pollEveryMs)
      void poll()
    },
    async runDue() {
      const before = attempts
      maintainedMs.clear()
      for (let seen = -1; seen !== attempts; ) {
        seen = attempts
        await poll()
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
