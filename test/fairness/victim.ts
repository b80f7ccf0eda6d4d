import { Agent, request as httpRequest } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** Another tenant that sends a request every 20 ms, in a separate thread, so that the attacker's work does not delay it. */
const everyMs = 20
const everyWrite = 25
const timeoutMs = 120_000

export interface VictimTarget {
  baseUrl: string
  key: string
  collectionId: string
  reviewsId: string
}

export type AskedKind = 'hot read' | 'cold read' | 'write'

export interface Asked {
  kind: AskedKind
  /** Milliseconds since 1970, comparable across threads. */
  sentMs: number
  waitedMs: number
  /** 0 without an answer. */
  status: number
}

const { baseUrl, key, collectionId, reviewsId } = workerData as VictimTarget
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
  const report = (status: number): void =>
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
      response.once('end', () => report(response.statusCode ?? 0))
      response.once('error', () => report(0))
    },
  )
  request.once('error', () => report(0))
  request.once('timeout', () => request.destroy())
  request.end(
    isWrite
      ? JSON.stringify({ collectionId: reviewsId, type: 'createReview', objectValue: { title: 'x' } })
      : undefined,
  )
}

let dueMs = nowMs()
setInterval(() => {
  // One for each interval that has passed, also after a late timer.
  for (; dueMs <= nowMs(); dueMs += everyMs) {
    count += 1
    ask(count % everyWrite === 0 ? 'write' : count % 2 === 0 ? 'hot read' : 'cold read')
  }
}, everyMs)
