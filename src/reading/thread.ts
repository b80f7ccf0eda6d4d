import { parentPort, workerData } from 'node:worker_threads'
import { createBoundedMap } from '../bounded-map.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { type Asked, createContentMaker } from '../http/content-maker.ts'
import { createCurrentFiles } from '../media/current-files.ts'
import { openMedia } from '../media/open.ts'
import { createContentMemory } from '../store/content-memory.ts'
import { NotHere, openReadings } from '../store/open-readings.ts'
import { contentReads } from '../tenant/content-endpoints.ts'

export interface Order extends Asked {
  id: number
  nowMs: number
  /** What is remembered of the group from the time of another one is to be forgotten. */
  epoch: number | undefined
}

/** What the thread is to make, one after the other. */
export interface Orders {
  orders: Order[]
  /** Where files are delivered from that we keep ourselves. */
  baseUrl: string
}

interface Made {
  body: Uint8Array<ArrayBuffer>
  etag: string
  revision: number
  untilMs: number
}

/** Without anything made, the main thread has to make it. A fault is one of the thread, not of the question. */
export type Outcome = { id: number; made: Made } | { id: number; made?: undefined; fault: string | undefined }

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

async function carryOut({ id, nowMs, epoch, ...asked }: Order): Promise<Outcome> {
  keepUp(asked.tenant.groupID, epoch)
  try {
    const { body, etag, revision, untilMs } = await makeContent(asked, nowMs)
    const bytes = new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.length) // it has memory of its own
    return { id, made: { body: bytes, etag, revision, untilMs } }
  } catch (error) {
    const isOfQuestion = error instanceof AppError || error instanceof NotHere
    return { id, fault: isOfQuestion ? undefined : String(error) }
  }
}

parentPort?.on('message', async (given: Orders) => {
  baseUrl = given.baseUrl
  for (const order of given.orders) {
    const outcome: Said = await carryOut(order)
    parentPort?.postMessage(outcome, outcome.made ? [outcome.made.body.buffer] : [])
  }
})
parentPort?.postMessage('up' satisfies Said)
