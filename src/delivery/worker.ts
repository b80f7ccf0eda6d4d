import { parentPort, workerData } from 'node:worker_threads'
import { createLruMap } from '../cache/lru-map.ts'
import type { Config } from '../config/config.ts'
import { systemClock } from '../core/clock.ts'
import { AppError, type ErrorCode } from '../core/errors.ts'
import { createCurrentFiles } from '../media/current-files.ts'
import { openMedia } from '../media/open.ts'
import { MainThreadOnly, openReadOnlyStore } from '../store/engine/main-thread-only.ts'
import { createContentCache } from '../store/lists/content-cache.ts'
import type { Tenant } from '../store/store.ts'
import { contentReads } from '../tenant/content-reads.ts'
import { type ContentRequest, createContentMaker } from './make-content.ts'

/** Messages are arrays of plain values, which are copied fastest between threads. */
export type Order = [
  id: number,
  /** Route and query, and a `Tenant`, as JSON. */
  requestText: string,
  tenantText: string,
  /** A change of the epoch invalidates the thread's cache of the group. */
  epoch: number | undefined,
  nowMs: number,
]

/** Requests, built one after the other. */
export interface Orders {
  orders: Order[]
  /** The base URL of files in local storage. */
  baseUrl: string
}

/**
 * Without a body, the request is refused, or the main thread must build it. A fault, as text, is an error of the thread and
 * not of the request.
 */
export type Outcome =
  | [id: number, body: ArrayBuffer, etag: string, revision: number, untilMs: number]
  | [id: number, body: undefined, refusal: Refusal | string | undefined]

/** The parts of an `AppError`. */
type Refusal = [code: ErrorCode, message: string, options: { retryAfterSeconds?: number }]

/** Ready, and then the replies. */
export type Said = 'up' | Outcome

export interface ThreadData {
  config: Config
}

const { config: copied } = workerData as ThreadData
// A Buffer arrives as a plain Uint8Array.
const config: Config = {
  ...copied,
  masterKey: copied.masterKey && Buffer.from(copied.masterKey),
  mediaSigningKeys: copied.mediaSigningKeys.map((key) => Buffer.from(key)),
}
let baseUrl = ''
const { signer } = openMedia(config, () => config.mediaPublicUrl ?? baseUrl)
const contentCache = createContentCache()
const makeContent = createContentMaker(contentReads, {
  store: openReadOnlyStore(config.dataDir),
  contentCache,
  config,
  currentFiles: createCurrentFiles({ signer, ttlSeconds: config.signedUrlTtlSeconds, clock: systemClock }),
})

/**
 * After a backup was restored, a revision can recur with other content. The main thread sees the revisions in between; this
 * thread may not.
 */
const epochs = createLruMap<string, number>(10_000)

function keepUp(groupId: string, epoch: number | undefined): void {
  if (epoch !== undefined && epochs.get(groupId) === epoch) return
  contentCache.forget(groupId)
  if (epoch !== undefined) epochs.set(groupId, epoch)
}

/** Longer ones are parsed each time. */
const mostCharacters = 1000

/** Equal requests share an object, by which results are memoized. */
function createReader<Value>(most: number): (text: string) => Value {
  const known = createLruMap<string, Value>(most)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const value = JSON.parse(text) as Value
    if (text.length <= mostCharacters) known.set(text, value)
    return value
  }
}

const readRequest = createReader<Pick<ContentRequest, 'route' | 'query'>>(5000)
const readTenant = createReader<Tenant>(1000)

async function execute([id, requestText, tenantText, epoch, nowMs]: Order): Promise<Outcome> {
  const tenant = readTenant(tenantText)
  keepUp(tenant.groupID, epoch)
  try {
    const { route, query } = readRequest(requestText)
    const { body, etag, revision, untilMs } = await makeContent({ route, query, tenant }, nowMs)
    return [id, body.buffer as ArrayBuffer, etag, revision, untilMs] // its buffer is not pooled
  } catch (error) {
    if (error instanceof MainThreadOnly) return [id, undefined, undefined]
    if (!(error instanceof AppError)) return [id, undefined, String(error)]
    const { code, message, retryAfterSeconds } = error
    return [id, undefined, [code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds }]]
  }
}

parentPort?.on('message', async (given: Orders) => {
  baseUrl = given.baseUrl
  for (const order of given.orders) {
    const outcome: Said = await execute(order)
    const [, body] = outcome
    parentPort?.postMessage(outcome, body ? [body] : [])
  }
})
parentPort?.postMessage('up' satisfies Said)
