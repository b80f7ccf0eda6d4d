import { type ResourceLimits, Worker } from 'node:worker_threads'
import { createLruMap } from '../cache/lru-map.ts'
import { createFairQueue } from '../concurrency/fair-queue.ts'
import type { Config } from '../config/config.ts'
import { AppError } from '../core/errors.ts'
import type { Tenant } from '../store/store.ts'
import type { EncodedContent } from './answer.ts'
import type { ContentRequest, MakeContent } from './make-content.ts'
import type { Order, Orders, Outcome, Said, ThreadData } from './worker.ts'

/** Builds content in several worker threads. */
export interface ReadWorkerPool {
  make: MakeContent
  /** Threads besides the main one, and the answers they have built. */
  readonly counts: { threads: number; made: number }
  close(): Promise<void>
}

export interface ReadWorkerPoolOptions {
  config: Config
  /** Maximum threads besides the main one. */
  maxThreads: number
  baseUrl(): string
  /** Changes whenever the main thread sees a group at another revision. */
  epochOf(groupId: string): number | undefined
  /** Whether the main thread has work that only it can do. Then it leaves reads to workers with free capacity. */
  isNeeded(): boolean
  /** Builds content in the main thread, and throws the caller's error when it cannot be built. */
  makeHere: MakeContent
  onFailure(error: Error): void
  /** For tests: the main thread builds nothing. */
  workersOnly?: boolean | undefined
  times?: typeof usualTimes
}

/** Queue length at which another worker is started, which takes about 60 MB. */
const startWorkerAt = 4
/** Requests that a worker has at once, so that it never waits for the next one. */
const maxAhead = 12
/** And at most this many bytes, estimated from earlier answers of the group: the requests behind them wait. */
const maxAheadBytes = 2_000_000
const maxWatchedGroups = 1000
const usualTimes = {
  checkEveryMs: 1000,
  /** A new worker is slow at first, so an idle one is retained for a while. */
  maxIdleMs: 300_000,
  maxStartMs: 10_000,
  /** Requests take milliseconds. */
  maxSilentMs: 10_000,
  /** Backoff before the next start after a failure. */
  backoffMs: 60_000,
}

/**
 * By default V8 lets a heap with 40 MB in use grow to 200 MB before a collection. The limit must never be reached: workers
 * refuse large answers (`store/engine/main-thread-only.ts`), but have to read one to know its size.
 */
const usualHeap: ResourceLimits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 512 }

/** A text reaches a thread faster than an object does. */
const requestText = ({ route, query }: ContentRequest): string => JSON.stringify({ route, query })

const tenantText = ({ database, bucketName, groupID, tier }: Tenant): string =>
  JSON.stringify({ database, bucketName, groupID, tier } satisfies Tenant)

interface Waiting {
  id: number
  request: ContentRequest
  nowMs: number
  /** Estimated length of the answer. */
  bytes: number
  resolve(content: EncodedContent | Promise<EncodedContent>): void
  reject(error: Error): void
}

/** For the current request of a failed worker. Not retried, because it could stop the next worker, too. */
const timedOut = (): AppError =>
  new AppError('Unavailable', 'This could not be answered in time. Try again in a moment.', { retryAfterSeconds: 1 })

interface Thread {
  worker: Worker
  /** A worker takes some tenths of a second until it is ready. */
  isUp: boolean
  assigned: Waiting[]
  /** When it last received or answered something. */
  lastActiveMs: number
  checking: NodeJS.Timeout
}

/**
 * With SQLite, queries use the service's own CPU, so several cores need several threads. Requests wait in one queue that is
 * fair to groups: in each turn of its event loop the main thread builds the first one, and workers take as many as they can.
 */
