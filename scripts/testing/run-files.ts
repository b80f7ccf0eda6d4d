import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRunning, killAll } from './leftovers.ts'
import type { TestRecord } from './reporter.ts'

/** How long processes started by a test file may outlive it. */
const endingTimeoutMs = 15_000
/** How long a process may run between two tests, or after the last one. */
const maxIdleMs = 60_000

export interface RunOptions {
  /** For scratch files; each run gets a subfolder. */
  folder: string
  env: Record<string, string | undefined>
  testTimeoutMs: number
  fileTimeoutMs: number
}

export interface Failure {
  file: string
  /** The path of the test, or the failure outside of tests. */
  name: string
}

/** A file's share of a process. */
export interface FileShare {
  file: string
  tests: number
  durationMs: number
  cpuMs: number
}

export interface FileResult {
  files: string[]
  shares: FileShare[]
  passed: number
  skipped: number
  failures: Failure[]
  durationMs: number
  /** User and system time of the processes. */
  cpuMs: number
  output: string
}

function readLines(path: string): TestRecord[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n')
    return lines.slice(0, -1).map((line) => JSON.parse(line)) // the last one may be cut
  } catch {
    return []
  }
}

/** The first file begins with the process, and includes its start. */
const readRecords = (path: string, [firstFile = '']: string[]): TestRecord[] => [
  { kind: 'file', file: firstFile, atMs: 0, cpuMs: 0 },
  ...readLines(path),
]

/** The tests that have been started and not completed. */
function findUnfinished(records: TestRecord[]): string[] {
  const unfinished: string[] = []
  for (const record of records) {
    if (record.kind === 'started') unfinished.push(record.name)
    if (record.kind === 'completed') unfinished.splice(unfinished.lastIndexOf(record.name), 1)
  }
  return unfinished
}

function whereIn(records: TestRecord[]): string {
  const unfinished = findUnfinished(records)
  if (unfinished.length > 0) return `in ${unfinished.map((name) => `"${name}"`).join(' > ')}`
  const last = records.findLast((record) => record.kind === 'completed')
  return last?.kind === 'completed' ? `outside of a test, after "${last.name}"` : 'outside of a test'
}

const currentFile = (records: TestRecord[]): string | undefined =>
  records.findLast((record) => record.kind === 'file')?.file

const countTests = (records: TestRecord[]): number =>
  records.filter(({ kind }) => kind === 'passed' || kind === 'failed' || kind === 'skipped').length

/** The records of each file: its tests, up to the record with which the next file begins. */
function splitByFile(records: TestRecord[]): FileShare[] {
  const begins = records.flatMap((record, at) => (record.kind === 'file' ? [{ ...record, at }] : []))
  const ended = records.find((record) => record.kind === 'ended')
  return begins.map(({ file, at, atMs, cpuMs }, index) => {
    const next = begins[index + 1]
    const until = next ?? ended
    return {
      file,
      tests: countTests(records.slice(at, next?.at)),
      durationMs: (until?.atMs ?? atMs) - atMs,
      cpuMs: (until?.cpuMs ?? cpuMs) - cpuMs,
    }
  })
}

/** Waits for left-over processes of a test file to end by themselves, then kills them. */
async function endLeftovers(group: number, folder: string): Promise<string[]> {
  const deadlineMs = performance.now() + endingTimeoutMs
  let left = findRunning(group, folder)
  while (left.length > 0 && performance.now() < deadlineMs) {
    await sleep(100)
    left = findRunning(group, folder)
  }
  killAll(group, folder)
  return left.map(({ pid, command }) => `left process ${pid} behind: ${command.slice(0, 200)}`)
}

interface Run {
  files: string[]
  kill(): void
}

const active = new Set<Run>()
export const activeRuns: ReadonlySet<Run> = active

let runs = 0

/** Runs test files in one process, which leads its own process group. */
export async function runFiles(files: string[], options: RunOptions): Promise<FileResult> {
  runs += 1
  const folder = join(options.folder, `run-${runs}.d`) // the suffix keeps any name from being a prefix of another
  mkdirSync(folder)
  const recordFile = `${folder}.jsonl`
  const startedMs = performance.now()
  const reporters = {
    spec: 'stdout',
    [join(import.meta.dirname, 'reporter.ts')]: recordFile,
  }
  const child = spawn(
    process.execPath,
    [
      `--test-timeout=${options.testTimeoutMs}`,
      ...Object.entries(reporters).flatMap(([reporter, destination]) => [
        `--test-reporter=${reporter}`,
        `--test-reporter-destination=${destination}`,
      ]),
      join(import.meta.dirname, 'load-files.ts'),
      ...files,
    ],
    { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, TMPDIR: folder, ...options.env } },
  )
  const group = child.pid
  if (group === undefined) throw new Error(`${process.execPath} cannot be started.`)
  const run: Run = { files, kill: () => killAll(group, folder) }
  active.add(run)
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = once(child, 'close')

  let stopped: { why: string; file: string | undefined } | undefined
  const stop = (why: string, file?: string): void => {
    stopped = { why, file }
    run.kill()
  }
  const watchdog = setTimeout(() => {
    const records = readRecords(recordFile, files)
    stop(`did not end in ${options.fileTimeoutMs / 1000} s: stopped ${whereIn(records)}`, currentFile(records))
  }, options.fileTimeoutMs)
  let lastCount = 0
  let idleSinceMs = performance.now()
  const idleWatch = setInterval(() => {
    const records = readRecords(recordFile, files)
    if (records.length !== lastCount || findUnfinished(records).length > 0) idleSinceMs = performance.now()
    lastCount = records.length
    if (lastCount > 1 && performance.now() - idleSinceMs > maxIdleMs)
      stop('did not end after its last test: something was left open')
  }, 1000)
  const [code, signal] = await once(child, 'exit')
  clearTimeout(watchdog)
  clearInterval(idleWatch)
  const leftovers = await endLeftovers(group, folder)
  await closed
  active.delete(run)

  const records = readRecords(recordFile, files)
  const [first = ''] = files
  const whole = files.length === 1 ? first : `${files.length} files in one process (${files.join(', ')})`
  const failures: Failure[] = records.flatMap((record, at) =>
    record.kind === 'failed'
      ? [{ file: currentFile(records.slice(0, at)) ?? whole, name: record.path.join(' > ') }]
      : [],
  )
  const count = (kind: TestRecord['kind']): number => records.filter((record) => record.kind === kind).length
  const ended = records.find((record) => record.kind === 'ended')
  const shares = splitByFile(records)
  if (stopped !== undefined) failures.push({ file: stopped.file ?? whole, name: stopped.why })
  else if (code !== 0 && failures.length === 0)
    failures.push({
      file: whole, // what it recorded last may be lost
      name: `ended with ${signal ?? `code ${code}`}, last seen ${whereIn(records)} of ${currentFile(records)}`,
    })
  else
    for (const file of files)
      if (!shares.some((share) => share.file === file && share.tests > 0)) failures.push({ file, name: 'ran no test' })
  if (stopped === undefined) failures.push(...leftovers.map((name) => ({ file: whole, name })))
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  return {
    files,
    shares,
    passed: count('passed'),
    skipped: count('skipped'),
    failures,
    durationMs: performance.now() - startedMs,
    cpuMs: ended?.kind === 'ended' ? ended.cpuMs : 0,
    output: Buffer.concat(chunks).toString(),
  }
}
