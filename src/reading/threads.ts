import { type ResourceLimits, Worker } from 'node:worker_threads'
import { createBoundedMap } from '../bounded-map.ts'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { createFairQueue } from '../fair-queue.ts'
import type { EncodedContent } from '../http/answer.ts'
import type { Asked, MakeContent } from '../http/content-maker.ts'
import type { KnownQuestion } from '../http/known-questions.ts'
import type { Tenant } from '../store/groups.ts'
import type { Order, Orders, Outcome, Said, ThreadData } from './thread.ts'

/** Content that is made in several threads at once. */
export interface ReadingThreads {
  make: MakeContent
  /** How many there are besides the main one, and what they have made. */
  readonly counts: { threads: number; made: number }
  close(): Promise<void>
}

export interface ReadingThreadsOptions {
  config: Config
  /** How many there may be besides the main thread. */
  most: number
  baseUrl(): string
  /** Another number whenever the main thread has seen a group at another revision. */
  epochOf(groupId: string): number | undefined
  /** Whether the main thread has something to do that no other one can. Then it leaves to those that are up what they have room for. */
  isNeeded(): boolean
  /** Makes it in the main thread, and says what is wrong where it cannot be made. */
  makeHere: MakeContent
  onFailure(error: Error): void
  /** For tests: the main thread makes nothing. */
  leavesAll?: boolean | undefined
  times?: typeof usualTimes
}

/** So many are left in line before a thread is started, which takes some 60 MB. */
const longLine = 4
/** A thread is given so many ahead that it never waits for the next one. */
const mostAhead = 12
/** And not more than this, as far as can be told from what its group was answered before: others wait behind them. */
const maxAheadBytes = 2_000_000
const maxWatchedGroups = 1000
const usualTimes = {
  lookEveryMs: 1000,
  /** A new one is slow at first, so one is kept from one busy moment to the next. */
  mostIdleMs: 300_000,
  mostStartMs: 10_000,
  /** What it is asked for takes milliseconds. */
  mostSilentMs: 10_000,
  /** For how long none is started after one has failed. */
  restMs: 60_000,
}

/**
 * Left to itself V8 lets a heap of which 40 MB are in use grow to 200 MB before it clears up. The end must never be reached:
 * so a thread makes nothing large (see `open-readings.ts`), but it has to read that to see that it is.
 */
const usualHeap: ResourceLimits = { maxYoungGenerationSizeMb: 48, maxOldGenerationSizeMb: 512 }

/** A text reaches a thread sooner than an object does. It is written once for what is asked again and again. */
const texts = new WeakMap<object, string>()

function textFor(known: object, toWrite: () => object): string {
  const written = texts.get(known)
  if (written !== undefined) return written
  const text = JSON.stringify(toWrite())
  texts.set(known, text)
  return text
}

/** A query belongs to one question. */
const questionText = ({ route, query }: KnownQuestion): string =>
  textFor(query, () => ({ route, query }) satisfies KnownQuestion)

const tenantText = (tenant: Tenant): string =>
  textFor(tenant, () => {
    const { database, bucketName, groupID, tier } = tenant
    return { database, bucketName, groupID, tier } satisfies Tenant
  })

interface Waiting {
  id: number
  asked: Asked
  nowMs: number
  /** About how long the answer is. */
  bytes: number
  resolve(content: EncodedContent | Promise<EncodedContent>): void
  reject(error: Error): void
}

/** What a thread has begun and not ended is not begun anew: whatever has stopped that thread would stop the next one. */
const gaveUp = (): AppError =>
  new AppError('Unavailable', 'This could not be answered in time. Try again in a moment.', { retryAfterSeconds: 1 })

interface Thread {
  worker: Worker
  /** It takes some tenths of a second until a thread can be given anything. */
  isUp: boolean
  given: Waiting[]
  /** When it was given something, or gave something back. */
  movedMs: number
  looking: NodeJS.Timeout
}

/**
 * With SQLite it is our own processor that pages are made with, so it takes several threads to use more than one. Who asks
 * waits in one line, in which groups take turns: in each turn of its event loop the main thread makes the first, and the others take what they can.
 */
