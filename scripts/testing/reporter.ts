import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** The run time of the process, and its CPU time. */
interface Usage {
  atMs: number
  cpuMs: number
}

/** A line of a test process's record, as JSON. */
export type TestRecord =
  | { kind: 'started' | 'completed'; name: string }
  | { kind: 'passed' | 'failed' | 'skipped'; path: string[] }
  /** The following records belong to this file. */
  | ({ kind: 'file'; file: string } & Usage)
  | ({ kind: 'ended' } & Usage)

const loader = join(import.meta.dirname, 'load-files.ts')

/** A test that failed itself, rather than containing a failed one. */
const isCause = (failureType: unknown): boolean => failureType !== 'subtestsFailed'

function* recordsOf(event: TestEvent, path: string[]): Generator<TestRecord> {
  if (event.type === 'test:dequeue') yield { kind: 'started', name: event.data.name }
  if (event.type === 'test:complete') {
    const { name, file, details } = event.data
    yield { kind: 'completed', name }
    if (file === loader && details.type === 'suite') yield { kind: 'file', file: name, ...usage() }
  }
  if (event.type === 'test:start') path.splice(event.data.nesting, Infinity, event.data.name)
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return
  const { data } = event
  const isTest = data.details.type !== 'suite'
  const base = { path: [...path.slice(0, data.nesting), data.name] }
  if (event.type === 'test:fail') {
    const { failureType } = event.data.details.error as { failureType?: unknown }
    if (isCause(failureType)) yield { kind: 'failed', ...base }
  } else if (isTest) {
    const isSkipped = data.skip !== undefined || data.todo !== undefined
    yield { kind: isSkipped ? 'skipped' : 'passed', ...base }
  }
}

const usage = (): Usage => ({ atMs: Math.round(performance.now()), cpuMs: cpuMs() })

/** User and system time of this process, and on Linux of the processes that it started and that have ended. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1000
  if (process.platform !== 'linux') return Math.round(own)
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const [childUser, childSystem] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number)
  const tickMs = 10
  return Math.round(own + ((childUser ?? 0) + (childSystem ?? 0)) * tickMs)
}

/** Reports to the runner, as one JSON line per record. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  for await (const event of events) for (const record of recordsOf(event, path)) yield `${JSON.stringify(record)}\n`
  const ended: TestRecord = { kind: 'ended', ...usage() }
  yield `${JSON.stringify(ended)}\n`
}
