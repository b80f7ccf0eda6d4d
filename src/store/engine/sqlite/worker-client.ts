import type { SQLInputValue } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { sqliteBusy } from './file.ts'
import type { Order, Outcome } from './worker.ts'

/** Runs statements against one database in a thread. */
export type ReadRows = (text: string, parameters: readonly SQLInputValue[]) => Promise<unknown[]>

/** Runs what would block the event loop for too long in a few threads, shared by all databases of a process. */
export interface SqliteWorker {
  read(path: string, ...statement: Parameters<ReadRows>): Promise<unknown[]>
  /** Runs all reads of `work` in one read transaction, on a thread reserved for it. */
  snapshot<Result>(path: string, work: (read: ReadRows) => Promise<Result>): Promise<Result>
  /** Copies committed pages from the log into the database file, and syncs both. */
  checkpoint(path: string): Promise<void>
  /** Closes the threads' connections to a database. */
  forget(path: string): Promise<void>
  close(): Promise<void>
}

/** Two, so that one long statement does not block the others. Each group has one long read at a time. */
const maxThreads = 2
/** Enforced by `timeLimitConditions` of `statement.ts`. */
const statementTimeoutMs = 5000
/** A statement without these conditions is abandoned this much later. */
const graceMs = 10_000
/** An idle thread is ended, because it takes about 13 MB. */
const idleTimeoutMs = 30_000
/** `MAX_ANSWER_BYTES` bounds the rows, which are copied for the main thread. */
const heapMbFor = (maxAnswerBytes: number): number => 64 + Math.ceil((8 * maxAnswerBytes) / 2 ** 20)
/** Abandoned threads continue until their statement ends. With this many of them, no new thread is started. */
const maxStuck = 2

/** An order and its caller. Never retried. */
interface Job {
  order: Order
  /** The thread that must execute it, if not any can. */
  thread: Thread | undefined
  resolve(done: { rows: unknown[]; thread: Thread }): void
  reject(error: Error): void
}

/** A thread lives until it is idle for a while, fails or takes too long. */
interface Thread {
  worker: Worker
  job: Job | undefined
  /** The time limit begins when the thread is online, since starting one may take longer than a statement may. */
  isUp: boolean
  /** Whether it is reserved for a snapshot. */
  isHeld: boolean
  timer: NodeJS.Timeout | undefined
}

const failureOf = (message: string, errcode: unknown): Error => Object.assign(new Error(message), { errcode })

type OrderOf<Each extends Order = Order> = Each extends Order ? Omit<Each, 'id' | 'timeoutMs'> : never

interface SqliteWorkerOptions {
  timeoutMs?: number
  graceMs?: number
  idleMs?: number
  maxAnswerBytes?: number
}

