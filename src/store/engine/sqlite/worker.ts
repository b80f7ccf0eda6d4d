import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { runCheckpoint } from './durability.ts'
import { createStatementCache, openReadOnly, sqliteInterrupt, timeFunction } from './file.ts'

/** A task on the database at `path`. A thread gets one at a time. */
export type Order = { id: number; path: string; timeoutMs: number } & (
  | { task: 'read'; text: string; parameters: readonly SQLInputValue[]; isHeld?: true }
  | { task: 'begin' | 'rollback' | 'checkpoint' | 'forget' }
)

export type Outcome = { id: number; rows: unknown[] } | { id: number; failure: { message: string; errcode: unknown } }

/** How long a full checkpoint may block writers while it waits for readers. */
const busyTimeoutMs = 50

interface Opened {
  file: DatabaseSync
  prepare(text: string): ReturnType<DatabaseSync['prepare']>
}

/** When the current statement has to end. */
let deadlineMs = 0

function checkTime(): number {
  if (performance.now() < deadlineMs) return 1
  throw Object.assign(new Error('The statement took too long.'), { errcode: sqliteInterrupt })
}

const niceness = 5

/** On Linux, lowers the priority of this thread, so that the main thread goes first when processors are scarce. */
function yieldToOthers(): void {
  try {
    const threadId = readlinkSync('/proc/thread-self').split('/').at(-1)
    setPriority(Number(threadId), niceness)
  } catch {} // other systems have no priorities of threads
}

const opened = new Map<string, Opened>()

function fileOf(path: string): Opened {
  const known = opened.get(path)
  if (known) return known
  const file = openReadOnly(path) // may run checkpoints nevertheless
  file.exec(`pragma synchronous = normal; pragma busy_timeout = ${busyTimeoutMs}`)
  file.function(timeFunction, checkTime)
  const added = { file, prepare: createStatementCache((text) => file.prepare(text)) }
  opened.set(path, added)
  return added
}

function execute(order: Order): unknown[] {
  if (order.task === 'forget') {
    opened.get(order.path)?.file.close()
    opened.delete(order.path)
    return []
  }
  const found = fileOf(order.path)
  const { file, prepare } = found
  if (order.task === 'checkpoint') runCheckpoint(found.prepare)
  if (order.task === 'begin') file.exec('begin')
  if (order.task === 'rollback' && file.isTransaction) file.exec('rollback') // nothing was written
  if (order.task !== 'read') return []
  // If SQLite itself ended the transaction of a snapshot, reading on would see the current state.
  if (order.isHeld && !file.isTransaction) throw new Error('The snapshot is gone.')
  deadlineMs = performance.now() + order.timeoutMs
  return prepare(order.text).all(...order.parameters)
}

function answer(order: Order): Outcome {
  const { id } = order
  try {
    return { id, rows: execute(order) }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: unknown }
    return { id, failure: { message, errcode } }
  }
}

yieldToOthers()
parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
