import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { drawChart, type Point } from './chart.ts'
import { hotQuestions } from './hot.ts'
import { inCount, inMegabytes, table } from './markdown.ts'
import type { Finding, Setup } from './part.ts'
import { anything } from './questions.ts'
import { type Memory, readMemory } from './read-memory.ts'
import { startSluice } from './servers.ts'
import { slope } from './statistics.ts'

const megabyte = 1024 ** 2
const minuteMs = 60_000
const differentQuestions = 20_000
const samplesInAll = 150
/** Left out of the slope: the cache fills and code is compiled. */
const warmShare = 0.2

/** The first start creates the demo; the second one finds it. */
async function measureDemo({ settleSeconds, settings }: Setup): Promise<{ first: Memory; second: Memory }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  async function measureStart(): Promise<Memory> {
    await using sluice = await startSluice({ DATA_DIR: dataDir, DATABASE_URL: '', ...settings }, { args: ['--demo'] })
    while (!existsSync(join(dataDir, 'demo.json'))) await wait(50)
    await wait(settleSeconds * 1000)
    return readMemory(sluice.pid)
  }
  try {
    return { first: await measureStart(), second: await measureStart() }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function measureHotLoad({ stock, items, load, rounds, seconds, settings, progress }: Setup): Promise<Memory> {
  const dataset = await stock.get('sqlite', { items })
  await using sluice = await startSluice({ ...dataset.env, ...settings })
  const questions = Object.entries(await hotQuestions(sluice, dataset))
  for (let round = 1; round <= rounds; round += 1) {
    for (const [name, requests] of questions) {
      await load.run(sluice.origin, requests, seconds)
      progress(`hot load, round ${round} of ${rounds}: ${name}: ${inMegabytes(readMemory(sluice.pid).nowBytes)}`)
    }
  }
  return readMemory(sluice.pid)
}

/** The least memory, at the price of speed: one thread builds all answers, and allocates from few arenas. */
const leastMemory = { READ_THREADS: '0', MALLOC_ARENA_MAX: '2' }

/** A search is refused when it has waited ten seconds for the long reads of its group. */
const maxRefusedShare = 0.001

interface Watched {
  /** Samples of resident memory: minutes and megabytes. */
  points: Point[]
  perSecond: number
  failures: number
}

async function watch(setup: Setup, name: string, memorySettings: Record<string, string>): Promise<Watched> {
  const { stock, items, load, minutes, settings, progress } = setup
  const dataset = await stock.get('sqlite', { items })
  await using sluice = await startSluice({ ...dataset.env, ...settings, ...memorySettings })
  const points: Point[] = []
  const startMs = performance.now()
  const sample = (): void => {
    const memory = readMemory(sluice.pid)
    points.push({ x: (performance.now() - startMs) / minuteMs, y: memory.nowBytes / megabyte })
    progress(`${name}, ${points.at(-1)?.x.toFixed(1)} of ${minutes} minutes: ${inMegabytes(memory.nowBytes)}`)
  }
  const sampling = setInterval(sample, (minutes * minuteMs) / samplesInAll)
  try {
    const questions = anything(dataset, differentQuestions)
    const { perSecond, failures } = await load.run(sluice.origin, questions, minutes * 60, maxRefusedShare)
    return { points, perSecond, failures }
  } finally {
    clearInterval(sampling)
  }
}

const warmPart = ({ points }: Watched): Point[] => points.slice(Math.floor(points.length * warmShare))

/** How much memory the process uses, and whether it grows. */
export async function benchMemory(setup: Setup): Promise<Finding> {
  const demo = await measureDemo(setup)
  const hot = await measureHotLoad(setup)
  const asStarted = await watch(setup, 'random queries', {})
  const small = await watch(setup, 'random queries with the least memory', leastMemory)
  const row = (when: string, { nowBytes, mostBytes }: Memory, perSecond?: number) => [
    when,
    inMegabytes(nowBytes),
    inMegabytes(mostBytes),
    perSecond === undefined ? '' : inCount(perSecond),
  ]
  const watchedRow = (when: string, { points, perSecond }: Watched) => {
    const last = (points.at(-1)?.y ?? Number.NaN) * megabyte
    return row(when, { nowBytes: last, mostBytes: Math.max(...points.map(({ y }) => y)) * megabyte }, perSecond)
  }
  const leastInWords = Object.entries(leastMemory).map((pair) => `\`${pair.join('=')}\``).join(' and ') // biome-ignore format: short
  const rows = [
    row('after the first start, which creates the demo', demo.first),
    row('after a start that finds the demo', demo.second),
    row('after the hot load', hot),
    watchedRow(`after ${setup.minutes} minutes of random queries`, asStarted),
    watchedRow(`the same, with ${leastInWords}`, small),
  ]
  const asked = asStarted.perSecond * setup.minutes * 60
  const perMinute = [asStarted, small].map((watched) => slope(warmPart(watched)).toFixed(2))
  return {
    about: `Resident memory of the process, as Linux counts it. The hot load is that of \`npm run bench -- hot\`, without the other servers. Random queries
are ${inCount(asked)} out of ${inCount(differentQuestions)} different ones (pages of 10 to 100 items, filters, sorts, searches), far more than fit into the answer cache.
${inCount(asStarted.failures)} of these, and ${inCount(small.failures)} with the settings for less memory, were refused after waiting ten seconds for other searches.`,
    tables: `${table(['', 'resident', 'at the most', 'requests/s'], rows)}

After the first fifth of the time memory changed by ${perMinute[0]} MB a minute, and by ${perMinute[1]} MB with the settings for less memory.`,
    charts: {
      'performance-memory.svg': drawChart({
        title: 'Memory under random queries',
        x: { label: 'minutes', isLog: false, write: String },
        y: { label: 'resident megabytes', isLog: false, write: String },
        panels: [
          {
            title: '',
            lines: [
              { name: 'default', points: asStarted.points },
              { name: 'least memory', points: small.points },
            ],
          },
        ],
      }),
    },
  }
}
