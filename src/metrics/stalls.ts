import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { idPattern } from '../core/ids.ts'
import { asHook } from '../http/server.ts'
import { families } from './families.ts'
import type { Reading } from './text-format.ts'

/** Ticking takes less than a thousandth of a CPU. */
const tickEveryMs = 20
/** A tick that is later is a stall: no request may block the event loop for so long. */
const stallMs = 100
/** At most one log line in this time. */
const logEveryMs = 1000
/** Shorter work that ended before the next tick cannot have caused the stall. */
const minEndedMs = stallMs / 2
const maxEnded = 20
const maxNamed = 5

/** How the log names a piece of work. */
export interface WorkName {
  /** `GET /tenant/collectionObjects`, or `job mail.send`. */
  what: string
  /** Of the management API. */
  verb?: string | undefined
  group?: string | undefined
}

/** A request or job that the event loop works on. */
export interface Work {
  readonly beganMs: number
  /** Called only after a stall, when the caller is known. */
  name(): WorkName
  /** Undefined once it has ended. */
  slot: number | undefined
}

interface Stall {
  ms: number
  /** CPU time of the main thread; much less than `ms` if it waited for a disk or for a CPU. */
  cpuMs: number
  during: WorkName[]
}

/** Detects stalls of the event loop and logs the work that may have caused them. */
export interface StallWatch {
  begin(name: () => WorkName): Work
  end(work: Work): void
  read(): Reading[]
  stop(): void
}

export interface StallWatchDeps {
  logger: Pick<Logger, 'warn'>
  monotonicMs?(): number
  threadCpuMs?(): number
  /** `setInterval`; the returned function clears it. */
  every?(ms: number, tick: () => void): () => void
}

function cpuOfThreadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function everyUnreferenced(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms).unref()
  return () => clearInterval(timer)
}

/**
 * A late tick reveals a stall. Its cause began before the tick was due and had not ended by then: the log names a few
 * such candidates, the latest first. Work that only queued up behind them began later.
 */
export function watchStalls(deps: StallWatchDeps): StallWatch {
  const { logger, monotonicMs = () => performance.now(), threadCpuMs = cpuOfThreadMs, every = everyUnreferenced } = deps
  /**
   * An array of reused slots. A long-lived Map reallocates its table when it is full of deleted entries, and the old table keeps all
   * it contained alive until the next full garbage collection: here that would be most requests, with everything they refer to.
   */
  const active: (Work | undefined)[] = []
  const freeSlots: number[] = []
  let endedSinceTick: Work[] = []
  const counts = { work: 0, wait: 0 }
  const seconds = { work: 0, wait: 0 }
  let tickedMs = monotonicMs()
  let tickedCpuMs = threadCpuMs()
  let unlogged: { count: number; worst: Stall } | undefined
  let loggedMs = Number.NEGATIVE_INFINITY

  function candidates(dueMs: number): WorkName[] {
    const all = [...active, ...endedSinceTick].filter((work) => work !== undefined)
    const begun = all.filter(({ beganMs }) => beganMs <= dueMs)
    const latestFirst = begun.toSorted((one, other) => other.beganMs - one.beganMs)
    return latestFirst.slice(0, maxNamed).map(({ name }) => name())
  }

  function count(stall: Stall): void {
    const cause = stall.cpuMs >= stall.ms / 2 ? 'work' : 'wait'
    counts[cause] += 1
    seconds[cause] += stall.ms / 1000
    const worst = unlogged && unlogged.worst.ms > stall.ms ? unlogged.worst : stall
    unlogged = { count: (unlogged?.count ?? 0) + 1, worst }
  }

  function logWorst(): void {
    if (!unlogged) return
    const { count: stalls, worst } = unlogged
    unlogged = undefined
    const { ms, cpuMs, during } = worst
    logger.warn({ ms: Math.round(ms), cpuMs: Math.round(cpuMs), stalls, during }, 'the event loop stalled')
  }

  function onTick(): void {
    const nowMs = monotonicMs()
    const cpuMs = threadCpuMs()
    const dueMs = tickedMs + tickEveryMs
    if (nowMs - dueMs > stallMs) count({ ms: nowMs - dueMs, cpuMs: cpuMs - tickedCpuMs, during: candidates(dueMs) })
    tickedMs = nowMs
    tickedCpuMs = cpuMs
    if (endedSinceTick.length > 0) endedSinceTick = []
    if (unlogged && nowMs - loggedMs >= logEveryMs) {
      loggedMs = nowMs
      logWorst()
    }
  }

  const stopTicking = every(tickEveryMs, () => {
    try {
      onTick()
    } catch {} // a failure to log must not end the process
  })

  return {
    begin(name) {
      const slot = freeSlots.pop() ?? active.length
      const work: Work = { beganMs: monotonicMs(), name, slot }
      active[slot] = work
      return work
    },
    end(work) {
      if (work.slot === undefined) return
      active[work.slot] = undefined
      freeSlots.push(work.slot)
      work.slot = undefined
      const isLong = monotonicMs() - work.beganMs >= minEndedMs
      if (isLong && endedSinceTick.length < maxEnded) endedSinceTick.push(work)
    },
    read: () => [
      {
        family: families.eventLoopStalls,
        samples: [
          { labels: ['work'], value: counts.work },
          { labels: ['wait'], value: counts.wait },
        ],
      },
      {
        family: families.eventLoopStalled,
        samples: [
          { labels: ['work'], value: seconds.work },
          { labels: ['wait'], value: seconds.wait },
        ],
      },
    ],
    stop() {
      stopTicking()
      logWorst()
    },
  }
}

/** Tracks the requests of an app as work. */
export function nameRequestsInStalls(app: FastifyInstance, stalls: Pick<StallWatch, 'begin' | 'end'>): void {
  const nameOf = ({ method, routeOptions, params, tenant }: FastifyRequest): WorkName => {
    const { url = 'none', config } = routeOptions
    const { groupId } = (params ?? {}) as { groupId?: string }
    const group = tenant?.groupID ?? (idPattern.test(groupId ?? '') ? groupId : undefined)
    return { what: `${method} ${url}`, verb: config.verb, group }
  }
  const begin = asHook((request, reply) => {
    const work = stalls.begin(() => nameOf(request))
    reply.raw.once('close', () => stalls.end(work))
  })
  app.addHook('onRequest', begin)
}
