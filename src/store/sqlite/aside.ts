import type { SQLInputValue } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Order, Outcome } from './aside-thread.ts'
import { sqliteBusy } from './file.ts'

/** What would stop the event loop for too long is done aside, in one thread for all databases of a process. */
export interface Aside {
  read(path: string, text: string, parameters: readonly SQLInputValue[]): Promise<unknown[]>
  /** Carries over what is committed from the log into the database's own file, and syncs both. */
  checkpoint(path: string): Promise<void>
  /** Closes the thread's connection to a database. */
  forget(path: string): Promise<void>
  close(): Promise<void>
}

/** Like PostgreSQL's: nobody waits longer for a statement. */
const statementTimeoutMs = 15_000
/** A thread takes about 13 MB, so it is there only while there is something to do. */
const idleTimeoutMs = 30_000
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

/** Threads that are given up go on until their statement ends; with so many of them nobody is let in any more. */
const mostStuck = 2

interface Waiting {
  order: Order
  resolve(rows: unknown[]): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

/** One thread, from its first order until it is idle for a while, fails, or takes too long. */
interface Thread {
  worker: Worker
  waiting: Map<number, Waiting>
  idleTimer: NodeJS.Timeout | undefined
}

const failureOf = (message: string, errcode: unknown): Error => Object.assign(new Error(message), { errcode })

const tooManyStuck = (): Error => failureOf('Earlier statements still take too long.', sqliteBusy)

type OrderOf<Each extends Order = Order> = Each extends Order ? Omit<Each, 'id'> : never

export function createAside({ timeoutMs = statementTimeoutMs, idleMs = idleTimeoutMs } = {}): Aside {
  let current: Thread | undefined
  /** A thread that is given up ends when its statement does: nothing in `node:sqlite` can interrupt it. */
  const stuck = new Set<Promise<void>>()
  let lastId = 0

  /** Ends a thread. Who still waits for it gets the error. */
  async function end(thread: Thread, error: Error): Promise<void> {
    if (current === thread) current = undefined
    clearTimeout(thread.idleTimer)
    for (const { reject, timer } of thread.waiting.values()) {
      clearTimeout(timer)
      reject(error)
    }
    thread.waiting.clear()
    await thread.worker.terminate()
  }

  /** What runs is what has waited for longest, so that is given up; who waits behind it goes on in another thread. */
  function giveUp(thread: Thread): void {
    const [running, ...behind] = thread.waiting.values()
    thread.waiting.clear()
    running?.reject(failureOf(`A statement took more than ${timeoutMs} ms.`, sqliteBusy))
    const ended = end(thread, new Error('It was given up.')).finally(() => stuck.delete(ended))
    stuck.add(ended)
    for (const waiter of behind) {
      clearTimeout(waiter.timer)
      if (stuck.size < mostStuck) post(waiter)
      else waiter.reject(tooManyStuck())
    }
  }

  function start(): Thread {
    const worker = new Worker(new URL('./aside-thread.ts', import.meta.url), { name: 'sqlite', resourceLimits })
    worker.unref()
    const thread: Thread = { worker, waiting: new Map(), idleTimer: undefined }
    worker.on('message', (outcome: Outcome) => settle(thread, outcome))
    worker.on('error', (error) => void end(thread, error instanceof Error ? error : new Error(String(error))))
    return thread
  }

  function settle(thread: Thread, outcome: Outcome): void {
    const waiter = thread.waiting.get(outcome.id)
    if (!waiter) return
    thread.waiting.delete(outcome.id)
    clearTimeout(waiter.timer)
    if (thread.waiting.size === 0) {
      thread.worker.unref()
      thread.idleTimer = setTimeout(() => void end(thread, new Error('Nobody waits.')), idleMs).unref()
    }
    if ('rows' in outcome) waiter.resolve(outcome.rows)
    else waiter.reject(failureOf(outcome.failure.message, outcome.failure.errcode))
  }

  function post({ order, resolve, reject }: Omit<Waiting, 'timer'>): void {
    current ??= start()
    const thread = current
    clearTimeout(thread.idleTimer)
    thread.worker.ref()
    const timer = setTimeout(() => giveUp(thread), timeoutMs)
    thread.waiting.set(order.id, { order, resolve, reject, timer })
    thread.worker.postMessage(order)
  }

  async function ask(order: OrderOf): Promise<unknown[]> {
    if (stuck.size >= mostStuck) throw tooManyStuck()
    lastId += 1
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>()
    post({ order: { ...order, id: lastId }, resolve, reject })
    return promise
  }

  return {
    read: (path, text, parameters) => ask({ task: 'read', path, text, parameters }),
    async checkpoint(path) {
      await ask({ task: 'checkpoint', path })
    },
    async forget(path) {
      if (current) await ask({ task: 'forget', path })
    },
    async close() {
      if (current) await end(current, new Error('The database is being closed.'))
      await Promise.all(stuck)
    },
  }
}