export function createReadWorkerPool(options: ReadWorkerPoolOptions): ReadWorkerPool {
  const { config, maxThreads, baseUrl, epochOf, isNeeded, makeHere, onFailure, workersOnly = false } = options
  const { checkEveryMs, maxIdleMs, maxStartMs, maxSilentMs, backoffMs } = options.times ?? usualTimes
  const counts = { threads: 0, made: 0 }
  const queue = createFairQueue<Waiting>()
  /** Recent answer sizes by group. */
  const answerBytes = createLruMap<string, number>(maxWatchedGroups)
  const threads = new Set<Thread>()
  let lastId = 0
  let isDispatching = false
  let isClosed = false
  let backoffUntilMs = 0

  const answerHere = ({ request, nowMs, resolve }: Waiting): void => resolve(makeHere(request, nowMs))

  /** Its other requests return to the queue. */
  async function end(thread: Thread): Promise<void> {
    threads.delete(thread)
    counts.threads = threads.size
    clearInterval(thread.checking)
    for (const waiting of thread.assigned.splice(0).reverse()) queue.unshift(waiting.request.tenant.groupID, waiting)
    if (queue.size > 0) dispatchSoon()
    await thread.worker.terminate()
  }

  function backOff(error: Error): void {
    backoffUntilMs = performance.now() + backoffMs
    onFailure(error)
  }

  function endFaulty(thread: Thread, error: Error): void {
    if (!threads.has(thread)) return
    backOff(error)
    void end(thread)
  }

  /** The request in progress fails with it. */
  function fail(thread: Thread, error: Error): void {
    if (!threads.has(thread)) return
    thread.assigned.shift()?.reject(timedOut())
    endFaulty(thread, error)
  }

  function check(thread: Thread): void {
    const stillMs = performance.now() - thread.lastActiveMs
    const isBusy = thread.assigned.length > 0 || !thread.isUp
    const mostMs = thread.isUp ? maxSilentMs : maxStartMs
    if (isBusy && stillMs > mostMs) fail(thread, new Error(`No message for ${mostMs} ms.`))
    if (!isBusy && stillMs > maxIdleMs) void end(thread)
  }

  /** Decays by half each time, so that one short answer among long ones changes little. */
  function noteBytes(groupId: string, bytes: number): void {
    answerBytes.set(groupId, Math.max(bytes, (answerBytes.get(groupId) ?? 0) / 2))
  }

  function settle(thread: Thread, outcome: Outcome): void {
    const [id, body] = outcome
    const at = thread.assigned.findIndex((each) => each.id === id)
    const [waiting] = at === -1 ? [] : thread.assigned.splice(at, 1)
    if (!waiting) return
    if (body) {
      const [, , etag, revision, untilMs] = outcome
      counts.made += 1
      noteBytes(waiting.request.tenant.groupID, body.byteLength)
      waiting.resolve({ body: Buffer.from(body), etag, revision, untilMs })
    } else {
      const [, , refusal] = outcome
      if (Array.isArray(refusal)) waiting.reject(new AppError(...refusal))
      else answerHere(waiting)
      if (typeof refusal === 'string') endFaulty(thread, new Error(refusal))
    }
  }

  function start(): void {
    const workerData: ThreadData = { config }
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      name: 'reading',
      workerData,
      resourceLimits: usualHeap,
    })
    worker.unref()
    const checking = setInterval(() => check(thread), checkEveryMs).unref()
    const thread: Thread = { worker, isUp: false, assigned: [], lastActiveMs: performance.now(), checking }
    worker.on('message', (said: Said) => {
      thread.lastActiveMs = performance.now()
      if (said === 'up') thread.isUp = true
      else settle(thread, said)
      assign()
    })
    worker.on('error', (error) => fail(thread, error instanceof Error ? error : new Error(String(error))))
    threads.add(thread)
    counts.threads = threads.size
  }

  function startIfNeeded(): void {
    const isStarting = [...threads].some(({ isUp }) => !isUp)
    const isLong = queue.size >= startWorkerAt || (workersOnly && threads.size === 0)
    if (isClosed || !isLong || isStarting || threads.size >= maxThreads || performance.now() < backoffUntilMs) return
    try {
      start()
    } catch (error) {
      backOff(error as Error) // the system has no further thread
    }
  }

  const orderOf = ({ id, request, nowMs }: Waiting): Order => [
    id,
    requestText(request),
    tenantText(request.tenant),
    epochOf(request.tenant.groupID),
    nowMs,
  ]

  const bytesAhead = ({ assigned }: Thread): number => assigned.reduce((sum, { bytes }) => sum + bytes, 0)

  const hasRoom = (thread: Thread): boolean =>
    thread.isUp &&
    thread.assigned.length < maxAhead &&
    (thread.assigned.length === 0 || bytesAhead(thread) < maxAheadBytes)

  /** Sends each request to the worker with the fewest. */
  function assign(): void {
    const orders = new Map<Thread, Order[]>()
    while (queue.size > 0) {
      const [thread] = [...threads].filter(hasRoom).sort((one, other) => one.assigned.length - other.assigned.length)
      const waiting = thread && queue.shift()
      if (!waiting) break
      if (thread.assigned.length === 0) thread.lastActiveMs = performance.now()
      thread.assigned.push(waiting)
      orders.set(thread, [...(orders.get(thread) ?? []), orderOf(waiting)])
    }
    for (const [{ worker }, its] of orders) worker.postMessage({ orders: its, baseUrl: baseUrl() } satisfies Orders)
  }

  function dispatch(): void {
    isDispatching = false
    if (workersOnly) startIfNeeded()
    const isOthers = workersOnly && threads.size > 0
    const isLeft = isOthers || (isNeeded() && [...threads].some(hasRoom))
    const first = isLeft ? undefined : queue.shift()
    assign()
    startIfNeeded()
    if (first) answerHere(first)
    if (queue.size > 0 && !isOthers) dispatchSoon()
  }

  function dispatchSoon(): void {
    if (isDispatching) return
    isDispatching = true
    setImmediate(dispatch)
  }

  return {
    counts,
    make(request, nowMs, timing) {
      if (maxThreads === 0 || isClosed || timing) return makeHere(request, nowMs, timing) // a timed request does not wait
      const { promise, resolve, reject } = Promise.withResolvers<EncodedContent>()
      const { groupID } = request.tenant
      lastId += 1
      queue.push(groupID, { id: lastId, request, nowMs, bytes: answerBytes.get(groupID) ?? 0, resolve, reject })
      dispatchSoon()
      return promise
    },
    async close() {
      isClosed = true
      const ended = [...threads].map(end)
      for (let waiting = queue.shift(); waiting; waiting = queue.shift()) answerHere(waiting)
      await Promise.all(ended)
    },
  }
}