export function createReadingThreads(options: ReadingThreadsOptions): ReadingThreads {
  const { config, most, baseUrl, epochOf, isNeeded, makeHere, onFailure, leavesAll = false } = options
  const { lookEveryMs, mostIdleMs, mostStartMs, mostSilentMs, restMs } = options.times ?? usualTimes
  const counts = { threads: 0, made: 0 }
  const line = createFairQueue<Waiting>()
  /** How long the answers of a group were of late. */
  const answerBytes = createBoundedMap<string, number>(maxWatchedGroups)
  const threads = new Set<Thread>()
  let lastId = 0
  let isDealing = false
  let isClosed = false
  let restsUntilMs = 0

  const makeNow = ({ asked, nowMs, resolve }: Waiting): void => resolve(makeHere(asked, nowMs))

  /** What it had not begun goes back into the line. */
  async function end(thread: Thread): Promise<void> {
    threads.delete(thread)
    counts.threads = threads.size
    clearInterval(thread.looking)
    for (const waiting of thread.given.splice(0).reverse()) line.unshift(waiting.asked.tenant.groupID, waiting)
    if (line.size > 0) dealSoon()
    await thread.worker.terminate()
  }

  function rest(error: Error): void {
    restsUntilMs = performance.now() + restMs
    onFailure(error)
  }

  function endFaulty(thread: Thread, error: Error): void {
    if (!threads.has(thread)) return
    rest(error)
    void end(thread)
  }

  /** What it was doing is given up with it. */
  function fail(thread: Thread, error: Error): void {
    if (!threads.has(thread)) return
    thread.given.shift()?.reject(gaveUp())
    endFaulty(thread, error)
  }

  function look(thread: Thread): void {
    const stillMs = performance.now() - thread.movedMs
    const isBusy = thread.given.length > 0 || !thread.isUp
    const mostMs = thread.isUp ? mostSilentMs : mostStartMs
    if (isBusy && stillMs > mostMs) fail(thread, new Error(`It has said nothing for ${mostMs} ms.`))
    if (!isBusy && stillMs > mostIdleMs) void end(thread)
  }

  /** Half of what it was is forgotten each time: one short answer among long ones does not make a group a light one. */
  function noteBytes(groupId: string, bytes: number): void {
    answerBytes.set(groupId, Math.max(bytes, (answerBytes.get(groupId) ?? 0) / 2))
  }

  function settle(thread: Thread, outcome: Outcome): void {
    const [id, body] = outcome
    const at = thread.given.findIndex((each) => each.id === id)
    const [waiting] = at === -1 ? [] : thread.given.splice(at, 1)
    if (!waiting) return
    if (body) {
      const [, , etag, revision, untilMs] = outcome
      counts.made += 1
      noteBytes(waiting.asked.tenant.groupID, body.byteLength)
      waiting.resolve({ body: Buffer.from(body), etag, revision, untilMs })
    } else {
      const [, , refusal] = outcome
      if (Array.isArray(refusal)) waiting.reject(new AppError(...refusal))
      else makeNow(waiting)
      if (typeof refusal === 'string') endFaulty(thread, new Error(refusal))
    }
  }

  function start(): void {
    const workerData: ThreadData = { config }
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      name: 'reading',
      workerData,
      resourceLimits: usualHeap,
    })
    worker.unref()
    const looking = setInterval(() => look(thread), lookEveryMs).unref()
    const thread: Thread = { worker, isUp: false, given: [], movedMs: performance.now(), looking }
    worker.on('message', (said: Said) => {
      thread.movedMs = performance.now()
      if (said === 'up') thread.isUp = true
      else settle(thread, said)
      give()
    })
    worker.on('error', (error) => fail(thread, error instanceof Error ? error : new Error(String(error))))
    threads.add(thread)
    counts.threads = threads.size
  }

  function startIfNeeded(): void {
    const isStarting = [...threads].some(({ isUp }) => !isUp)
    const isLong = line.size >= longLine || (leavesAll && threads.size === 0)
    if (isClosed || !isLong || isStarting || threads.size >= most || performance.now() < restsUntilMs) return
    try {
      start()
    } catch (error) {
      rest(error as Error) // the system gives us no further thread
    }
  }

  const orderOf = ({ id, asked, nowMs }: Waiting): Order => [
    id,
    questionText(asked),
    tenantText(asked.tenant),
    epochOf(asked.tenant.groupID),
    nowMs,
  ]

  const bytesAhead = ({ given }: Thread): number => given.reduce((sum, { bytes }) => sum + bytes, 0)

  const hasRoom = (thread: Thread): boolean =>
    thread.isUp && thread.given.length < mostAhead && (thread.given.length === 0 || bytesAhead(thread) < maxAheadBytes)

  /** Each gets one after the other, who has the fewest first. */
  function give(): void {
    const orders = new Map<Thread, Order[]>()
    while (line.size > 0) {
      const [thread] = [...threads].filter(hasRoom).sort((one, other) => one.given.length - other.given.length)
      const waiting = thread && line.shift()
      if (!waiting) break
      if (thread.given.length === 0) thread.movedMs = performance.now()
      thread.given.push(waiting)
      orders.set(thread, [...(orders.get(thread) ?? []), orderOf(waiting)])
    }
    for (const [{ worker }, its] of orders) worker.postMessage({ orders: its, baseUrl: baseUrl() } satisfies Orders)
  }

  function deal(): void {
    isDealing = false
    if (leavesAll) startIfNeeded()
    const isOthers = leavesAll && threads.size > 0
    const isLeft = isOthers || (isNeeded() && [...threads].some(hasRoom))
    const first = isLeft ? undefined : line.shift()
    give()
    startIfNeeded()
    if (first) makeNow(first)
    if (line.size > 0 && !isOthers) dealSoon()
  }

  function dealSoon(): void {
    if (isDealing) return
    isDealing = true
    setImmediate(deal)
  }

  return {
    counts,
    make(asked, nowMs, timing) {
      if (most === 0 || isClosed || timing) return makeHere(asked, nowMs, timing) // who wants to know how long it takes does not wait
      const { promise, resolve, reject } = Promise.withResolvers<EncodedContent>()
      const { groupID } = asked.tenant
      lastId += 1
      line.push(groupID, { id: lastId, asked, nowMs, bytes: answerBytes.get(groupID) ?? 0, resolve, reject })
      dealSoon()
      return promise
    },
    async close() {
      isClosed = true
      const ended = [...threads].map(end)
      for (let waiting = line.shift(); waiting; waiting = line.shift()) makeNow(waiting)
      await Promise.all(ended)
    },
  }
}
