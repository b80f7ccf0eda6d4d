import { setTimeout as sleep } from 'node:timers/promises'
import { type S3Place, s3Address } from './s3-address.ts'
import { broken, refused, S3Failure, type S3Wish } from './s3-failure.ts'
import { canonicalQuery, createSigV4, type S3Credentials } from './sigv4.ts'

/** So often at least, however long each takes … */
const minTries = 3
/** … and for so long: a store that restarts is back by then. Meanwhile an upload lies in the inbox. */
const defaultRetryForMs = 30_000
/** A store that has answered nobody for longer than this is not waited for. */
const maxOutageMs = 60_000
const pauseMs = { first: 200, most: 5000 }
const timeoutSeconds = 30
/** A slow line takes its time for a part of a file, and a store for putting parts together. */
const uploadTimeoutSeconds = 300

export interface S3Request extends S3Wish {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
}

/** Sends a request, if need be again, and gives what `take` makes of the answer. */
export type SendToS3 = <Value>(request: S3Request, take: (answer: Response) => Value | Promise<Value>) => Promise<Value>

export interface S3Options extends S3Credentials {
  place: S3Place
  fetch?: typeof fetch
  /** Hears of every success. */
  onAnswer?: (() => void) | undefined
  retryForMs?: number
}

/** Doubles each time, and is between half and all of that, so that many who were cut off do not come back at once. */
const backoffMs = (count: number): number =>
  Math.min(pauseMs.most, pauseMs.first * 2 ** (count - 1)) * (0.5 + Math.random() / 2)

/** Every request of ours can be repeated: at worst, an upload without parts is started in vain. */
export function createS3Client({
  place,
  fetch = globalThis.fetch,
  onAnswer,
  retryForMs = defaultRetryForMs,
  ...credentials
}: S3Options): SendToS3 {
  let failingSinceMs: number | undefined
  const { signHeaders } = createSigV4({ ...credentials, region: place.region })

  function sendOnce(request: S3Request, signal: AbortSignal): Promise<Response> {
    const { method, bucketName, key, query = {}, headers = {}, body } = request
    const address = s3Address(place, bucketName, key)
    const url = `${address.origin}${address.path}?${canonicalQuery(query)}`
    return fetch(url.replace(/\?$/, ''), {
      method,
      headers: signHeaders({ method, address, query, headers, body: body ?? Buffer.alloc(0) }, Date.now()),
      body: body ?? null,
      redirect: 'manual', // what we signed is meant for this host
      signal,
    })
  }

  /** The time is up when `take` has not what it wants, be it the whole answer or only its beginning. */
  const attempt: SendToS3 = async (request, take) => {
    const aborter = new AbortController()
    const seconds = request.body ? uploadTimeoutSeconds : timeoutSeconds
    const timer = setTimeout(() => aborter.abort(new Error(`no answer in ${seconds} seconds`)), seconds * 1000)
    try {
      const answer = await sendOnce(request, aborter.signal)
      if (!answer.ok) throw refused(request, answer.status, await answer.text())
      const value = await take(answer)
      onAnswer?.()
      return value
    } catch (error) {
      throw error instanceof S3Failure ? error : broken(request, error)
    } finally {
      clearTimeout(timer)
    }
  }

  return async (request, take) => {
    const startMs = performance.now()
    for (let count = 1; ; count++) {
      try {
        const value = await attempt(request, take)
        failingSinceMs = undefined
        return value
      } catch (error) {
        if (!(error instanceof S3Failure && error.mayPass)) throw error
        failingSinceMs ??= performance.now()
        const isLongAway = performance.now() - failingSinceMs > maxOutageMs
        const forMs = isLongAway ? 0 : retryForMs
        if (count >= minTries && performance.now() - startMs >= forMs) throw error
        await sleep(backoffMs(count))
      }
    }
  }
}
