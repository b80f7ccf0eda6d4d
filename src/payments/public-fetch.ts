import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { isPublicAddress, resolveName } from '../security/public-address.ts'

const defaultMaxBytes = 20 * 1024 * 1024
/** Until the last header, DNS included; between two bytes; for the whole body. */
const defaultTimeouts = { headersMs: 15_000, silenceMs: 15_000, bodyMs: 60_000 }
/** No services on other ports. The empty string is the default port of https. */
const defaultPorts: readonly string[] = ['', '8443']
const transientStatuses = [408, 425, 429]

export interface PublicFetchOptions {
  signal: AbortSignal
  maxBytes?: number
  /** Returns all addresses of a name; called once. */
  resolve?: (hostname: string) => Promise<string[]>
  isAllowed?: (address: string) => boolean
  ports?: readonly string[]
  /** A CA to trust instead of the default ones. */
  ca?: string | undefined
  timeouts?: typeof defaultTimeouts
}

/** The message contains the host, but nothing else of the URL. */
export class PublicFetchFailure extends Error {
  override readonly name = 'PublicFetchFailure'
  /** Whether a retry may succeed. */
  readonly isTransient: boolean

  constructor(message: string, { isTransient, cause }: { isTransient: boolean; cause?: unknown }) {
    super(message, { cause })
    this.isTransient = isTransient
  }
}

/**
 * Opens an untrusted URL. To prevent server-side request forgery, it connects only to a public IP address: to the one that
 * was checked, without resolving the name again.
 */
export async function openPublic(url: string, options: PublicFetchOptions): Promise<Readable> {
  const { signal, maxBytes = defaultMaxBytes, resolve = resolveName, isAllowed = isPublicAddress } = options
  const { timeouts = defaultTimeouts, ports = defaultPorts, ca } = options
  const target = checkUrl(url, ports)
  const refused = (problem: string) => new PublicFetchFailure(`${target.host} ${problem}.`, { isTransient: false })
  const failed = (problem: string, cause?: unknown) =>
    new PublicFetchFailure(`${target.host} ${problem}.`, { isTransient: true, cause })

  const limit = new AbortController()
  const endAfter = (ms: number) => setTimeout(() => limit.abort(failed(`took more than ${ms / 1000} seconds`)), ms)
  const abort = AbortSignal.any([signal, limit.signal])
  /** If we aborted, our reason is more specific than the error. */
  const reasonOf = (error: unknown): unknown => {
    if (abort.aborted) return abort.reason
    return error instanceof PublicFetchFailure ? error : failed(`could not be reached${codeOf(error)}`, error)
  }

  async function findAddress(): Promise<string> {
    const name = target.hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(name) ? [name] : await raceWithAbort(resolve(name), abort)
    const [address] = addresses
    if (address === undefined || !addresses.every(isAllowed)) throw refused('is not on the public Internet')
    return address
  }

  async function* limited(response: IncomingMessage): AsyncGenerator<Buffer> {
    const timer = endAfter(timeouts.bodyMs)
    let bytes = 0
    try {
      for await (const chunk of response) {
        bytes += chunk.length
        if (bytes > maxBytes) throw refused(`sends more than ${maxBytes} bytes`)
        yield chunk
      }
    } catch (error) {
      throw reasonOf(error)
    } finally {
      clearTimeout(timer)
      response.destroy()
    }
  }

  const timer = endAfter(timeouts.headersMs)
  try {
    const address = await findAddress()
    const response = await send({ target, address, signal: abort, silenceMs: timeouts.silenceMs, ca })
    const problem = problemOf(response, maxBytes)
    if (problem === undefined) return Readable.from(limited(response), { objectMode: false })
    response.destroy()
    throw problem.isTransient ? failed(problem.text) : refused(problem.text)
  } catch (error) {
    throw reasonOf(error)
  } finally {
    clearTimeout(timer)
  }
}

function checkUrl(text: string, ports: readonly string[]): URL {
  const url = URL.parse(text)
  const refuse = (problem: string) => new PublicFetchFailure(`The URL ${problem}.`, { isTransient: false })
  if (url?.protocol !== 'https:') throw refuse('must begin with https://')
  if (url.username || url.password) throw refuse('must not contain a user name or password')
  if (!ports.includes(url.port)) throw refuse('must not have a port')
  return url
}

interface Sending {
  target: URL
  address: string
  signal: AbortSignal
  silenceMs: number
  ca: string | undefined
}

/** Connects to the address; the name is only used for the Host header and TLS. Redirects are not followed. */
function send({ target, address, signal, silenceMs, ca }: Sending): Promise<IncomingMessage> {
  const { hostname, host, port, pathname, search } = target
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: address,
      port: port || 443,
      path: pathname + search,
      headers: { host, 'user-agent': 'Sluice', accept: 'image/*' },
      agent: false, // no connection reuse
      signal,
      timeout: silenceMs,
      ...(isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && { servername: hostname }),
      ...(ca !== undefined && { ca }),
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`silent for ${silenceMs / 1000} seconds`)))
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
    outgoing.end()
  })
}

function problemOf(response: IncomingMessage, maxBytes: number): { text: string; isTransient: boolean } | undefined {
  const { statusCode = 0, headers } = response
  if (statusCode >= 300 && statusCode < 400) return { text: 'redirects, which is not followed', isTransient: false }
  if (statusCode !== 200)
    return { text: `answers ${statusCode}`, isTransient: statusCode >= 500 || transientStatuses.includes(statusCode) }
  if (Number(headers['content-length']) > maxBytes)
    return { text: `sends more than ${maxBytes} bytes`, isTransient: false }
  return undefined
}

/** Why there was no connection, such as ` (ECONNREFUSED)`. */
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? ` (${error.code})` : '')
