import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { isPublicAddress, resolveName } from '../security/public-address.ts'

const defaultMaxBytes = 20 * 1024 * 1024
/** Up to the last header, the question for the name included; between two bytes; for the whole body. */
const usualTimeouts = { headersMs: 15_000, silenceMs: 15_000, bodyMs: 60_000 }
/** What else listens on a machine is not meant for us. The empty one is https's own. */
const usualPorts: readonly string[] = ['', '8443']
/** Asked too early, or too often. */
const passingStatuses = [408, 425, 429]

export interface PublicFetchOptions {
  signal: AbortSignal
  maxBytes?: number
  /** All addresses of a name. It is asked once. */
  resolve?: (hostname: string) => Promise<string[]>
  isAllowed?: (address: string) => boolean
  ports?: readonly string[]
  /** Whose certificates are trusted, instead of those that everybody trusts. */
  ca?: string | undefined
  timeouts?: typeof usualTimeouts
}

/** It was not fetched. The message names the host, and nothing else of the address. */
export class PublicFetchFailure extends Error {
  override readonly name = 'PublicFetchFailure'
  /** Whether another attempt could go better. */
  readonly mayPass: boolean

  constructor(message: string, { mayPass, cause }: { mayPass: boolean; cause?: unknown }) {
    super(message, { cause })
    this.mayPass = mayPass
  }
}

/**
 * Opens what lies at an address that somebody else chose. So that nobody can make us look into our own network, it is
 * asked for at an address of the public Internet only: the one that was checked, not one the name leads to later.
 */
export async function openPublic(url: string, options: PublicFetchOptions): Promise<Readable> {
  const { signal, maxBytes = defaultMaxBytes, resolve = resolveName, isAllowed = isPublicAddress } = options
  const { timeouts = usualTimeouts, ports = usualPorts, ca } = options
  const target = checkUrl(url, ports)
  const refused = (problem: string) => new PublicFetchFailure(`${target.host} ${problem}.`, { mayPass: false })
  const failed = (problem: string, cause?: unknown) =>
    new PublicFetchFailure(`${target.host} ${problem}.`, { mayPass: true, cause })

  const limit = new AbortController()
  const endAfter = (ms: number) => setTimeout(() => limit.abort(failed(`took more than ${ms / 1000} seconds`)), ms)
  const anyEnd = AbortSignal.any([signal, limit.signal])
  /** Whatever an attempt ended with: where it was ended by us, our reason says more. */
  const reasonOf = (error: unknown): unknown => {
    if (anyEnd.aborted) return anyEnd.reason
    return error instanceof PublicFetchFailure ? error : failed(`could not be reached${codeOf(error)}`, error)
  }

  async function findAddress(): Promise<string> {
    const name = target.hostname.replace(/^\[|\]$/g, '')
    const addresses = isIP(name) ? [name] : await raceWithAbort(resolve(name), anyEnd)
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
    const response = await send({ target, address, signal: anyEnd, silenceMs: timeouts.silenceMs, ca })
    const problem = problemOf(response, maxBytes)
    if (problem === undefined) return Readable.from(limited(response), { objectMode: false })
    response.destroy()
    throw problem.mayPass ? failed(problem.text) : refused(problem.text)
  } catch (error) {
    throw reasonOf(error)
  } finally {
    clearTimeout(timer)
  }
}

function checkUrl(text: string, ports: readonly string[]): URL {
  const url = URL.parse(text)
  const refuse = (problem: string) => new PublicFetchFailure(`The address ${problem}.`, { mayPass: false })
  if (url?.protocol !== 'https:') throw refuse('must begin with https://')
  if (url.username || url.password) throw refuse('must not hold a user name or a password')
  if (!ports.includes(url.port)) throw refuse('must not name a port of its own')
  return url
}

interface Sending {
  target: URL
  address: string
  signal: AbortSignal
  silenceMs: number
  ca: string | undefined
}

/** The connection goes to the address; the name is only told, and looked for in the certificate. Redirects are answers. */
function send({ target, address, signal, silenceMs, ca }: Sending): Promise<IncomingMessage> {
  const { hostname, host, port, pathname, search } = target
  return new Promise((resolve, reject) => {
    const asked = request({
      host: address,
      port: port || 443,
      path: pathname + search,
      headers: { host, 'user-agent': 'Sluice', accept: 'image/*' },
      agent: false, // no connection of an earlier question is used again
      signal,
      timeout: silenceMs,
      ...(isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && { servername: hostname }),
      ...(ca !== undefined && { ca }),
    })
    asked.on('timeout', () => asked.destroy(new Error(`silent for ${silenceMs / 1000} seconds`)))
    asked.on('error', reject)
    asked.on('response', resolve)
    asked.end()
  })
}

function problemOf(response: IncomingMessage, maxBytes: number): { text: string; mayPass: boolean } | undefined {
  const { statusCode = 0, headers } = response
  if (statusCode >= 300 && statusCode < 400) return { text: 'sends us elsewhere, where we do not go', mayPass: false }
  if (statusCode !== 200) {
    return { text: `answers ${statusCode}`, mayPass: statusCode >= 500 || passingStatuses.includes(statusCode) }
  }
  if (Number(headers['content-length']) > maxBytes) return { text: `sends more than ${maxBytes} bytes`, mayPass: false }
  return undefined
}

/** Why there was no connection, such as ` (ECONNREFUSED)`. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? ` (${error.code})` : ''
}
