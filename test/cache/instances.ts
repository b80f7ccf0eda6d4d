import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { encode, type Method } from '../helpers/manage.ts'
import { programEnv } from '../helpers/process.ts'

export interface Order {
  id: number
  name: 'clock' | 'jobs' | 'counts' | 'hold' | 'held' | 'release'
  ms?: number
}

export interface Reply {
  id: number
  value: unknown
}

export interface RawAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** As received, possibly compressed. */
  body: Buffer
}

export interface Sent {
  method?: Method
  headers?: Record<string, string>
  body?: object
}

/** A real process that serves the database, controlled by the test. */
export interface Instance {
  name: string
  send(path: string, sent: Sent): Promise<RawAnswer>
  setClock(ms: number): Promise<void>
  runJobs(): Promise<void>
  /** Of its answer cache. */
  counts(): Promise<Record<string, number>>
  /** Holds the next computation that has read its content and has files to sign. */
  hold(): Promise<void>
  /** Resolves when that computation has been reached. */
  held(): Promise<void>
  release(): Promise<void>
  /** Suspends the process at any point, like a machine that sleeps. */
  pause(): void
  resume(): void
  stop(): Promise<void>
}

const unlimited = 1_000_000
const tiers = ['anonymous', 'free', 'basic', 'pro', 'proplus']

/** Settings of all processes. `PUBLIC_URL` is the same, so that URLs in answers are equal. */
export const sharedSettings = {
  HOST: '127.0.0.1',
  PORT: '0',
  PUBLIC_URL: 'http://sluice.example',
  LOG_LEVEL: 'warn',
  JOB_WORKERS: '0',
  RATE_LIMITS: tiers.map((tier) => `${tier}=${unlimited}/${unlimited}`).join(','),
  MANAGE_RATE_LIMIT: `${unlimited}/${unlimited}`,
}

export async function startInstance(name: string, env: Record<string, string>, nowMs: number): Promise<Instance> {
  const child = fork(join(import.meta.dirname, 'instance.ts'), {
    env: { ...programEnv, ...sharedSettings, ...env, CLOCK_MS: String(nowMs) },
  })
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = -1
  function expectReply(): { id: number; value: Promise<unknown> } {
    lastId += 1
    const reply = Promise.withResolvers<unknown>()
    waiting.set(lastId, reply)
    return { id: lastId, value: reply.promise }
  }
  child.on('message', ({ id, value }: Reply) => {
    waiting.get(id)?.resolve(value)
    waiting.delete(id)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`The process ${name} ended: ${code ?? signal}.`))
  })
  function order(wanted: Omit<Order, 'id'>): Promise<unknown> {
    const { id, value } = expectReply()
    child.send({ id, ...wanted } satisfies Order)
    return value
  }

  const port = Number(await expectReply().value)
  const agent = new Agent({ keepAlive: true })

  async function send(path: string, { method = 'GET', headers = {}, body }: Sent): Promise<RawAnswer> {
    const { payload, headers: ofBody } = await encode(body)
    const bytes = payload === undefined || Buffer.isBuffer(payload) ? payload : Buffer.from(JSON.stringify(payload))
    const sent = request({
      agent,
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: {
        ...headers,
        ...(bytes && { 'content-type': 'application/json', ...ofBody, 'content-length': bytes.length }),
      },
    })
    sent.end(bytes)
    const [answer] = await once(sent, 'response')
    const chunks: Buffer[] = await answer.toArray()
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }
  }

  return {
    name,
    send,
    async setClock(ms) {
      await order({ name: 'clock', ms })
    },
    async runJobs() {
      await order({ name: 'jobs' })
    },
    counts: async () => (await order({ name: 'counts' })) as Record<string, number>,
    async hold() {
      await order({ name: 'hold' })
    },
    async held() {
      await order({ name: 'held' })
    },
    async release() {
      await order({ name: 'release' })
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async stop() {
      agent.destroy()
      child.kill('SIGCONT')
      if (child.connected) child.disconnect()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
