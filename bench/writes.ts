import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, type Client, createClient, type Question } from './ask.ts'
import { makeReview } from './content.ts'
import type { Dataset, FilledGroup } from './fill.ts'
import { connections } from './load.ts'
import { inCount, inMs, table } from './markdown.ts'
import { engineNames, type Finding, type Setup } from './part.ts'
import { filteredAndSorted, headersOf, listPath } from './questions.ts'
import { cacheOff, startSluice } from './servers.ts'
import { quantile } from './statistics.ts'

const submissionsPerSecond = 200
const readsPerSecond = 100
const maxConnections = 256
const differentPages = 2000
/** A new process is slow until the JIT compiler has optimised the hot code. */
const warmUpSeconds = 10

/** Latencies of the answers, and how many requests an overloaded server refused with 503. */
export interface Latencies {
  ms: number[]
  refused: number
}

/** Sends at a steady pace without waiting for answers. Undefined stands for a refused request. */
export async function sendSteadily(
  perSecond: number,
  seconds: number,
  send: (number: number) => Promise<number | undefined>,
): Promise<Latencies> {
  const startMs = performance.now()
  const sent: Promise<number | undefined>[] = []
  while (sent.length < perSecond * seconds) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startMs) / 1000) * perSecond)
    while (sent.length < due) {
      const answered = send(sent.length)
      answered.catch(() => {}) // Promise.all reports it below
      sent.push(answered)
    }
    await wait(1)
  }
  const ms = (await Promise.all(sent)).filter((answered) => answered !== undefined)
  return { ms, refused: sent.length - ms.length }
}

export interface Reader {
  name: string
  path(number: number): string
  headers: Record<string, string>
}

export function pageReader(name: string, group: FilledGroup): Reader {
  const path = listPath(group, { limit: 20 })
  return { name, path: () => path, headers: headersOf(group) }
}

export function coldReader(dataset: Dataset): Reader {
  const { paths, headers } = filteredAndSorted(dataset, differentPages)
  return {
    name: 'built from the database, filtered and sorted',
    path: (number) => paths[number % paths.length] ?? '/',
    headers,
  }
}

/** Reads and submissions of visitors, counted. */
function createVisitors({ readers, writers }: Record<'readers' | 'writers', Client>, dataset: Dataset) {
  let stored = 0
  let asked = 0
  async function ask(
    client: Client,
    origin: string,
    question: Question,
    expected: number,
  ): Promise<Answer | undefined> {
    const answer = await client.ask(origin, question)
    if (answer.status === expected) return answer
    if (answer.status === 503) return undefined
    throw new Error(`${question.path} was answered with ${answer.status}: ${answer.body}`)
  }
  async function submit(origin: string): Promise<number | undefined> {
    asked += 1
    const content = { collectionId: dataset.reviewsId, type: 'createReview', objectValue: makeReview(asked) }
    const question = { path: '/tenant/definedCollectionObject', headers: headersOf(dataset), content }
    const answer = await ask(writers, origin, question, 201)
    if (answer) stored += 1
    return answer?.ms
  }
  return {
    read: (origin: string, { path, headers }: Reader, seconds: number) =>
      sendSteadily(readsPerSecond, seconds, async (number) => {
        const answer = await ask(readers, origin, { path: path(number), headers }, 200)
        return answer?.ms
      }),
    submitSteadily: (origin: string, seconds: number) =>
      sendSteadily(submissionsPerSecond, seconds, () => submit(origin)),
    /** Acknowledged submissions per second. */
    async submitAtMost(origin: string, seconds: number): Promise<number> {
      const [startMs, before] = [performance.now(), stored]
      const submitAll = async (): Promise<void> => {
        while (performance.now() - startMs < seconds * 1000) await submit(origin)
      }
      await Promise.all(Array.from({ length: connections }, submitAll))
      return (stored - before) / ((performance.now() - startMs) / 1000)
    },
    /** Every acknowledged submission must be stored; a refused one may be. */
    async checkStored(origin: string): Promise<void> {
      const path = listPath({ collectionId: dataset.reviewsId }, { limit: 1 })
      const answer = await ask(readers, origin, { path, headers: headersOf(dataset) }, 200)
      const { totalCount } = JSON.parse(String(answer?.body)).data as { totalCount: number }
      if (totalCount < stored || totalCount > asked)
        throw new Error(`Of ${asked} submissions ${stored} were acknowledged, and ${totalCount} are there.`)
    },
  }
}

