import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import fc from 'fast-check'
import { onBothEnginesInProve } from '../helpers/harness.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { playScript } from './play.ts'
import { type Figures, noFigures } from './scene.ts'
import { script, writeKinds } from './script.ts'

/** `npm run prove -- cache` asks for 2,000. */
const runs = Number(process.env.CACHE_SCRIPTS ?? 10)
/** Repeats a failed run. */
const seed = process.env.CACHE_SEED
/** Attempts to shrink a failing script. */
const mostAttempts = 60
/** Of all answers; a test of mostly misses would prove little. */
const leastHitShare = 0.3
/** Enough scripts to contain every kind of write. */
const manyRuns = 500

interface Counted {
  hits: number
  misses: number
  madeInThreads: number
}

async function countHits({ instances }: Cluster): Promise<Counted> {
  const [here, there] = await Promise.all(instances.map((instance) => instance.counts()))
  const sum = (name: string): number => (here?.[name] ?? 0) + (there?.[name] ?? 0)
  return { hits: sum('hits'), misses: sum('misses'), madeInThreads: sum('madeInThreads') }
}

function describeRun(figures: Figures, { hits, misses, madeInThreads }: Counted): string {
  const { scripts, writes, refusedWrites, clockSteps, compared, stale, oldestStaleMs } = figures
  const done = `${scripts} scripts, ${writes} writes (and ${refusedWrites} refused), ${clockSteps} clock steps`
  return `${done}; ${compared} answers compared, ${hits} hits and ${misses} misses, ${madeInThreads} of them made in threads; ${stale} were stale, the oldest by ${oldestStaleMs} ms`
}

onBothEnginesInProve('two processes with answer caches', (engine) => {
  it('answer like a process without a cache: own writes at once, others’ within a second, publish dates to the millisecond', async (context) => {
    const cluster = await startCluster(engine, { usesThreads: true })
    after(() => cluster.close())
    const figures = noFigures()
    let attemptsLeft = Number.POSITIVE_INFINITY
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        attemptsLeft -= 1
        if (attemptsLeft < 0) return
        await playScript(cluster, steps, figures).catch((error) => {
          attemptsLeft = Math.min(attemptsLeft, mostAttempts)
          throw error
        })
      }),
      { numRuns: runs, ...(seed !== undefined && { seed: Number(seed) }) },
    )
    const counted = await countHits(cluster)
    context.diagnostic(`${engine}: ${describeRun(figures, counted)}`)
    assert.ok(counted.hits > leastHitShare * figures.compared, 'enough answers must have been cached')
    assert.equal(
      counted.madeInThreads > counted.misses / 4,
      engine === 'sqlite',
      'with SQLite one process reads in threads',
    )
    assert.ok(figures.writes > figures.refusedWrites, 'most writes must have succeeded')
    assert.ok(figures.stale > 0, 'some answers must have been stale')
    if (runs >= manyRuns) {
      const never = writeKinds.filter((kind) => !figures.kinds.has(kind))
      assert.deepEqual(never, [], 'every kind of write must have been done')
    }
  })
})
