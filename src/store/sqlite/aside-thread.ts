import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { parentPort } from 'node:worker_threads'
import { createPreparer, openReader } from './file.ts'

/** What the thread is asked for; `path` says of which database. Answered in this order, one after the other. */
export type Order =
  | { id: number; path: string; task: 'read'; text: string; parameters: readonly SQLInputValue[] }
  | { id: number; path: string; task: 'checkpoint' | 'forget' }

export type Outcome = { id: number; rows: unknown[] } | { id: number; failure: { message: string; errcode: unknown } }

/** A log that has grown to this many pages is read to its end, so that it is begun anew from there. */
const longLogPages = 4000
/** How long writers may be kept out for that, where somebody still reads an old state. */
const busyTimeoutMs = 50

interface Opened {
  file: DatabaseSync
  prepare(text: string): ReturnType<DatabaseSync['prepare']>
}

const opened = new Map<string, Opened>()

function fileOf(path: string): Opened {
  const known = opened.get(path)
  if (known) return known
  const file = openReader(path) // which may carry over what others have committed, all the same
  file.exec(`pragma synchronous = normal; pragma busy_timeout = ${busyTimeoutMs}`)
  const added = { file, prepare: createPreparer((text) => file.prepare(text)) }
  opened.set(path, added)
  return added
}

/**
 * Carries over what is committed into the database's own file. While others write, some of it always comes too late, and
 * the log would grow forever: from some length on they are kept out for the short rest.
 */
function checkpoint({ prepare }: Opened): void {
  const pages = prepare('pragma wal_checkpoint(passive)').get()
  if (Number(pages?.log) > longLogPages) prepare('pragma wal_checkpoint(full)').get()
}

function carryOut(order: Order): unknown[] {
  if (order.task === 'forget') {
    opened.get(order.path)?.file.close()
    opened.delete(order.path)
    return []
  }
  const file = fileOf(order.path)
  if (order.task === 'read') return file.prepare(order.text).all(...order.parameters)
  checkpoint(file)
  return []
}

function answer(order: Order): Outcome {
  const { id } = order
  try {
    return { id, rows: carryOut(order) }
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: unknown }
    return { id, failure: { message, errcode } }
  }
}

parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)))
