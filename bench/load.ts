import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient, type Requests } from './ask.ts'
import { quantile } from './statistics.ts'

export interface LoadResult {
  perSecond: number
  /** Latency of one answer. */
  p50Ms: number
  p99Ms: number
  /** Including headers. */
  bytesPerAnswer: number
  /** Requests without an answer below 400. */
  failures: number
}

/**
 * Sends requests to one server as fast as it answers, over several connections. Throws if a larger share of the requests
 * fails, by default if one does.
 */
export interface Load {
  /** Including its version. */
  name: string
  run(origin: string, requests: Requests, seconds: number, maxFailureShare?: number): Promise<LoadResult>
}

export const connections = 32
const installer = join(import.meta.dirname, '../scripts/install-debian.sh')
const wrkScript = join(import.meta.dirname, 'wrk.lua')
/** The last line of output, printed by wrk.lua. */
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

function refuseFailures(origin: string, failures: number, requests: number, maxShare: number): void {
  if (requests === 0 || failures > requests * maxShare)
    throw new Error(`${failures} of ${requests} requests to ${origin} failed.`)
}

async function runWrk(
  origin: string,
  { paths, headers }: Requests,
  seconds: number,
  maxFailureShare = 0,
): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  try {
    // In files: arguments, and with them the API key, would be visible to all users of the machine.
    await writeFile(join(folder, 'paths'), paths.join('\n'), { mode: 0o600 })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await writeFile(join(folder, 'headers'), lines.join('\n'), { mode: 0o600 })
    const sizes = ['--threads=1', `--connections=${connections}`, `--duration=${Math.ceil(seconds)}s`, '--timeout=30s']
    const { stdout } = await promisify(execFile)('wrk', [...sizes, '--script', wrkScript, origin, '--', folder])
    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as WrkSummary
    refuseFailures(origin, summary.failures, summary.requests, maxFailureShare)
    return {
      perSecond: summary.requests / (summary.micros / 1e6),
      p50Ms: summary.p50Micros / 1000,
      p99Ms: summary.p99Micros / 1000,
      bytesPerAnswer: summary.bytes / summary.requests,
      failures: summary.failures,
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** wrk needs a fraction of the CPU time of a server, so the server is what is measured. */
export function findWrk(): Load | undefined {
  const version = readWrkVersion()
  return version === undefined ? undefined : { name: `wrk ${version}`, run: runWrk }
}

/** Installs wrk if it is missing. */
export function ensureWrk(): Load {
  const found = findWrk()
  if (found) return found
  const { stdout, stderr } = spawnSync(installer, ['wrk'], { encoding: 'utf8' })
  const installed = findWrk()
  if (!installed) throw new Error(`The bench needs the program wrk, which could not be installed.\n${stdout}${stderr}`)
  return installed
}

/** For tests only: it is slower than the servers, so it measures itself. */
export const ownLoad: Load = {
  name: 'own client',
  async run(origin, { paths, headers }, seconds, maxFailureShare = 0) {
    using client = createClient(connections)
    const endMs = performance.now() + seconds * 1000
    const latencies: number[] = []
    let bytes = 0
    let sent = 0
    let failures = 0
    async function sendRequests(): Promise<void> {
      do {
        const path = paths[sent % paths.length] ?? '/'
        sent += 1
        const { status, body, ms } = await client.ask(origin, { path, headers })
        if (status >= 400) failures += 1
        latencies.push(ms)
        bytes += body.length
      } while (performance.now() < endMs)
    }
    await Promise.all(Array.from({ length: connections }, sendRequests))
    refuseFailures(origin, failures, latencies.length, maxFailureShare)
    return {
      perSecond: latencies.length / seconds,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      bytesPerAnswer: bytes / latencies.length,
      failures,
    }
  },
}
