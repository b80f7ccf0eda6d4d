import { createClient, type Requests } from './ask.ts'
import { describeContest, reportContest, runContest, type Scenario } from './contest.ts'
import type { Place } from './fill.ts'
import { inMegabytes } from './markdown.ts'
import type { Finding, Setup } from './part.ts'
import type { PlainAnswer } from './plain-server.ts'
import { headersOf, listPath, sitePath } from './questions.ts'
import { readMemory } from './read-memory.ts'
import { type Server, startPlain, startSluice } from './servers.ts'

/** Headers of Sluice's answer that a plain server needs to send the same content. */
const kept = ['content-type', 'content-encoding']

/** Takes the bytes that plain servers are to answer with from Sluice's own answer. */
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

/** What is asked for again and again. */
export async function hotQuestions(sluice: Server, place: Place): Promise<Record<string, Requests>> {
  const headers = headersOf(place)
  const page = (limit: number, more: Record<string, string> = {}) => ({
    paths: [listPath(place, { limit })],
    headers: { ...headers, ...more },
  })
  using client = createClient()
  const { headers: sent } = await client.ask(sluice.origin, { path: listPath(place, { limit: 20 }), headers })
  return {
    'page of 20': page(20),
    'page of 100': page(100),
    'page of 20, 304': page(20, { 'if-none-match': String(sent.etag) }),
    'page of 20, gzip': page(20, { 'accept-encoding': 'gzip' }),
    siteDetails: { paths: [sitePath(place)], headers },
  }
}

/** Answers that are at hand, against servers that have nothing to do but to send the same bytes. */
export async function benchHot(setup: Setup): Promise<Finding> {
  const place = await setup.stock.have('sqlite', { items: setup.items })
  await using sluice = await startSluice({ ...place.env })
  const questions = Object.entries(await hotQuestions(sluice, place))
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
    about: `Answers that Sluice has at hand, on SQLite with ${setup.items.toLocaleString('en')} items of 2 KB: with authorization, rate limit, request id and a log line for each
request. \`node:http\` and Fastify send the same bytes from a buffer and do nothing else; to a conditional request they send an empty 304.
${describeContest(setup)}`,
    tables: `${reportContest(outcomes)}\n\nSluice had ${inMegabytes(before.nowBytes)} of memory before, ${inMegabytes(after.nowBytes)} afterwards and ${inMegabytes(after.mostBytes)} at the most.`,
  }
}