export function figures({ ms, refused }: Latencies): string[] {
  const worst = inMs(Math.max(...ms))
  return [inMs(quantile(ms, 0.5)), inMs(quantile(ms, 0.99)), refused === 0 ? worst : `${worst}, ${refused} refused`]
}

interface Measured {
  /** One for each kind of read: alone and among submissions. */
  rows: string[][]
  submissions: string[]
  mostPerSecond: number
}

async function measureDataset(
  dataset: Dataset,
  { seconds, settings, progress }: Pick<Setup, 'seconds' | 'settings' | 'progress'>,
): Promise<Measured> {
  // Separate connections, so that a read never waits in the client for a submission.
  using readers = createClient(maxConnections)
  using writers = createClient(maxConnections)
  const visitors = createVisitors({ readers, writers }, dataset)
  await using caching = await startSluice({ ...dataset.env, ...settings })
  await using forgetful = await startSluice({ ...dataset.env, ...cacheOff, ...settings })
  const cases: { origin: string; reader: Reader }[] = [
    { origin: caching.origin, reader: pageReader('cached, of another group', dataset.neighbour) },
    { origin: caching.origin, reader: pageReader('cached, of the group that is written to', dataset) },
    { origin: forgetful.origin, reader: coldReader(dataset) },
  ]
  const rows: string[][] = []
  const submissions: Latencies = { ms: [], refused: 0 }
  for (const { origin, reader } of cases) {
    progress(`reading ${reader.name}`)
    const readAmongSubmissions = (forSeconds: number) =>
      Promise.all([visitors.read(origin, reader, forSeconds), visitors.submitSteadily(origin, forSeconds)])
    await readAmongSubmissions(Math.min(warmUpSeconds, seconds))
    const alone = await visitors.read(origin, reader, seconds)
    const [among, submitted] = await readAmongSubmissions(seconds)
    submissions.ms.push(...submitted.ms)
    submissions.refused += submitted.refused
    rows.push([reader.name, ...figures(alone), ...figures(among)])
  }
  progress('submitting as often as possible')
  const mostPerSecond = await visitors.submitAtMost(caching.origin, seconds)
  await visitors.checkStored(caching.origin)
  return { rows, submissions: figures(submissions), mostPerSecond }
}

/** How submissions delay reads. */
export async function benchWrites({
  engines,
  items,
  rounds,
  seconds,
  stock,
  settings,
  progress,
}: Setup): Promise<Finding> {
  const tables: string[] = []
  const duration = rounds * seconds
  for (const engine of engines) {
    await using dataset = await stock.createTemporary(engine, { items })
    const { rows, submissions, mostPerSecond } = await measureDataset(dataset, {
      seconds: duration,
      settings,
      progress,
    })
    const head = ['a page of 20', ...['alone', 'among submissions'].flatMap((when) => [`${when}: p50`, 'p99', 'most'])]
    const own = table(['submissions', 'p50', 'p99', 'most'], [[`${submissionsPerSecond} a second`, ...submissions]])
    tables.push(`### ${engineNames[engine]}

${table(head, rows)}

${own}

Over ${connections} connections, as many as possible: ${inCount(mostPerSecond)} submissions a second, each on the disk before it was acknowledged.`)
  }
  return {
    about: `Latency of ${readsPerSecond} reads a second from ${inCount(items)} items of 2 KB, for ${duration} s alone and as long while ${submissionsPerSecond} submissions a second
(\`POST /tenant/definedCollectionObject\`) are posted to the same process. A submission gives its group a new revision, so an answer of that group is cached only until the next one;
those of other groups stay. Before, there are ${warmUpSeconds} s of both to warm up. Requests are sent at their time, whether earlier ones were answered or not. Client, server and database share the
machine, and its disk does the syncing: the greatest figures are as much its own as ours.`,
    tables: tables.join('\n\n'),
  }
}
