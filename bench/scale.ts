import { writeCursor } from '../src/content/cursor.ts'
import { sortKeyOfText } from '../src/content/index-keys.ts'
import { parseListQuery } from '../src/content/list-query.ts'
import { parseSchema } from '../src/content/parse-schema.ts'
import type { Engine } from '../src/store/engine/database.ts'
import { openStore } from '../src/store/open.ts'
import { openGroup } from '../src/store/store.ts'
import { write } from '../test/helpers/authoring.ts'
import { type Client, createClient } from './ask.ts'
import { drawChart, type Line } from './chart.ts'
import { categories, postSchema, wordOfHalf } from './content.ts'
import type { Dataset } from './fill.ts'
import { inCount, inMs, inRatio, table } from './markdown.ts'
import { engineNames, type Finding, type Setup } from './part.ts'
import { headersOf, listPath } from './questions.ts'
import { type Drawing, drawing } from './random.ts'
import { cacheOff, startSluice } from './servers.ts'
import { median, shuffled } from './statistics.ts'

interface Kind {
  name: string
  path(dataset: Dataset, draw: Drawing): string
}

const page = { limit: 20 }
const oneFilter = ({ from }: Drawing) => ({ 'filters[category]': from(categories) })
const oneSort = ({ from }: Drawing) => ({ sort: from(['price:asc', 'price:desc', 'date:desc', 'title:asc']) })

const upperHalf = ({ below }: Drawing) => ({ 'filters[price][gte]': (50 + below(100) / 100).toFixed(2) })

const byPrice = { sort: 'price:asc', after: '' }
const queryByPrice = parseListQuery(parseSchema(postSchema), byPrice)

/** A cursor needs no item at its position, so none is read to make one in the middle. */
function afterMiddle({ collectionId }: Dataset, { below }: Drawing) {
  const position = { keys: [sortKeyOfText(String(45 + below(1000) / 100))], id: '0'.repeat(24) }
  return { ...byPrice, after: writeCursor([collectionId], queryByPrice, position) }
}

const pageKinds: Kind[] = [
  { name: 'plain', path: (dataset) => listPath(dataset, page) },
  { name: 'filtered', path: (dataset, draw) => listPath(dataset, { ...page, ...oneFilter(draw) }) },
  { name: 'sorted', path: (dataset, draw) => listPath(dataset, { ...page, ...oneSort(draw) }) },
  {
    name: 'filtered and sorted',
    path: (dataset, draw) => listPath(dataset, { ...page, ...oneFilter(draw), ...oneSort(draw) }),
  },
  {
    name: 'sorted, skip 1,000',
    path: (dataset, draw) => listPath(dataset, { ...page, skip: Math.min(1000, dataset.items / 2), ...oneSort(draw) }),
  },
  {
    name: 'range of half, sorted by it',
    path: (dataset, draw) => listPath(dataset, { ...page, ...upperHalf(draw), sort: 'price:asc' }),
  },
  {
    name: 'range of half, sorted by another field',
    path: (dataset, draw) => listPath(dataset, { ...page, ...upperHalf(draw), sort: 'date:desc' }),
  },
  {
    name: '`after` the middle, sorted',
    path: (dataset, draw) => listPath(dataset, { ...page, ...afterMiddle(dataset, draw) }),
  },
]

/** Requested with `limit=1`. */
const totalKinds: Kind[] = [
  { name: 'of all', path: (dataset) => listPath(dataset, { limit: 1 }) },
  { name: 'of one filter', path: (dataset, draw) => listPath(dataset, { limit: 1, ...oneFilter(draw) }) },
  {
    name: 'of three filters',
    path: (dataset, draw) =>
      listPath(dataset, {
        limit: 1,
        ...oneFilter(draw),
        'filters[rating]': 1 + draw.below(5),
        'filters[tags]': draw.from(['autumn', 'beginners', 'classic']),
      }),
  },
  {
    name: 'of a range of half, with a filter',
    path: (dataset, draw) => listPath(dataset, { limit: 1, ...upperHalf(draw), ...oneFilter(draw) }),
  },
  {
    name: 'of a search with few matches',
    path: (dataset, draw) => listPath(dataset, { limit: 1, search: `loaf ${rareDigits(dataset, draw)}` }),
  },
  {
    name: 'of a search that half of all match',
    path: (dataset) => listPath(dataset, { limit: 1, search: wordOfHalf }),
  },
]

/** All but the last digit of a post's number: between ten posts and a few dozens have them. */
const rareDigits = ({ items }: Dataset, { below }: Drawing): string => String(items - 1 - below(items / 2)).slice(0, -1)

const hotKind: Kind = { name: 'plain, cached', path: (dataset) => listPath(dataset, page) }
/** Slow questions are asked less often. */
const mostMsPerKind = 20_000
const fewestSamples = 3
const mostWarmUps = 50

/** Milliseconds by kind; infinite where the server gave up (503). */
type Latencies = Map<string, number>

async function measure(
  kinds: readonly Kind[],
  {
    client,
    origin,
    dataset,
    samples,
    before,
  }: {
    client: Client
    origin: string
    dataset: Dataset
    samples: number
    /** Runs before each question, outside the measurement. */
    before(): Promise<void>
  },
): Promise<Latencies> {
  const draw = drawing('scale')
  const measured = new Map(kinds.map(({ name }) => [name, [] as number[]]))
  for (let sample = 0; sample < samples; sample += 1) {
    for (const { name, path } of shuffled(kinds)) {
      const known = measured.get(name) ?? []
      const spentMs = known.reduce((sum, ms) => sum + ms, 0)
      if (known.length >= fewestSamples && spentMs > mostMsPerKind) continue
      await before()
      const { status, ms, body } = await client.ask(origin, { path: path(dataset, draw), headers: headersOf(dataset) })
      if (status !== 200 && status !== 503) throw new Error(`"${name}" was answered with ${status}: ${body}`)
      known.push(status === 200 ? ms : Number.POSITIVE_INFINITY)
    }
  }
  return new Map([...measured].map(([name, ms]) => [name, median(ms)]))
}

