import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { WorkName } from '../../src/metrics/stalls.ts'
import type { Attack, PlannedAttack } from './attacks.ts'
import type { Asked } from './victim.ts'
import type { StallCounts, World } from './world.ts'

/** The effect of an attack on the other tenant and on the process. */
export interface Effect {
  what: string
  /** The attacker's statuses, with 0 for no answer. */
  statuses: number[]
  worstReadMs: number
  worstWriteMs: number
  /** The other tenant's 5xx answers and missing answers. */
  failures: number
  /** Stalls over 100 ms measured by the service: those in which it computed for at least half of the time … */
  stalls: number
  /** … and those in which it waited for a CPU or a disk. */
  waits: number
  worstStallMs: number
  worstStallCpuMs: number
  /** The requests that the service logged for them. */
  stalledDuring: string[]
  /** CPU time of the main thread per request of the attacker: the cost to all others, on any machine. */
  cpuMs: number
  rssBytes: number
  died: boolean
  /** CPU time stolen by the host of a virtual machine, over all cores. */
  stolenMs: number
  /** Limits that it crossed once, but not when it was repeated. */
  crossedOnce: string[]
  /** Limits that it crossed while the host stole CPU time, so that the attempt was repeated. */
  disturbed: string[]
}

const answerTimeoutMs = 120_000
/** The other tenant waits less than this when no attack is in progress. */
const quietWaitMs = 250
const quietRoundMs = 100
const mostQuietRounds = 600

interface StallLine {
  ms: number
  cpuMs: number
  stalls: number
  during: WorkName[]
}

function stallsIn(output: string): StallLine[] {
  return output
    .split('\n')
    .filter((line) => line.includes('the event loop stalled'))
    .map((line) => JSON.parse(line))
}

/** Linux counts the time in which the host runs others on the cores as steal, in hundredths of a second. */
function readStolenMs(): number {
  if (process.platform !== 'linux') return 0
  const [, , , , , , , , steal = 0] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9).map(Number)
  return steal * 10
}

const noStalls: StallCounts = { work: 0, wait: 0 }

const nowMs = (): number => performance.timeOrigin + performance.now()

/** Sends it, and returns the status; 0 without an answer. */
function sendOne(agent: Agent, baseUrl: string, { method, path, headers, body }: Attack): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const { hostname, port } = new URL(baseUrl)
  try {
    const request = httpRequest(
      {
        ...{ agent, hostname, port, method, path, timeout: answerTimeoutMs },
        headers: { ...headers, ...(body && { 'content-length': body.length }) },
      },
      (response) => {
        response.resume()
        response.once('close', () => resolve(response.statusCode ?? 0))
      },
    )
    request.once('error', () => resolve(0))
    request.once('timeout', () => request.destroy())
    request.end(body)
  } catch {
    resolve(0)
  }
  return promise
}

/** Sends requests on many connections without reading, for a while. */
async function readNothing(world: World, { method, path, headers }: Attack): Promise<number[]> {
  const { hostname, port } = new URL(world.server.baseUrl)
  const head = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const request = `${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`
  const sockets = Array.from({ length: world.size.slowReaders }, () => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(request.repeat(4)))
    socket.on('error', () => {})
    socket.pause()
    return socket
  })
  await sleep(world.size.slowReaderMs)
  for (const socket of sockets) socket.destroy()
  return []
}

export interface Runner {
  /** Waits until the service is idle, attacks, and returns the effect of that attack. */
  attack(planned: PlannedAttack): Promise<Effect>
  /** Attacks at once, and returns the statuses only. */
  rush(planned: PlannedAttack): Promise<Effect>
  /** The effect of all attacks so far. */
  total(): Promise<Effect>
  close(): Promise<void>
}

