import { Agent, request as httpRequest } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** Another tenant, who asks every 20 ms whatever happens, in a thread of its own: nothing of the attack delays it. */
const everyMs = 20
const everyWrite = 25
const timeoutMs = 120_000

export interface VictimPlace {
  baseUrl: string
  key: string
  collectionId: string
  reviewsId: string
}

export type AskedKind = 'hot read' | 'cold read' | 'write'

export interface Asked {
  kind: AskedKind
  /** Since 1970, as all threads see it. */
  sentMs: number
  waitedMs: number
  /** 0 where no answer came. */
  status: number
}

const { baseUrl, key, collectionId, reviewsId } = workerData as VictimPlace
const agent = new Agent({ keepAlive: true, maxSockets: 512 })
const nowMs = (): number => performance.timeOrigin + performance.now()
let count = 0

function ask(kind: AskedKind): void {
  const sentMs = nowMs()
  const isWrite = kind === 'write'
  const list = `/tenant/collectionObjects?collectionId=${collectionId}&limit=20`
  const path = isWrite
    ? '/tenant/definedCollectionObject'
    : kind === 'hot read'
      ? list
      : `${list}&filters[title]=${count}`
  const tell = (status: number): void =>
    parentPort?.postMessage({ kind, sentMs, waitedMs: nowMs() - sentMs, status } satisfies Asked)
  const request = httpRequest(
    baseUrl + path,
    {
      agent,
      method: isWrite ? 'POST' : 'GET',
      timeout: timeoutMs,
      headers: { authorization: key, ...(isWrite && { 'content-type': 'application/json' }) },
    },
    (response) => {
      response.resume()
      response.once('end', () => tell(response.statusCode ?? 0))
      response.once('error', () => tell(0))
    },
  )
  request.once('error', () => tell(0))
  request.once('timeout', () => request.destroy())
  request.end(
    isWrite
      ? JSON.stringify({ collectionId: reviewsId, type: 'createReview', objectValue: { title: 'x' } })
      : undefined,
  )
}

let dueMs = nowMs()
setInterval(() => {
  // One for each interval that has passed: a late timer of ours leaves none out.
  for (; dueMs <= nowMs(); dueMs += everyMs) {
    count += 1
    ask(count % everyWrite === 0 ? 'write' : count % 2 === 0 ? 'hot read' : 'cold read')
  }
}, everyMs)