/** Increments the revision like any write, without changing content. */
async function openToucher({ env, groupId, database }: Dataset) {
  const onConnectionError = (error: Error): void => console.error(error)
  const databaseUrl = env.DATABASE_URL || undefined
  const store = await openStore({ dataDir: env.DATA_DIR, databaseUrl, clock: Date.now, onConnectionError })
  const group = await openGroup(store, { database, groupID: groupId })
  return {
    touch: () => write(group, Date.now(), async (writer) => writer.bumpRevision()),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

interface Growth {
  items: number
  /** Each after a write: nothing is cached. */
  pages: Latencies
  totals: Latencies
  /** Without writes. */
  pagesAgain: Latencies
}

async function measureSize(dataset: Dataset, samples: number): Promise<Growth> {
  using client = createClient()
  await using cold = await startSluice({ ...dataset.env, ...cacheOff })
  await using hot = await startSluice({ ...dataset.env })
  await using toucher = await openToucher(dataset)
  const quiet = { client, origin: cold.origin, dataset, samples, before: async () => {} }
  const cached = { ...quiet, origin: hot.origin }
  await measure(pageKinds, { ...quiet, samples: Math.min(samples, mostWarmUps) })
  await measure([hotKind], { ...cached, samples: Math.min(samples, mostWarmUps) })
  const again = await measure(pageKinds, quiet)
  const hotAgain = await measure([hotKind], cached)
  const written = { ...quiet, before: toucher.touch }
  return {
    items: dataset.items,
    pages: await measure(pageKinds, written),
    totals: await measure(totalKinds, written),
    pagesAgain: new Map([...again, ...hotAgain]),
  }
}

const writeMs = (ms: number): string => (Number.isFinite(ms) ? inMs(ms) : 'given up (503)')
const writeSize = (items: number): string =>
  items >= 1_000_000 ? `${items / 1_000_000} M` : items >= 1000 ? `${items / 1000} k` : String(items)

/** Growth is relative to ten thousand items, which fit into every cache, or to the smallest size measured. */
const baseItems = 10_000

function tableOf(title: string, growths: readonly Growth[], pick: (growth: Growth) => Latencies): string {
  const base = growths.find(({ items }) => items === baseItems) ?? growths[0]
  const last = growths.at(-1)
  if (!base || !last) return ''
  const head = [
    title,
    ...growths.map(({ items }) => inCount(items)),
    `${writeSize(last.items)} / ${writeSize(base.items)}`,
  ]
  const rows = [...pick(last).keys()].map((name) => {
    const of = (growth: Growth): number => pick(growth).get(name) ?? Number.NaN
    const ratio = of(last) / of(base)
    return [
      name,
      ...growths.map((growth) => writeMs(of(growth))),
      Number.isFinite(ratio) ? `**${inRatio(ratio)}**` : '',
    ]
  })
  return table(head, rows)
}

function linesOf(growths: readonly Growth[], pick: (growth: Growth) => Latencies): Line[] {
  const names = [...(growths[0] ? pick(growths[0]) : new Map<string, number>()).keys()]
  return names.map((name) => ({
    name,
    points: growths
      .map((growth) => ({ x: growth.items, y: pick(growth).get(name) ?? Number.NaN }))
      .filter(({ y }) => Number.isFinite(y)),
  }))
}

const drawGrowth = (engine: Engine, growths: readonly Growth[]): string =>
  drawChart({
    title: `Latency against size: ${engineNames[engine]}`,
    x: { label: 'items in the collection', isLog: true, write: writeSize },
    y: { label: 'milliseconds', isLog: true, write: String },
    panels: [
      { title: 'a page of 20, after a write', lines: linesOf(growths, ({ pages }) => pages) },
      { title: 'a total, after a write', lines: linesOf(growths, ({ totals }) => totals) },
    ],
  })

/** How latency changes while one collection grows. */
export async function benchScale({ engines, sizes, samples, stock, progress }: Setup): Promise<Finding> {
  const tables: string[] = []
  const charts: Record<string, string> = {}
  for (const engine of engines) {
    const growths: Growth[] = []
    for (const items of sizes) {
      const dataset = await stock.get(engine, { items })
      progress(`measuring ${engine} with ${inCount(items)} items`)
      growths.push(await measureSize(dataset, samples))
    }
    const pages = tableOf('a page of 20, after a write', growths, (growth) => growth.pages)
    const again = tableOf('a page of 20, without writes', growths, (growth) => growth.pagesAgain)
    const totals = tableOf('a total, after a write', growths, (growth) => growth.totals)
    tables.push(`### ${engineNames[engine]}\n\n${pages}\n\n${totals}\n\n${again}`)
    charts[`performance-scale-${engine}.svg`] = drawGrowth(engine, growths)
  }
  return {
    about: `One collection that grows, asked over one connection, one request after the other: the median of up to ${samples} requests for each kind,
in random order, with the answer cache off (\`ANSWER_CACHE_MB=0\`) except for the last row. After a write means that something is written
to the group before each request, so that nothing of it is cached: such a request also reads the collection's schema and its total. For totals
one item is requested, so the figure includes the cost of a page of one. Without writes, a process caches schemas, totals and the order of
listings. Slow questions are asked less often, until ${mostMsPerKind / 1000} s are spent on it.`,
    tables: tables.join('\n\n'),
    charts,
  }
}
