import { readFileSync } from 'node:fs'
import type { TestEvent } from 'node:test/reporters'

/** One line of the record that a test process writes, as JSON. */
export type TestRecord =
  | { kind: 'started' | 'completed'; name: string }
  | { kind: 'passed' | 'failed' | 'skipped'; file: string; path: string[]; durationMs: number }
  | { kind: 'ended'; cpuMs: number }

/** What failed itself, rather than only containing something that failed. */
const isCause = (failureType: unknown): boolean => failureType !== 'subtestsFailed'

function* recordsOf(event: TestEvent, path: string[]): Generator<TestRecord> {
  if (event.type === 'test:dequeue') yield { kind: 'started', name: event.data.name }
  if (event.type === 'test:complete') yield { kind: 'completed', name: event.data.name }
  if (event.type === 'test:start') path.splice(event.data.nesting, Infinity, event.data.name)
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return
  const { data } = event
  const isTest = data.details.type !== 'suite'
  const base = {
    file: data.file ?? '',
    path: [...path.slice(0, data.nesting), data.name],
    durationMs: data.details.duration_ms,
  }
  if (event.type === 'test:fail') {
    const { failureType } = event.data.details.error as { failureType?: unknown }
    if (isCause(failureType)) yield { kind: 'failed', ...base }
  } else if (isTest) {
    const isSkipped = data.skip !== undefined || data.todo !== undefined
    yield { kind: isSkipped ? 'skipped' : 'passed', ...base }
  }
}

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

/** Tells the runner what happened, one JSON line for each record. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  for await (const event of events) for (const record of recordsOf(event, path)) yield `${JSON.stringify(record)}\n`
  const ended: TestRecord = { kind: 'ended', cpuMs: cpuMs() }
  yield `${JSON.stringify(ended)}\n`
}
