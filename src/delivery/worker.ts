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

/** Lists of plain values are what is copied fastest from one thread to another. */
export type Order = [
  id: number,
  /** Route and query, and a `Tenant`, as JSON. */
  requestText: string,
  tenantText: string,
  /** What is remembered of the group from the time of another one is to be forgotten. */
  epoch: number | undefined,
  nowMs: number,
]

/** What the thread is to make, one after the other. */
export interface Orders {
  orders: Order[]
  /** Where files are delivered from that we keep ourselves. */
  baseUrl: string
}

/**
 * Without a body it is refused, or the main thread has to make it. A fault, as a text, is one of the thread and not of the
 * question.
 */
export type Outcome =
  | [id: number, body: ArrayBuffer, etag: string, revision: number, untilMs: number]
  | [id: number, body: undefined, refusal: Refusal | string | undefined]

/** What an `AppError` is made of. */
type Refusal = [code: ErrorCode, message: string, options: { retryAfterSeconds?: number }]

/** What a thread says first, when it can be given something, and from then on. */
export type Said = 'up' | Outcome

export interface ThreadData {
  config: Config
}

const { config: copied } = workerData as ThreadData
// What was sent as a Buffer arrives as plain bytes.
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
 * A revision can come again: after a backup was restored, with other content. The main thread sees what was between, and this
 * one may not.
 */
const epochs = createLruMap<string, number>(10_000)

function keepUp(groupId: string, epoch: number | undefined): void {
  if (epoch !== undefined && epochs.get(groupId) === epoch) return
  contentCache.forget(groupId)
  if (epoch !== undefined) epochs.set(groupId, epoch)
}

/** A longer one is read again each time. */
const mostCharacters = 1000

/** What was asked before is the same object again, of which the rest may remember something. */
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
    return [id, body.buffer as ArrayBuffer, etag, revision, untilMs] // it has memory of its own
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
