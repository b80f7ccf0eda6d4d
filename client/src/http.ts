import { SluiceError } from './errors.ts'
import type { Settings } from './options.ts'
import { type Query, writeQuery } from './query.ts'
import { readRetryAfterSeconds, retryDelayMs, sleep } from './retry.ts'

/** A request to an endpoint. */
export interface EndpointRequest {
  query?: Query
  /** Makes the request a POST. */
  body?: object
  /** The same for all attempts, so that the service acts once. */
  idempotencyKey?: string
  /** Whether the answer is a plain `true`, as of the e-mail endpoints. */
  isBare?: boolean
  signal: AbortSignal | undefined
}

/** Calls an endpoint and unwraps the envelope. */
export type CallEndpoint = <Data>(endpoint: string, request: EndpointRequest) => Promise<Data>

/** Transient failures are retried, since all requests are idempotent. */
export function createEndpointCaller(settings: Settings): CallEndpoint {
  return async <Data>(endpoint: string, { query, signal, isBare = false, ...sent }: EndpointRequest) => {
    const address = `${settings.baseUrl}/tenant/${endpoint}`
    const parameters = query && writeQuery(query)
    const request = writeRequest(settings.apiKey, sent)
    for (let attempt = 0; ; attempt++) {
      try {
        const { response, body } = await receive(settings, { address, parameters, request, signal })
        return readData(response, body, isBare) as Data
      } catch (error) {
        const delayMs = attempt < settings.retries ? retryDelayMs(error, attempt) : undefined
        if (delayMs === undefined) throw error
        await sleep(delayMs, signal)
      }
    }
  }
}

function writeRequest(apiKey: string, { body, idempotencyKey }: Pick<EndpointRequest, 'body' | 'idempotencyKey'>) {
  const headers = {
    accept: 'application/json',
    authorization: apiKey,
    ...(body && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  // The key must not go to another host. Edge workers do not support 'error'.
  const redirect = 'manual' as const
  return body ? { method: 'POST', headers, redirect, body: JSON.stringify(body) } : { headers, redirect }
}

interface Attempt {
  address: string
  parameters: URLSearchParams | undefined
  request: RequestInit
  signal: AbortSignal | undefined
}

/** One attempt, up to the last byte of the answer. */
async function receive(
  { fetch, timeoutMs }: Settings,
  { address, parameters, request, signal }: Attempt,
): Promise<{ response: Response; body: string }> {
  if (signal?.aborted) throw abortedBy(signal)
  const attempt = new AbortController()
  const end = () => attempt.abort()
  const timer = setTimeout(end, timeoutMs)
  signal?.addEventListener('abort', end)
  try {
    const url = parameters ? `${address}?${parameters}` : address
    const response = await fetch(url, { ...request, signal: attempt.signal })
    return { response, body: await response.text() }
  } catch (cause) {
    if (signal?.aborted) throw abortedBy(signal)
    // Without the query, which may contain a preview token.
    if (attempt.signal.aborted) {
      throw new SluiceError(`No answer from ${address} within ${timeoutMs} ms`, { code: 'Timeout', cause })
    }
    throw new SluiceError(`No answer from ${address}${reasonOf(cause)}`, { code: 'NetworkError', cause })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
  }
}

function readData(response: Response, body: string, isBare: boolean): unknown {
  const { status } = response
  const answer = parseJson(body)
  if (isBare && response.ok && answer === true) return answer
  const envelope: Record<string, unknown> = typeof answer === 'object' ? { ...answer } : {}
  if (response.ok && envelope.success === true) return envelope.data
  const details = {
    status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: readRetryAfterSeconds(response.headers.get('retry-after')),
  }
  if (envelope.success === false && typeof envelope.error === 'string') {
    const code = typeof envelope.code === 'string' ? envelope.code : 'Unknown'
    throw new SluiceError(envelope.error, { ...details, code })
  }
  const problem =
    status >= 300 && status < 400
      ? 'a redirect, which the client does not follow: baseUrl must be the final address'
      : 'something that is not the envelope of this service: check baseUrl, and any proxy in between'
  throw new SluiceError(`The answer (status ${status}) is ${problem}`, { ...details, code: 'InvalidResponse' })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const abortedBy = (signal: AbortSignal): SluiceError =>
  new SluiceError('The call was aborted by its signal', { code: 'Aborted', cause: signal.reason })

/** The reason, such as ` (ECONNREFUSED)`, which some runtimes put on the cause of a `fetch` error. */
function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined
  return inner instanceof Error && 'code' in inner ? ` (${inner.code})` : ''
}
