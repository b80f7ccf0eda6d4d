import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** Failures of calls to a payment provider. */
const faults = [
  /** Answers 429 without effect. */
  'limited',
  /** Answers 500 without effect. */
  'failed',
  /** Takes effect but never answers. */
  'silentAfter',
  /** The connection breaks before the request arrives. */
  'resetBefore',
  /** The connection breaks after the request took effect. */
  'resetAfter',
] as const
/** Only on explicit request: answers 401 and repeats the key. */
export type Fault = (typeof faults)[number] | 'refused'

/** The fault of a call such as `GET /v1/products?limit=100`; undefined if it is passed on. */
export type ChooseFault = (call: string) => Fault | undefined

export interface FlakyProxy {
  url: string
  /** The number of calls by fault. */
  counts: Record<Fault | 'passed', number>
  /** May be replaced at any time. */
  chooseFault: ChooseFault
  close(): Promise<void>
}

/** A pseudo-random generator from 0 to 1, determined by its seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Makes a share of the calls fail, determined by the seed. */
export function failSome({ faultRate, seed, only = faults }: FaultOptions): ChooseFault {
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

/** A proxy in front of a payment provider that makes some calls fail. */
export async function startFlakyProxy(targetUrl: string, options: FaultOptions): Promise<FlakyProxy> {
  const target = new URL(targetUrl)
  const counts = { refused: 0, limited: 0, failed: 0, silentAfter: 0, resetBefore: 0, resetAfter: 0, passed: 0 }

  async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const fault = proxy.chooseFault(`${incoming.method} ${incoming.url}`)
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
    chooseFault: failSome(options),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return proxy
}
