import { parentPort, workerData } from 'node:worker_threads'
import { createBoundedMap } from '../bounded-map.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { createContentMaker } from '../http/content-maker.ts'
import { type KnownQuestion, mostQuestions } from '../http/known-questions.ts'
import { createCurrentFiles } from '../media/current-files.ts'
import { openMedia } from '../media/open.ts'
import { createContentMemory } from '../store/content-memory.ts'
import type { Tenant } from '../store/groups.ts'
import { NotHere, openReadings } from '../store/open-readings.ts'
import { contentReads } from '../tenant/content-endpoints.ts'

/** Lists of plain values are what is copied fastest from one thread to another. */
export type Order = [
  id: number,
  /** A `KnownQuestion` and a `Tenant` as JSON. */
  questionText: string,
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
const memory = createContentMemory()
const makeContent = createContentMaker(contentReads, {
  store: openReadings(config.dataDir),
  memory,
  config,
  currentFiles: createCurrentFiles({ signer, ttlSeconds: config.signedUrlTtlSeconds, clock: systemClock }),
})

/**
 * A revision can come again: after a backup was restored, with other content. The main thread sees what was between, and this
 * one may not.
 */
const epochs = createBoundedMap<string, number>(10_000)

function keepUp(groupId: string, epoch: number | undefined): void {
  if (epoch !== undefined && epochs.get(groupId) === epoch) return
  memory.forget(groupId)
  if (epoch !== undefined) epochs.set(groupId, epoch)
}

/** A longer one is read again each time. */
const mostCharacters = 1000

/** What was asked before is the same object again, of which the rest may remember something. */
function createReader<Value>(most: number): (text: string) => Value {
  const known = createBoundedMap<string, Value>(most)
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const value = JSON.parse(text) as Value
    if (text.length <= mostCharacters) known.set(text, value)
    return value
  }
}

const readQuestion = createReader<KnownQuestion>(mostQuestions)
const readTenant = createReader<Tenant>(1000)

async function carryOut([id, questionText, tenantText, epoch, nowMs]: Order): Promise<Outcome> {
  const tenant = readTenant(tenantText)
  keepUp(tenant.groupID, epoch)
  try {
    const { route, query } = readQuestion(questionText)
    const { body, etag, revision, untilMs } = await makeContent({ route, query, tenant }, nowMs)
    return [id, body.buffer as ArrayBuffer, etag, revision, untilMs] // it has memory of its own
  } catch (error) {
    if (error instanceof NotHere) return [id, undefined, undefined]
    if (!(error instanceof AppError)) return [id, undefined, String(error)]
    const { code, message, retryAfterSeconds } = error
    return [id, undefined, [code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds }]]
  }
}

parentPort?.on('message', async (given: Orders) => {
  baseUrl = given.baseUrl
  for (const order of given.orders) {
    const outcome: Said = await carryOut(order)
    const [, body] = outcome
    parentPort?.postMessage(outcome, body ? [body] : [])
  }
})
parentPort?.postMessage('up' satisfies Said)
