import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What can go wrong between us and a payment provider. */
const faults = [
  /** It answers 429, and has done nothing. */
  'limited',
  /** It answers 500, and has done nothing. */
  'failed',
  /** It has done what was asked for, and its answer never comes. */
  'silentAfter',
  /** The connection breaks before it heard of the request. */
  'resetBefore',
  /** The connection breaks after it has done what was asked for. */
  'resetAfter',
] as const
/** Only where it is asked for by name: it answers 401, and repeats the key that it was given. */
export type Fault = (typeof faults)[number] | 'refused'

/** What goes wrong with a call such as `GET /v1/products?limit=100`; undefined where it is passed on. */
export type Spoil = (call: string) => Fault | undefined

export interface FlakyProxy {
  url: string
  /** How often what was done. */
  counts: Record<Fault | 'passed', number>
  /** Can be replaced at any moment. */
  spoil: Spoil
  close(): Promise<void>
}

/** The same seed gives the same numbers from 0 to 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Spoils as many of the calls as the rate says, always the same ones for a seed. */
export function spoilSome({ faultRate, seed, only = faults }: FaultOptions): Spoil {
  const random = seededRandom(seed)
  return () => (random() < faultRate ? only[Math.floor(random() * only.length)] : undefined)
}

export interface FaultOptions {
  faultRate: number
  seed: number
  only?: readonly Fault[]
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

async function forward(target: URL, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
  const call = request({ host: target.hostname, port: target.port, method, path: url, headers, agent: false })
  call.end(body)
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  return { status: answer.statusCode ?? 502, headers: answer.headers, body: await buffer(answer) }
}

function sendError(reply: ServerResponse, status: number, type: string, message: string): void {
  reply.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: { type, message } }))
}

/** Stands before a payment provider and spoils some of the calls, the others it passes on. */
export async function startFlakyProxy(targetUrl: string, options: FaultOptions): Promise<FlakyProxy> {
  const target = new URL(targetUrl)
  const counts = { refused: 0, limited: 0, failed: 0, silentAfter: 0, resetBefore: 0, resetAfter: 0, passed: 0 }

  async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const fault = proxy.spoil(`${incoming.method} ${incoming.url}`)
    counts[fault ?? 'passed'] += 1
    const body = await buffer(incoming)
    if (fault === 'refused')
      return sendError(reply, 401, 'invalid_request_error', `Invalid API Key: ${incoming.headers.authorization}`)
    if (fault === 'limited') return sendError(reply, 429, 'invalid_request_error', 'Too many requests.')
    if (fault === 'failed') return sendError(reply, 500, 'api_error', 'Something went wrong.')
    if (fault === 'resetBefore') return void incoming.socket.resetAndDestroy()
    const answer = await forward(target, incoming, body)
    if (fault === 'silentAfter') return
    if (fault === 'resetAfter') return void incoming.socket.resetAndDestroy()
    reply.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const server = createServer((incoming, reply) => {
    serve(incoming, reply).catch(() => incoming.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const proxy: FlakyProxy = {
    url: `http://127.0.0.1:${port}`,
    counts,
    spoil: spoilSome(options),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
