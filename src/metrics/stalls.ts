import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { idPattern } from '../core/ids.ts'
import { asHook } from '../http/server.ts'
import { families } from './families.ts'
import type { Reading } from './text-format.ts'

/** How often is looked whether the event loop turns. It costs less than a thousandth of a CPU. */
const tickEveryMs = 20
/** Later than this is a stall: it is longer than anything that one request may do in one go. */
const stallMs = 100
/** However many stalls there are, the log gets no more than a line in this time. */
const logEveryMs = 1000
/** Work that ended before the next tick and took less cannot have been the stall. */
const leastEndedMs = stallMs / 2
const maxEnded = 20
const maxNamed = 5

/** What is worked on, as the log names it. */
export interface WorkName {
  /** `GET /tenant/collectionObjects`, or `job mail.send`. */
  what: string
  /** Of the management API. */
  verb?: string | undefined
  group?: string | undefined
}

/** What the event loop works on. */
export interface Work {
  readonly beganMs: number
  /** Asked only when there was a stall: by then it is known who calls. */
  name(): WorkName
  /** Its index among what is in work; undefined from its end on. */
  slot: number | undefined
}

interface Stall {
  ms: number
  /** How long the main thread computed; much less than `ms` where it waited for a disk or for a CPU. */
  cpuMs: number
  during: WorkName[]
}

/** Notices when the event loop stood still, and says during which work. */
export interface StallWatch {
  /** Work has come to the event loop. */
  begin(name: () => WorkName): Work
  end(work: Work): void
  read(): Reading[]
  stop(): void
}

export interface StallWatchDeps {
  logger: Pick<Logger, 'warn'>
  /** A clock that only goes forward. */
  monotonicMs?(): number
  /** CPU time of this thread. */
  threadCpuMs?(): number
  /** Calls back every so many milliseconds, until the function that comes back is called. */
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
 * A tick that comes late shows the stall. Whatever held the loop had begun before the tick was due, and had not ended by then: so the
 * line names a few candidates, the one that began last first, and those that only queued up behind it are not among them.
 */
export function watchStalls(deps: StallWatchDeps): StallWatch {
  const { logger, monotonicMs = () => performance.now(), threadCpuMs = cpuOfThreadMs, every = everyUnreferenced } = deps
  /**
   * An array of reused slots. A long-lived Map copies its table whenever it is full of deleted entries, and a table that was left keeps
   * alive what it held until the next full garbage collection: here that would be most requests, with all they refer to.
   */
  const inWork: (Work | undefined)[] = []
  const freeSlots: number[] = []
  let endedSinceTick: Work[] = []
  const counts = { work: 0, wait: 0 }
  const seconds = { work: 0, wait: 0 }
  let tickedMs = monotonicMs()
  let tickedCpuMs = threadCpuMs()
  let untold: { count: number; worst: Stall } | undefined
  let toldMs = Number.NEGATIVE_INFINITY

  function candidates(dueMs: number): WorkName[] {
    const all = [...inWork, ...endedSinceTick].filter((work) => work !== undefined)
    const begun = all.filter(({ beganMs }) => beganMs <= dueMs)
    const latestFirst = begun.toSorted((one, other) => other.beganMs - one.beganMs)
    return latestFirst.slice(0, maxNamed).map(({ name }) => name())
  }

  function note(stall: Stall): void {
    const cause = stall.cpuMs >= stall.ms / 2 ? 'work' : 'wait'
    counts[cause] += 1
    seconds[cause] += stall.ms / 1000
    const worst = untold && untold.worst.ms > stall.ms ? untold.worst : stall
    untold = { count: (untold?.count ?? 0) + 1, worst }
  }

  function tell(): void {
    if (!untold) return
    const { count, worst } = untold
    untold = undefined
    const { ms, cpuMs, during } = worst
    logger.warn({ ms: Math.round(ms), cpuMs: Math.round(cpuMs), stalls: count, during }, 'the event loop stalled')
  }

  function look(): void {
    const nowMs = monotonicMs()
    const cpuMs = threadCpuMs()
    const dueMs = tickedMs + tickEveryMs
    if (nowMs - dueMs > stallMs) note({ ms: nowMs - dueMs, cpuMs: cpuMs - tickedCpuMs, during: candidates(dueMs) })
    tickedMs = nowMs
    tickedCpuMs = cpuMs
    if (endedSinceTick.length > 0) endedSinceTick = []
    if (untold && nowMs - toldMs >= logEveryMs) {
      toldMs = nowMs
      tell()
    }
  }

  const stopTicking = every(tickEveryMs, () => {
    try {
      look()
    } catch {} // a line that cannot be written must not end the process
  })

  return {
    begin(name) {
      const slot = freeSlots.pop() ?? inWork.length
      const work: Work = { beganMs: monotonicMs(), name, slot }
      inWork[slot] = work
      return work
    },
    end(work) {
      if (work.slot === undefined) return
      inWork[work.slot] = undefined
      freeSlots.push(work.slot)
      work.slot = undefined
      const isLong = monotonicMs() - work.beganMs >= leastEndedMs
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
      tell()
    },
  }
}

/** Names the requests of an app in the lines about stalls. */
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
