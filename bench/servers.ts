import { type ChildProcess, fork, type Serializable, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createClient } from './ask.ts'
import type { LeastOptions } from './least-server.ts'
import type { PlainAnswer, PlainKind } from './plain-server.ts'

const program = join(import.meta.dirname, '../bin/sluice.js')
const plainProgram = join(import.meta.dirname, 'plain-server.ts')
const leastProgram = join(import.meta.dirname, 'least-server.ts')
const startTimeoutMs = 120_000
/** Often where the duration is measured, seldom elsewhere: asking takes CPU time, too. */
const askEveryMs = { measured: 2, unmeasured: 25 }

export interface Server extends AsyncDisposable {
  origin: string
  pid: number
}

/** As in production, but with rate limits that no client reaches. */
const limits = 9_999_999
const openLimits = {
  RATE_LIMITS: ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=${limits}/${limits}`).join(','),
  SUBMISSION_HOURLY_LIMITS: ['free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=${limits}`).join(','),
}

/** Every answer is built from the database. */
export const cacheOff = { ANSWER_CACHE_MB: '0' }

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  if (address === null || typeof address === 'string') throw new Error('No free port.')
  return address.port
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'close')
}

const tailOf = (logFile: string): string => readFileSync(logFile, 'utf8').slice(-5000)

/** The request, and the check of its answer, that tell when a server has started. */
export interface FirstAnswer {
  path: string
  headers?: Record<string, string>
  isRight?(body: string): boolean
}

const ready: FirstAnswer = { path: '/readyz' }

/**
 * The real program with its production settings: it logs every request, at the default level, to a file. Resolves
 * once the first expected answer has arrived.
 */
export async function startSluice(
  env: Record<string, string>,
  { args = [], first = ready }: { args?: string[]; first?: FirstAnswer } = {},
): Promise<Server & { startedInMs: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const logFile = join(folder, 'log')
  const log = openSync(logFile, 'a')
  const port = await freePort()
  const startMs = performance.now()
  const child = spawn(process.execPath, [program, 'serve', ...args], {
    env: { PATH: process.env.PATH, PORT: String(port), ...openLimits, ...env },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const origin = `http://127.0.0.1:${port}`
  using client = createClient()
  async function hasAnswered({ path, headers = {}, isRight = () => true }: FirstAnswer): Promise<boolean> {
    const answer = await client.ask(origin, { path, headers }).catch(() => undefined) // it does not listen yet
    return answer?.status === 200 && isRight(answer.body.toString())
  }
  while (!(await hasAnswered(first))) {
    if (child.exitCode !== null || performance.now() - startMs > startTimeoutMs) {
      await endProcess(child)
      throw new Error(`Sluice did not start:\n${tailOf(logFile)}`)
    }
    await wait(first === ready ? askEveryMs.unmeasured : askEveryMs.measured)
  }
  const startedInMs = performance.now() - startMs
  return {
    origin,
    pid: child.pid ?? 0,
    startedInMs,
    async [Symbol.asyncDispose]() {
      const ended = child.exitCode ?? child.signalCode
      if (ended !== null) console.error(`Sluice has ended by itself (${ended}):\n${tailOf(logFile)}`)
      await endProcess(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** One process that serves each answer on a port of its own, for any URL. */
export interface PlainServers extends AsyncDisposable {
  /** In the order of the answers. */
  origins: string[]
}

async function startPart(program: string, args: string[], message: Serializable): Promise<PlainServers> {
  const child = fork(program, args, { serialization: 'advanced' })
  child.send(message)
  const [origins] = (await once(child, 'message')) as [string[]]
  return { origins, [Symbol.asyncDispose]: () => endProcess(child) }
}

export const startPlain = (kind: PlainKind, answers: readonly PlainAnswer[]): Promise<PlainServers> =>
  startPart(plainProgram, [kind], [...answers])

/** Has one origin. */
export const startLeast = (options: LeastOptions): Promise<PlainServers> => startPart(leastProgram, [], { ...options })
