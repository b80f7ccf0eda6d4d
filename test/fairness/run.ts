import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { WorkName } from '../../src/metrics/stalls.ts'
import type { Attack, PlannedAttack } from './attacks.ts'
import type { Asked } from './victim.ts'
import type { StallCounts, World } from './world.ts'

/** What an attack did to the other tenant and to the process. */
export interface Effect {
  what: string
  /** Of the attacker's own answers, with 0 for none. */
  statuses: number[]
  worstReadMs: number
  worstWriteMs: number
  /** Of the other tenant: answers of 5xx, and none at all. */
  failures: number
  /** Over 100 ms, as the service itself measured them: those in which it computed for at least half of the time … */
  stalls: number
  /** … and those in which it waited for a CPU or a disk. */
  waits: number
  worstStallMs: number
  worstStallCpuMs: number
  /** What the service says it worked on then. */
  stalledDuring: string[]
  /** Of the main thread, for each request of the attacker's: what it takes from all others, on any machine. */
  cpuMs: number
  rssBytes: number
  died: boolean
  /** What the host of a virtual machine gave to others meanwhile, of all cores. */
  stolenMs: number
  /** Limits that it crossed once, and not when it was tried again. */
  crossedOnce: string[]
  /** Limits that it crossed while the host took cores away, so that the attempt was repeated. */
  disturbed: string[]
}

const answerTimeoutMs = 120_000
/** As long as this the other tenant may wait; who waits longer is still under attack. */
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

/** A virtual machine is not idle while its host gives its cores to others; Linux counts that as steal, in hundredths of a second. */
function readStolenMs(): number {
  if (process.platform !== 'linux') return 0
  const [, , , , , , , , steal = 0] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9).map(Number)
  return steal * 10
}

const noStalls: StallCounts = { work: 0, wait: 0 }

const nowMs = (): number => performance.timeOrigin + performance.now()

/** Sends it, and gives the status; 0 where no answer came. */
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

/** Asks on many connections and reads nothing, for a while. */
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
  /** Waits until all is quiet, attacks, and tells what came of that alone. */
  attack(planned: PlannedAttack): Promise<Effect>
  /** Attacks at once, and tells no more than the answers. */
  rush(planned: PlannedAttack): Promise<Effect>
  /** Of all that was done until now. */
  total(): Promise<Effect>
  close(): Promise<void>
}

export function createRunner(world: World): Runner {
  const all: Asked[] = []
  const victim = new Worker(new URL('./victim.ts', import.meta.url), { workerData: world.victim })
  victim.on('message', (one: Asked) => void all.push(one))
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let deaths = 0
  let ended = '' // what processes wrote that have died

  /** Until the other tenant is answered at once again. */
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

  /** What happened to the other tenant and the process since then. */
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

  /** Lines come once a second: one that is still to come belongs to what has just been done. */
  async function stallsSince(told: number, before: StallCounts): Promise<[lines: StallLine[], counts: StallCounts]> {
    const now = await world.countStalls()
    const counts = { work: now.work - before.work, wait: now.wait - before.wait }
    for (let round = 0; ; round += 1) {
      const lines = stallsIn(world.server.output()).slice(told)
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
      const told = stallsIn(world.server.output()).length
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
      const [stalls, counts] = died ? [[], noStalls] : await stallsSince(told, before)
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
