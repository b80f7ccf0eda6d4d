import { join } from 'node:path'
import type { Engine } from '../src/store/engine/database.ts'
import type { Requests } from './ask.ts'
import { type Contender, describeContest, reportContest, runContest, type Scenario } from './contest.ts'
import type { Dataset } from './fill.ts'
import { takeAnswer } from './hot.ts'
import { inCount } from './markdown.ts'
import { engineNames, type Finding, type Setup } from './part.ts'
import { filteredAndSorted, headersOf, neverAlike, sitePath } from './questions.ts'
import { cacheOff, type PlainServers, startLeast, startPlain, startSluice } from './servers.ts'

const differentPages = 2000
/** More than a process keeps the order of. */
const differentListings = 15_000

interface Question {
  name: string
  hasPictures: boolean
  /** Whether the minimum cost of such a page is measured, too. */
  hasLeast?: boolean
  requests(dataset: Dataset): Requests
}

const questions: Question[] = [
  {
    name: 'page of 20, filtered and sorted, with total',
    hasPictures: false,
    hasLeast: true,
    requests: (dataset) => filteredAndSorted(dataset, differentPages),
  },
  {
    name: 'the same, but no two filtered and sorted alike',
    hasPictures: false,
    requests: (dataset) => neverAlike(dataset, differentListings),
  },
  {
    name: 'filtered and sorted, with a picture in each item',
    hasPictures: true,
    requests: (dataset) => filteredAndSorted(dataset, differentPages),
  },
  {
    name: 'siteDetails',
    hasPictures: false,
    requests: (dataset) => ({ paths: [sitePath(dataset)], headers: headersOf(dataset) }),
  },
]

/** Answers built from the database every time, against servers that send one such answer from a buffer. */
export async function benchCold(setup: Setup): Promise<Finding> {
  const { engines, stock, items, settings } = setup
  await using started = new AsyncDisposableStack()
  const least = new Map<Engine, PlainServers>()
  for (const engine of engines) {
    const { collectionId, env } = await stock.get(engine, { items })
    const database = engine === 'sqlite' ? join(env.DATA_DIR, 'databases/main.sqlite') : env.DATABASE_URL
    least.set(engine, started.use(await startLeast({ engine, database, collectionId })))
  }
  /** One process for each question, so that what one question caches does not affect another. */
  async function startFor(engine: Engine, { hasPictures, requests }: Question): Promise<Contender> {
    const dataset = await stock.get(engine, { items, hasPictures })
    const { origin } = started.use(await startSluice({ ...dataset.env, ...cacheOff, ...settings }))
    return { name: `Sluice, ${engineNames[engine]}`, origin, requests: requests(dataset) }
  }
  const asked: { name: string; model: Contender; others: Contender[] }[] = []
  for (const question of questions) {
    const sluices: Contender[] = []
    for (const engine of engines) sluices.push(await startFor(engine, question))
    const [model] = sluices
    if (!model) throw new Error('There is no engine to measure.')
    const leasts = [...(question.hasLeast ? least : [])].map(
      ([
        engine,
        {
          origins: [origin = ''],
        },
      ]): Contender => ({
        name: `node:http, reading from ${engineNames[engine]}`,
        origin,
        requests: model.requests,
      }),
    )
    asked.push({ name: question.name, model, others: [...leasts, ...sluices] })
  }
  const answers = await Promise.all(asked.map(({ model }) => takeAnswer(model, model.requests)))
  const bare = started.use(await startPlain('bare', answers))
  const fastify = started.use(await startPlain('fastify', answers))
  const scenarios = asked.map(({ name, model: { requests }, others }, at): Scenario => {
    const plain = (who: string, origin = ''): Contender => ({ name: who, origin, requests })
    return {
      name,
      contenders: [plain('node:http', bare.origins[at]), plain('Fastify', fastify.origins[at]), ...others],
    }
  })
  const outcomes = await runContest(scenarios, setup)
  return {
    about: `Answers that Sluice builds from the database (\`ANSWER_CACHE_MB=0\`) with ${inCount(items)} items of 2 KB, asked for ${inCount(differentPages)} different pages:
one of 12 categories, one of four fields to sort by in both directions, up to 20 pages deep. Besides answers a process also caches schemas, totals, signatures
and the order of listings until the next write, and it does so here, too; each row of the table has a separate process. If no two questions are alike, there are ${inCount(differentListings)} first pages of several categories
at once: more than it caches the order of. \`node:http\` and Fastify send one of these answers from a buffer.
The one that reads has the ids of its items and only reads them, assembles the answer, hashes it and sends it: the minimum cost of a page from this database in one
thread of this runtime (\`bench/least-server.ts\`). PostgreSQL runs on the same machine, and shares its cores.
${describeContest(setup)}`,
    tables: reportContest(outcomes),
  }
}
