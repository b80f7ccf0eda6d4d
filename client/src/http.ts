import { SluiceError } from './errors.ts'
import type { Settings } from './options.ts'
import { type Query, writeQuery } from './query.ts'
import { readRetryAfterSeconds, retryDelayMs, sleep } from './retry.ts'

/** What an endpoint is asked. */
export interface Question {
  query?: Query
  /** With it the question is a POST. */
  body?: object
  /** All attempts carry the same, so that the service acts once, however often it is asked. */
  idempotencyKey?: string
  /** Whether the answer is a plain `true`, as the e-mail endpoints have it. */
  isBare?: boolean
  signal: AbortSignal | undefined
}

/** Asks one endpoint and unwraps the envelope. */
export type Ask = <Data>(endpoint: string, question: Question) => Promise<Data>

/** Asking twice does no harm, so what failed for a passing reason is tried again. */
export function createAsk(settings: Settings): Ask {
  return async <Data>(endpoint: string, { query, signal, isBare = false, ...question }: Question) => {
    const address = `${settings.baseUrl}/tenant/${endpoint}`
    const parameters = query && writeQuery(query)
    const request = writeRequest(settings.apiKey, question)
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

function writeRequest(apiKey: string, { body, idempotencyKey }: Pick<Question, 'body' | 'idempotencyKey'>) {
  const headers = {
    accept: 'application/json',
    authorization: apiKey,
    ...(body && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  // The key goes to no other host; edge workers do not know 'error'.
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
    // The address without its query, which may hold a preview token.
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

function abortedBy(signal: AbortSignal): SluiceError {
  return new SluiceError('The call was aborted by its signal', { code: 'Aborted', cause: signal.reason })
}

/** Where a runtime names the reason (` (ECONNREFUSED)`), it does so on the cause of what `fetch` throws. */
function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined
  return inner instanceof Error && 'code' in inner ? ` (${inner.code})` : ''
}