export function createRunner(world: World): Runner {
  const all: Asked[] = []
  const victim = new Worker(new URL('./victim.ts', import.meta.url), { workerData: world.victim })
  victim.on('message', (one: Asked) => void all.push(one))
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let deaths = 0
  let ended = '' // the output of processes that have died

  /** Waits until the other tenant is answered quickly again. */
  async function untilQuiet(): Promise<void> {
    for (let round = 0; round < mostQuietRounds; round += 1) {
      const beganMs = nowMs()
      await sleep(quietRoundMs)
      const answered = all.filter(({ sentMs }) => sentMs >= beganMs)
      if (answered.length > 0 && answered.every(({ waitedMs, status }) => waitedMs < quietWaitMs && status > 0)) return
    }
  }

  async function send(planned: PlannedAttack, times: number): Promise<() => Promise<number[]>> {
    await world.forgetAccounts()
    const attacks = [await planned.make()]
    while (!attacks[0]?.readsNothing && attacks.length < times) attacks.push(await planned.make())
    const { baseUrl } = world.server
    return async () => {
      const [first] = attacks
      if (first?.readsNothing) return readNothing(world, first)
      return Promise.all(attacks.map((attack) => sendOne(agent, baseUrl, attack)))
    }
  }

  const hasDied = (): boolean => world.server.child.exitCode !== null || world.server.child.signalCode !== null

  async function reviveIfDead(): Promise<boolean> {
    if (!hasDied()) return false
    deaths += 1
    ended += world.server.output()
    await world.revive()
    return true
  }

  /** The effect on the other tenant and the process since then. */
  function effectSince(beganMs: number, stalls: readonly StallLine[], counts: StallCounts) {
    const asked = all.filter(({ sentMs }) => sentMs >= beganMs)
    const worst = (isWrite: boolean): number =>
      asked.reduce((most, { kind, waitedMs }) => ((kind === 'write') === isWrite ? Math.max(most, waitedMs) : most), 0)
    return {
      worstReadMs: worst(false),
      worstWriteMs: worst(true),
      failures: asked.filter(({ status }) => status === 0 || status >= 500).length,
      stalls: counts.work,
      waits: counts.wait,
      worstStallMs: Math.max(0, ...stalls.map(({ ms }) => ms)),
      worstStallCpuMs: Math.max(0, ...stalls.map(({ cpuMs }) => cpuMs)),
      stalledDuring: [...new Set(stalls.map(({ during }) => during.map(({ what }) => what).join(' + ')))],
    }
  }

  /** Lines are logged once a second, so one that is outstanding belongs to the last attack. */
  async function stallsSince(logged: number, before: StallCounts): Promise<[lines: StallLine[], counts: StallCounts]> {
    const now = await world.countStalls()
    const counts = { work: now.work - before.work, wait: now.wait - before.wait }
    for (let round = 0; ; round += 1) {
      const lines = stallsIn(world.server.output()).slice(logged)
      const sum = lines.reduce((total, line) => total + line.stalls, 0)
      if (sum >= counts.work + counts.wait || round === 30) return [lines, counts]
      await sleep(50)
    }
  }

  let peakBytes = 0
  return {
    async attack(planned) {
      const run = await send(planned, world.size.atOnce)
      await untilQuiet()
      const logged = stallsIn(world.server.output()).length
      const before = await world.countStalls()
      let rssBytes = world.rss()
      const sampling = setInterval(() => {
        if (!hasDied()) rssBytes = Math.max(rssBytes, world.rss())
      }, 50)
      const stolenBeforeMs = readStolenMs()
      const beganMs = nowMs()
      const beganCpuMs = world.mainCpuMs()
      const statuses = await run()
      await untilQuiet()
      const spentMs = hasDied() ? 0 : world.mainCpuMs() - beganCpuMs
      clearInterval(sampling)
      peakBytes = Math.max(peakBytes, rssBytes)
      const died = await reviveIfDead()
      const [stalls, counts] = died ? [[], noStalls] : await stallsSince(logged, before)
      return {
        ...{
          what: planned.what,
          statuses: [...new Set(statuses)],
          rssBytes,
          died,
          stolenMs: readStolenMs() - stolenBeforeMs,
          crossedOnce: [],
          disturbed: [],
        },
        cpuMs: spentMs / Math.max(1, statuses.length),
        ...effectSince(beganMs, stalls, counts),
      }
    },
    async rush(planned) {
      const run = await send(planned, 1)
      const statuses = await run()
      await reviveIfDead()
      return {
        ...effectSince(nowMs(), [], noStalls),
        what: planned.what,
        statuses,
        cpuMs: 0,
        rssBytes: 0,
        died: false,
        stolenMs: 0,
        crossedOnce: [],
        disturbed: [],
      }
    },
    async total() {
      await untilQuiet()
      await reviveIfDead()
      const stalls = stallsIn(ended + world.server.output())
      const none = { what: 'all of them', statuses: [], cpuMs: 0, stolenMs: 0, crossedOnce: [], disturbed: [] }
      const counts = await world.countStalls()
      return {
        ...none,
        ...effectSince(0, stalls, counts),
        rssBytes: Math.max(peakBytes, world.rss()),
        died: deaths > 0,
      }
    },
    async close() {
      agent.destroy()
      await victim.terminate()
    },
  }
}