export function createSqliteWorker(options: SqliteWorkerOptions = {}): SqliteWorker {
  const { timeoutMs = statementTimeoutMs, idleMs = idleTimeoutMs, maxAnswerBytes = 0 } = options
  const giveUpMs = timeoutMs + (options.graceMs ?? graceMs)
  const resourceLimits = { maxOldGenerationSizeMb: heapMbFor(maxAnswerBytes), maxYoungGenerationSizeMb: 8 }
  const threads = new Set<Thread>()
  const queue: Job[] = []
  /** Abandoned threads, which end with their statements: `node:sqlite` cannot interrupt one. */
  const stuck = new Set<Promise<void>>()
  let lastId = 0
  let isClosed = false

  /** Ends a thread. Only its own orders fail; orders for any thread continue in another. */
  async function end(thread: Thread, error: Error): Promise<void> {
    threads.delete(thread)
    clearTimeout(thread.timer)
    thread.job?.reject(error)
    thread.job = undefined
    for (const job of queue.filter((waiting) => waiting.thread === thread)) {
      queue.splice(queue.indexOf(job), 1)
      job.reject(error)
    }
    dispatch()
    await thread.worker.terminate()
  }

  function giveUp(thread: Thread): void {
    const ended = end(thread, failureOf(`A statement took more than ${giveUpMs} ms.`, sqliteBusy)).finally(() => {
      stuck.delete(ended)
      dispatch()
    })
    stuck.add(ended)
  }

  function start(): Thread {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { name: 'sqlite', resourceLimits })
    worker.unref()
    const thread: Thread = { worker, job: undefined, isUp: false, isHeld: false, timer: undefined }
    worker.once('online', () => {
      thread.isUp = true
      if (thread.job) watch(thread)
    })
    worker.on('message', (outcome: Outcome) => settle(thread, outcome))
    worker.on('error', (error) => {
      // Usually out of memory. The order is not retried; the next one gets a new thread.
      const message = `The database thread has ended: ${error instanceof Error ? error.message : String(error)}`
      void end(thread, failureOf(message, sqliteBusy))
    })
    threads.add(thread)
    return thread
  }

  function settle(thread: Thread, outcome: Outcome): void {
    const { job } = thread
    if (!job || job.order.id !== outcome.id) return
    thread.job = undefined
    clearTimeout(thread.timer)
    thread.worker.unref()
    if (!thread.isHeld)
      thread.timer = setTimeout(() => void end(thread, new Error('The thread was idle.')), idleMs).unref()
    if ('rows' in outcome) job.resolve({ rows: outcome.rows, thread })
    else job.reject(failureOf(outcome.failure.message, outcome.failure.errcode))
    dispatch()
  }

  const isFree = ({ job, isHeld }: Thread): boolean => !job && !isHeld

  function threadFor(job: Job): Thread | undefined {
    if (job.thread) return job.thread.job ? undefined : job.thread
    const free = [...threads].find(isFree)
    if (free || threads.size >= maxThreads || stuck.size >= maxStuck) return free
    return start()
  }

  function watch(thread: Thread): void {
    thread.timer = setTimeout(() => giveUp(thread), giveUpMs)
  }

  function send(thread: Thread, job: Job): void {
    thread.job = job
    clearTimeout(thread.timer)
    thread.worker.ref()
    if (thread.isUp) watch(thread)
    if (job.order.task === 'begin') thread.isHeld = true
    thread.worker.postMessage(job.order)
  }

  function dispatch(): void {
    for (const job of [...queue]) {
      const thread = threadFor(job)
      if (!thread) continue
      queue.splice(queue.indexOf(job), 1)
      send(thread, job)
    }
  }

  async function ask(
    order: OrderOf,
    { thread, isFirst = false }: { thread?: Thread; isFirst?: boolean } = {},
  ): Promise<{ rows: unknown[]; thread: Thread }> {
    if (isClosed || (thread && !threads.has(thread))) throw failureOf('The thread has ended.', sqliteBusy)
    if (threads.size === 0 && stuck.size >= maxStuck)
      throw failureOf('Earlier statements still take too long.', sqliteBusy)
    lastId += 1
    const { promise, resolve, reject } = Promise.withResolvers<{ rows: unknown[]; thread: Thread }>()
    const job: Job = { order: { ...order, id: lastId, timeoutMs }, thread, resolve, reject }
    if (isFirst) queue.unshift(job)
    else queue.push(job)
    dispatch()
    return promise
  }

  return {
    read: async (path, text, parameters) => (await ask({ task: 'read', path, text, parameters })).rows,
    async snapshot(path, work) {
      const { thread } = await ask({ task: 'begin', path })
      try {
        return await work(
          async (text, parameters) =>
            (await ask({ task: 'read', path, text, parameters, isHeld: true }, { thread })).rows,
        )
      } finally {
        if (threads.has(thread)) {
          thread.isHeld = false // the rollback comes first in the queue
          await ask({ task: 'rollback', path }, { thread, isFirst: true }).catch(() => {})
        }
      }
    },
    async checkpoint(path) {
      await ask({ task: 'checkpoint', path }, { isFirst: true }) // writers must not wait for readers
    },
    async forget(path) {
      await Promise.all([...threads].map((thread) => ask({ task: 'forget', path }, { thread })))
    },
    async close() {
      isClosed = true
      const error = new Error('The database is being closed.')
      for (const { reject } of queue.splice(0)) reject(error)
      await Promise.all([...threads].map((thread) => end(thread, error)))
      await Promise.all(stuck)
    },
  }
}
