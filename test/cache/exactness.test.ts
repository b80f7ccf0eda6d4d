import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import fc from 'fast-check'
import { onBothEngines } from '../helpers/harness.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { playScript } from './play.ts'
import { type Figures, noFigures } from './scene.ts'
import { script, writeKinds } from './script.ts'

/** `npm run prove -- cache` asks for 2,000. */
const runs = Number(process.env.CACHE_SCRIPTS ?? 15)
/** To play again what has failed. */
const seed = process.env.CACHE_SEED
/** A script that fails is made shorter, in so many attempts. */
const mostAttempts = 60
/** Of all answers: where few are kept, little is proved. */
const leastHitShare = 0.3
/** So many scripts have something of everything in them. */
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
  return `${done}; ${compared} answers compared, ${hits} hits and ${misses} misses, ${madeInThreads} of them made in threads; ${stale} were right before, the oldest until ${oldestStaleMs} ms ago`
}

onBothEngines('two processes with answer caches', (engine) => {
  it('answer like one without a cache: their own writes at once, others’ within a second, dates to the millisecond', async (context) => {
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
    assert.ok(counted.hits > leastHitShare * figures.compared, 'enough answers must have been kept ones')
    assert.equal(
      counted.madeInThreads > counted.misses / 4,
      engine === 'sqlite',
      'with SQLite one process leaves it to threads',
    )
    assert.ok(figures.writes > figures.refusedWrites, 'most writes must have been done')
    assert.ok(figures.stale > 0, 'somebody must have been behind now and then')
    if (runs >= manyRuns) {
      const never = writeKinds.filter((kind) => !figures.kinds.has(kind))
      assert.deepEqual(never, [], 'every kind of write must have been done')
    }
  })
})
