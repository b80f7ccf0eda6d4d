import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../src/store/open.ts'
import { openGroup } from '../src/store/store.ts'
import { createContainer, createGroup, createObjects } from '../test/helpers/authoring.ts'
import { quantile } from './statistics.ts'

/**
 * How writes delay reads within one process with SQLite: `node bench/sqlite-writes.ts [seconds]`.
 * A read is due every few milliseconds. Latency counts from when it was due, so a blocked event loop shows.
 */
const seconds = Number(process.argv[2] ?? 10)
const readEveryMs = 5
const writesPerSecond = 200
const objectsBefore = 2000
const text = 'a sentence of a submission, about as long as people write '.repeat(8)

const dataDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
const store = await openStore({ dataDir, databaseUrl: undefined, clock: Date.now, onConnectionError: () => {} })
const { id, database } = await createGroup(store, { name: 'Bench' }, Date.now())
const group = await openGroup(store, { database, groupID: id })
const schema = { name: { type: 'text' }, rating: { type: 'integer' }, message: { type: 'text' } }
const container = await createContainer(group, { kind: 'collection', name: 'Reviews', schema }, Date.now())
const makeValue = (n: number) => ({ value: { name: `Visitor ${n}`, rating: n % 5, message: text } })
await createObjects(
  group,
  container,
  Array.from({ length: objectsBefore }, (_, n) => makeValue(n)),
  Date.now(),
)

let written = 0
const insert = async (): Promise<void> => {
  written += 1
  await createObjects(group, container, [makeValue(written)], Date.now())
}

const readPage = () =>
  group.database.read
    .selectFrom('objects')
    .select(['id', 'value'])
    .where('container_id', '=', container.id)
    .where('archived', '=', 0)
    .where('publish_ms', '<=', Date.now())
    .orderBy('publish_ms')
    .orderBy('id')
    .limit(20)
    .execute()

/** Starts `work` at a steady pace, however long each takes, and resolves when all of it has ended. */
async function atPace(everyMs: number, work: (dueMs: number) => Promise<void>): Promise<void> {
  const startMs = performance.now()
  const running = new Set<Promise<void>>()
  for (let n = 0; n * everyMs < seconds * 1000; n += 1) {
    const dueMs = startMs + n * everyMs
    const aheadMs = dueMs - performance.now()
    if (aheadMs > 0) await sleep(aheadMs)
    const done = work(dueMs).finally(() => running.delete(done))
    running.add(done)
  }
  await Promise.all(running)
}

const milliseconds = (values: readonly number[]): string =>
  [0.5, 0.99, 0.999, 1].map((share) => quantile(values, share).toFixed(1)).join(' / ')

async function measureReads(name: string, writing: () => Promise<readonly number[]>): Promise<void> {
  const reads: number[] = []
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const startMs = performance.now()
  const [writes] = await Promise.all([
    writing().then((values) => ({ values, perSecond: (values.length / (performance.now() - startMs)) * 1000 })),
    atPace(readEveryMs, async (dueMs) => {
      await readPage()
      reads.push(Math.max(0, performance.now() - dueMs)) // a timer may be a little early
    }),
  ])
  delay.disable()
  console.log(
    `${name}: reads p50/p99/p99.9/max ${milliseconds(reads)} ms; longest stop ${(delay.max / 1e6).toFixed(1)} ms`,
  )
  if (writes.values.length === 0) return
  console.log(`  acknowledged ${writes.perSecond.toFixed(0)}/s, p50/p99/p99.9/max ${milliseconds(writes.values)} ms`)
}

async function writeAtPace(): Promise<number[]> {
  const latencies: number[] = []
  await atPace(1000 / writesPerSecond, async (dueMs) => {
    await insert()
    latencies.push(performance.now() - dueMs)
  })
  return latencies
}

async function writeBy(writers: number): Promise<number[]> {
  const latencies: number[] = []
  const endMs = performance.now() + seconds * 1000
  const writer = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const startMs = performance.now()
      await insert()
      latencies.push(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  return latencies
}

try {
  await measureReads('warming up', async () => [])
  await measureReads('no writes', async () => [])
  await measureReads(`${writesPerSecond} insertions/s`, writeAtPace)
  for (const writers of [1, 8, 32]) await measureReads(`${writers} writers as fast as they can`, () => writeBy(writers))
} finally {
  await store.close()
  await rm(dataDir, { recursive: true, force: true })
}
