import { connectionFailure, responseFailure, S3Failure, type S3Operation } from './failure.ts'
import { createRetry } from './retry.ts'
import { canonicalQuery, createSigV4, type S3Credentials } from './sigv4.ts'
import { type S3Location, s3Url } from './url.ts'

const timeoutSeconds = 30
/** A slow line needs long to send a part, and a store to assemble the parts. */
const uploadTimeoutSeconds = 300

export interface S3Request extends S3Operation {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
}

/** Sends a request, with retries, and resolves to what `read` makes of the response. */
export type SendToS3 = <Value>(
  request: S3Request,
  read: (response: Response) => Value | Promise<Value>,
) => Promise<Value>

export interface S3Options extends S3Credentials {
  location: S3Location
  fetch?: typeof fetch
  onSuccess?: (() => void) | undefined
  retryForMs?: number
}

/** Every request can be repeated: at worst, an upload without parts is started in vain. */
export function createS3Client({
  location,
  fetch = globalThis.fetch,
  onSuccess,
  retryForMs,
  ...credentials
}: S3Options): SendToS3 {
  const { signHeaders } = createSigV4({ ...credentials, region: location.region })
  const retry = createRetry({ isTransient: (error) => error instanceof S3Failure && error.isTransient, retryForMs })

  function sendOnce(request: S3Request, signal: AbortSignal): Promise<Response> {
    const { method, bucketName, key, query = {}, headers = {}, body } = request
    const url = s3Url(location, bucketName, key)
    const href = `${url.origin}${url.path}?${canonicalQuery(query)}`
    return fetch(href.replace(/\?$/, ''), {
      method,
      headers: signHeaders({ method, url, query, headers, body: body ?? Buffer.alloc(0) }, Date.now()),
      body: body ?? null,
      redirect: 'manual', // the signature is for this host
      signal,
    })
  }

  /** The time limit includes `read`, which reads the whole body or only its beginning. */
  const sendInTime: SendToS3 = async (request, read) => {
    const aborter = new AbortController()
    const seconds = request.body ? uploadTimeoutSeconds : timeoutSeconds
    const timer = setTimeout(() => aborter.abort(new Error(`no answer in ${seconds} seconds`)), seconds * 1000)
    try {
      const response = await sendOnce(request, aborter.signal)
      if (!response.ok) throw responseFailure(request, response.status, await response.text())
      const value = await read(response)
      onSuccess?.()
      return value
    } catch (error) {
      throw error instanceof S3Failure ? error : connectionFailure(request, error)
    } finally {
      clearTimeout(timer)
    }
  }

  return (request, read) => retry(() => sendInTime(request, read))
}
