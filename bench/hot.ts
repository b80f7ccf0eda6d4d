import { createClient, type Requests } from './ask.ts'
import { describeContest, reportContest, runContest, type Scenario } from './contest.ts'
import type { Dataset } from './fill.ts'
import { inMegabytes } from './markdown.ts'
import type { Finding, Setup } from './part.ts'
import type { PlainAnswer } from './plain-server.ts'
import { headersOf, listPath, sitePath } from './questions.ts'
import { readMemory } from './read-memory.ts'
import { type Server, startPlain, startSluice } from './servers.ts'

/** The headers that a plain server copies from Sluice's answer. */
const kept = ['content-type', 'content-encoding']

/** Fetches the answer of Sluice that the plain servers repeat. */
export async function takeAnswer(
  sluice: Pick<Server, 'origin'>,
  { paths: [path = '/'], headers }: Requests,
): Promise<PlainAnswer> {
  using client = createClient()
  const { status, headers: sent, body } = await client.ask(sluice.origin, { path, headers })
  const expected = headers['if-none-match'] === undefined ? 200 : 304
  if (status !== expected) throw new Error(`${path} was answered with ${status} instead of ${expected}: ${body}`)
  const named = kept.flatMap((name) => (typeof sent[name] === 'string' ? [[name, sent[name]]] : []))
  return { status, headers: Object.fromEntries(named), body }
}

/** The requests of the hot load, by name. */
export async function hotQuestions(sluice: Server, dataset: Dataset): Promise<Record<string, Requests>> {
  const headers = headersOf(dataset)
  const page = (limit: number, more: Record<string, string> = {}) => ({
    paths: [listPath(dataset, { limit })],
    headers: { ...headers, ...more },
  })
  using client = createClient()
  const { headers: sent } = await client.ask(sluice.origin, { path: listPath(dataset, { limit: 20 }), headers })
  return {
    'page of 20': page(20),
    'page of 100': page(100),
    'page of 20, 304': page(20, { 'if-none-match': String(sent.etag) }),
    'page of 20, gzip': page(20, { 'accept-encoding': 'gzip' }),
    siteDetails: { paths: [sitePath(dataset)], headers },
  }
}

/** Cached answers, against servers that do nothing but send the same bytes. */
export async function benchHot(setup: Setup): Promise<Finding> {
  const dataset = await setup.stock.get('sqlite', { items: setup.items })
  await using sluice = await startSluice({ ...dataset.env })
  const questions = Object.entries(await hotQuestions(sluice, dataset))
  const answers = await Promise.all(questions.map(([, requests]) => takeAnswer(sluice, requests)))
  await using bare = await startPlain('bare', answers)
  await using fastify = await startPlain('fastify', answers)
  const scenarios = questions.map(([name, requests], at): Scenario => {
    const contender = (who: string, origin = '') => ({ name: who, origin, requests })
    return {
      name,
      contenders: [
        contender('node:http', bare.origins[at]),
        contender('Fastify', fastify.origins[at]),
        contender('Sluice', sluice.origin),
      ],
    }
  })
  const before = readMemory(sluice.pid)
  const outcomes = await runContest(scenarios, setup)
  const after = readMemory(sluice.pid)
  return {
    about: `Answers that Sluice has cached, on SQLite with ${setup.items.toLocaleString('en')} items of 2 KB: with authorization, rate limit, request id and a log line for each
request. \`node:http\` and Fastify send the same bytes from a buffer and do nothing else; to a conditional request they send an empty 304.
${describeContest(setup)}`,
    tables: `${reportContest(outcomes)}\n\nSluice had ${inMegabytes(before.nowBytes)} of memory before, ${inMegabytes(after.nowBytes)} afterwards and ${inMegabytes(after.mostBytes)} at the most.`,
  }
}
