import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient, type Requests } from './ask.ts'
import { quantile } from './statistics.ts'

/** What came of asking as often as possible. */
export interface LoadResult {
  perSecond: number
  /** Of one answer. */
  p50Ms: number
  p99Ms: number
  /** With its headers. */
  bytesPerAnswer: number
}

/** Asks one server as often as it can answer, over a number of connections. An answer that is no success is an error. */
export interface Load {
  /** With its version. */
  name: string
  run(origin: string, requests: Requests, seconds: number): Promise<LoadResult>
}

export const connections = 32
const installer = join(import.meta.dirname, '../scripts/install-debian.sh')
const wrkScript = join(import.meta.dirname, 'wrk.lua')
/** Of wrk's last line, which our script prints. */
interface WrkSummary {
  requests: number
  micros: number
  bytes: number
  p50Micros: number
  p99Micros: number
  failures: number
}

function readWrkVersion(): string | undefined {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  return error ? undefined : (/^wrk (\S+)/m.exec(stdout)?.[1] ?? 'of an unknown version')
}

async function runWrk(origin: string, { paths, headers }: Requests, seconds: number): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    // In files: so a key is not among the arguments, which everybody on the machine can see.
    await writeFile(join(folder, 'paths'), paths.join('\n'), { mode: 0o600 })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await writeFile(join(folder, 'headers'), lines.join('\n'), { mode: 0o600 })
    const sizes = ['--threads=1', `--connections=${connections}`, `--duration=${Math.ceil(seconds)}s`, '--timeout=30s']
    const { stdout } = await promisify(execFile)('wrk', [...sizes, '--script', wrkScript, origin, '--', folder])
    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as WrkSummary
    if (summary.failures > 0 || summary.requests === 0)
      throw new Error(`${summary.failures} of ${summary.requests} requests to ${origin}${paths[0]} failed.`)
    return {
      perSecond: summary.requests / (summary.micros / 1e6),
      p50Ms: summary.p50Micros / 1000,
      p99Ms: summary.p99Micros / 1000,
      bytesPerAnswer: summary.bytes / summary.requests,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** wrk, which takes a fraction of the work that answering is, so that the server is what is measured. */
export function findWrk(): Load | undefined {
  const version = readWrkVersion()
  return version === undefined ? undefined : { name: `wrk ${version}`, run: runWrk }
}

/** A machine that has no wrk and can have it gets it. */
export function bringWrk(): Load {
  const found = findWrk()
  if (found) return found
  const { stdout, stderr } = spawnSync(installer, ['wrk'], { encoding: 'utf8' })
  const brought = findWrk()
  if (!brought) throw new Error(`The bench needs the program wrk, which could not be installed.\n${stdout}${stderr}`)
  return brought
}

/** Good enough to see that all works. It is slower than the servers that it asks, so its figures are its own. */
export const ownLoad: Load = {
  name: 'own client',
  async run(origin, { paths, headers }, seconds) {
    using client = createClient(connections)
    const endMs = performance.now() + seconds * 1000
    const latencies: number[] = []
    let bytes = 0
    let asked = 0
    async function askOn(): Promise<void> {
      do {
        const path = paths[asked % paths.length] ?? '/'
        asked += 1
        const { status, body, ms } = await client.ask(origin, { path, headers })
        if (status >= 400) throw new Error(`${origin}${path} was answered with ${status}.`)
        latencies.push(ms)
        bytes += body.length
      } while (performance.now() < endMs)
    }
    await Promise.all(Array.from({ length: connections }, askOn))
    return {
      perSecond: latencies.length / seconds,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      bytesPerAnswer: bytes / latencies.length,
    }
  },
}
