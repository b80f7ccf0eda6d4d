import { SluiceError } from './errors.ts'
import type { Settings } from './options.ts'
import { type Query, writeQuery } from './query.ts'
import { readRetryAfterSeconds, retryDelayMs, sleep } from './retry.ts'

/** Reads one endpoint and unwraps the envelope. */
export type Get = <Data>(endpoint: string, query: Query, signal: AbortSignal | undefined) => Promise<Data>

/** Reading twice does no harm, so a read that failed for a passing reason is tried again. */
export function createGet(settings: Settings): Get {
  return async <Data>(endpoint: string, query: Query, signal: AbortSignal | undefined) => {
    const address = `${settings.baseUrl}/tenant/${endpoint}`
    const parameters = writeQuery(query)
    for (let attempt = 0; ; attempt++) {
      try {
        const { response, body } = await receive(settings, address, parameters, signal)
        return readData(response, body) as Data
      } catch (error) {
        const delayMs = attempt < settings.retries ? retryDelayMs(error, attempt) : undefined
        if (delayMs === undefined) throw error
        await sleep(delayMs, signal)
      }
    }
  }
}

/** One attempt, up to the last byte of the answer. */
async function receive(
  { apiKey, fetch, timeoutMs }: Settings,
  address: string,
  parameters: URLSearchParams,
  signal: AbortSignal | undefined,
): Promise<{ response: Response; body: string }> {
  if (signal?.aborted) throw abortedBy(signal)
  const attempt = new AbortController()
  const end = () => attempt.abort()
  const timer = setTimeout(end, timeoutMs)
  signal?.addEventListener('abort', end)
  try {
    const response = await fetch(`${address}?${parameters}`, {
      headers: { accept: 'application/json', authorization: apiKey },
      redirect: 'manual', // the key goes to no other host; edge workers do not know 'error'
      signal: attempt.signal,
    })
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

function readData(response: Response, body: string): unknown {
  const { status } = response
  const envelope = parseObject(body)
  if (response.ok && envelope?.success === true) return envelope.data
  const details = {
    status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: readRetryAfterSeconds(response.headers.get('retry-after')),
  }
  if (envelope?.success === false && typeof envelope.error === 'string') {
    const code = typeof envelope.code === 'string' ? envelope.code : 'Unknown'
    throw new SluiceError(envelope.error, { ...details, code })
  }
  const problem =
    status >= 300 && status < 400
      ? 'a redirect, which the client does not follow: baseUrl must be the final address'
      : 'something that is not the envelope of this service: check baseUrl, and any proxy in between'
  throw new SluiceError(`The answer (status ${status}) is ${problem}`, { ...details, code: 'InvalidResponse' })
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
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
