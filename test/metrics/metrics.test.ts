import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { families } from '../../src/metrics/families.ts'
import { createMetrics, type Metrics } from '../../src/metrics/metrics.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import type { Store } from '../../src/store/store.ts'
import { write } from '../helpers/authoring.ts'
import { type Harness, harness, onBothEngines } from '../helpers/harness.ts'
import { type ParsedFamily, parseMetrics, readValue } from '../helpers/prometheus.ts'

const token = 'a-token-for-tests-0123456789'
const env = { METRICS_TOKEN: token }

async function scrape({ app }: Harness): Promise<Map<string, ParsedFamily>> {
  const answer = await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${token}` } })
  assert.equal(answer.statusCode, 200, answer.body)
  return parseMetrics(answer.body)
}

const seriesIn = (metrics: Map<string, ParsedFamily>): string[] =>
  [...metrics.values()].flatMap(({ samples }) => samples.map(({ name, labels }) => name + JSON.stringify(labels)))

onBothEngines('GET /metrics', (engine) => {
  it('exposes every metric family of the engine with its type, and none of the other engine', async () => {
    const running = await harness(engine, { env })
    const group = await running.newGroup()
    await group.get('/tenant/siteDetails')
    await write(group.store, running.clock.now, (writer) => insertJob(writer, { kind: 'x', payload: {} }))
    const found = await scrape(running)
    const expected = Object.values(families).filter(
      ({ name }) => engine === 'postgres' || !/database_(connections|waiting)$/.test(name),
    )
    assert.deepEqual(
      [...found].map(([name, { type, help }]) => ({ name, type, help })),
      expected.map(({ name, type, about }) => ({ name, type, help: about })),
    )
    for (const { name, labels } of expected) {
      const own = found.get(name)?.samples ?? []
      const used = new Set(own.flatMap((sample) => Object.keys(sample.labels)))
      used.delete('le')
      assert.deepEqual([...used], labels, name)
    }
    const [build] = found.get('sluice_build_info')?.samples ?? []
    assert.equal(build?.labels.engine, engine)
  })

  it('counts each request once by route and status, and once by tier', async () => {
    const running = await harness(engine, { env })
    const group = await running.newGroup({ tier: 'pro' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const before = await scrape(running)
    const list = `/tenant/collectionObjects?collectionId=${posts.id}`
    for (let round = 0; round < 5; round += 1) assert.equal((await group.get(list)).statusCode, 200)
    const { etag } = (await group.get(list)).headers
    for (let round = 0; round < 3; round += 1)
      assert.equal((await group.get(list, { 'if-none-match': String(etag) })).statusCode, 304)
    assert.equal((await group.get(`${list}&limit=0`)).statusCode, 400)
    assert.equal((await group.get(list, { authorization: 'wrong' })).statusCode, 401)
    for (let round = 0; round < 4; round += 1) await group.get(`/nowhere/${round}`)
    const after = await scrape(running)
    const growth = (name: string, labels: Record<string, string>): number =>
      (readValue(after, name, labels) ?? 0) - (readValue(before, name, labels) ?? 0)
    const route = '/tenant/collectionObjects'
    const byStatus = ['200', '304', '400', '401'].map((status) =>
      growth('sluice_http_requests_total', { route, status }),
    )
    assert.deepEqual(byStatus, [6, 3, 1, 1])
    assert.equal(growth('sluice_http_request_duration_seconds_count', { route }), 11)
    assert.equal(growth('sluice_http_request_duration_seconds_bucket', { route, le: '+Inf' }), 11)
    assert.ok(growth('sluice_http_request_duration_seconds_sum', { route }) > 0)
    assert.equal(growth('sluice_http_requests_total', { route: 'none', status: '404' }), 4)
    assert.equal(growth('sluice_requests_by_tier_total', { tier: 'pro' }), 10)
    assert.equal(growth('sluice_requests_by_tier_total', { tier: 'free' }), 0)
  })

  it('has no additional series after 1,000 random URLs, methods, keys and many groups', async () => {
    const running = await harness(engine, { env })
    const groups = await Promise.all(Array.from({ length: 10 }, (_, index) => running.newGroup({ name: `g${index}` })))
    const ask = (method: 'GET' | 'POST' | 'DELETE', url: string, key: string) =>
      running.app.inject({ method, url, headers: { authorization: key } })
    for (const method of ['GET', 'POST', 'DELETE'] as const) await ask(method, '/x', 'wrong') // so that every status has a series
    await ask('GET', '/tenant/siteDetails', 'wrong')
    await ask('GET', '/tenant/siteDetails', groups[0]?.key ?? '')
    await ask('GET', '/media/x', 'wrong')
    await ask('GET', '/%', 'wrong')
    await scrape(running)
    const before = seriesIn(await scrape(running))
    // `..` would lead out of /zz, to a route.
    const part = fc.webSegment({ size: 'small' }).filter((text) => !/^\.{1,2}$/.test(decodeURIComponent(text)))
    const urls = fc.sample(fc.array(part, { minLength: 1, maxLength: 4 }), 1000)
    for (const [index, parts] of urls.entries()) {
      const method = (['GET', 'POST', 'DELETE'] as const)[index % 3] ?? 'GET'
      await ask(method, `/zz${parts.join('/')}?x=${index}`, `slc_live_${index}`)
      if (index % 10 === 0) await ask('GET', `/tenant/siteDetails?x=${index}`, groups[(index / 10) % 10]?.key ?? '')
    }
    const after = seriesIn(await scrape(running))
    assert.deepEqual(after, before)
    const text = JSON.stringify(after)
    for (const { group, key } of groups) assert.ok(!text.includes(group.id) && !text.includes(key))
  })

  it('counts the jobs and e-mails of all databases by kind and state, with queries at most every 10 seconds', async () => {
    const running = await harness(engine, { env })
    for (const database of ['main', 'other']) {
      const { store } = await running.newGroup({ database })
      await write(store, running.clock.now, async (writer) => {
        for (const kind of ['bake', 'bake', 'sweep', 'rest']) await insertJob(writer, { kind, payload: {} })
        await writer.db.updateTable('jobs').set({ state: 'done', due_ms: null }).where('kind', '=', 'rest').execute()
        await writer.db.updateTable('jobs').set({ state: 'failed', due_ms: null }).where('kind', '=', 'sweep').execute()
      })
    }
    const jobs = (found: Map<string, ParsedFamily>, kind: string) =>
      ['waiting', 'running', 'failed', 'cancelled'].map((state) => readValue(found, 'sluice_jobs', { kind, state }))
    const first = await scrape(running)
    assert.deepEqual(jobs(first, 'bake'), [4, 0, 0, 0])
    assert.deepEqual(jobs(first, 'sweep'), [0, 0, 2, 0])
    assert.equal(readValue(first, 'sluice_jobs', { kind: 'rest', state: 'done' }), undefined)
    assert.equal(readValue(first, 'sluice_mail_messages', { state: 'waiting' }), 0)
    assert.deepEqual([readValue(first, 'sluice_databases'), readValue(first, 'sluice_up_databases')], [3, 3])

    const content = await running.service.store.content('main')
    await content.write((db) => db.deleteFrom('jobs').execute())
    running.clock.now += 9_999
    assert.deepEqual(jobs(await scrape(running), 'bake'), [4, 0, 0, 0])
    running.clock.now += 1
    assert.deepEqual(jobs(await scrape(running), 'bake'), [2, 0, 0, 0])
  })

  it('reports the use of database connections', async () => {
    const running = await harness(engine, { env })
    const found = await scrape(running)
    const idle = readValue(found, 'sluice_database_connections', { state: 'idle' })
    if (engine === 'sqlite') assert.equal(idle, undefined)
    else {
      assert.ok(idle !== undefined && idle >= 1)
      assert.equal(readValue(found, 'sluice_database_waiting'), 0)
    }
  })
})

/** Metrics of a service with a modified store. */
async function metricsOf(change: (store: Store) => Partial<Store>): Promise<{ metrics: Metrics; running: Harness }> {
  const running = await harness('sqlite')
  await running.newGroup({ database: 'main' })
  await running.newGroup({ database: 'other' })
  const { store } = running.service
  const cacheCounts = { hits: 7, misses: 5, joined: 3, evictions: 2, bytes: 1024, entries: 4 }
  const clock = () => running.clock.now
  const metrics = createMetrics({
    store: { ...store, ...change(store) },
    clock,
    cacheCounts,
    unsentCounts: { bytes: 0, cut: 0 },
    stalls: { read: () => [] },
    isServed: false,
  })
  return { metrics, running }
}

describe('A scrape', () => {
  it('reports that a database is unreachable, and all other metrics', async () => {
    let isUnreachable = true
    const { metrics, running } = await metricsOf((store) => ({
      content: (name) =>
        name === 'other' && isUnreachable ? Promise.reject(new Error('unreachable')) : store.content(name),
    }))
    const unreachable = parseMetrics(await metrics.text())
    assert.deepEqual(
      [readValue(unreachable, 'sluice_databases'), readValue(unreachable, 'sluice_up_databases')],
      [3, 2],
    )
    assert.equal(readValue(unreachable, 'sluice_answer_cache_hits_total'), 7)
    isUnreachable = false
    running.clock.now += 10_000
    assert.equal(readValue(parseMetrics(await metrics.text()), 'sluice_up_databases'), 3)
  })

  it('stops waiting for a database that does not answer', async (t) => {
    const waiting = setInterval(() => {}, 1000) // keeps the process alive
    t.after(() => clearInterval(waiting))
    const { metrics } = await metricsOf((store) => ({
      content: (name) => (name === 'other' ? new Promise(() => {}) : store.content(name)),
    }))
    const found = parseMetrics(await metrics.text())
    assert.equal(readValue(found, 'sluice_up_databases'), 2)
    assert.ok(found.has('process_resident_memory_bytes'))
  })

  it('queries no content database when the control database is unreachable', async () => {
    let asked = 0
    const { metrics } = await metricsOf(({ control, content }) => ({
      control: { ...control, read: control.read.withSchema('nowhere') },
      content: (name) => {
        asked += 1
        return content(name)
      },
    }))
    const found = parseMetrics(await metrics.text())
    assert.deepEqual([readValue(found, 'sluice_databases'), readValue(found, 'sluice_up_databases')], [1, 0])
    assert.equal(asked, 0)
  })

  it('is shared by concurrent requests', async () => {
    let asked = 0
    const { metrics, running } = await metricsOf(({ content }) => ({
      content: (name) => {
        asked += 1
        return content(name)
      },
    }))
    const texts = await Promise.all(Array.from({ length: 100 }, () => metrics.text()))
    assert.equal(new Set(texts).size, 1)
    assert.equal(asked, 2)
    running.clock.now -= 60_000 // a clock that was set back must not stop the counting
    await metrics.text()
    assert.equal(asked, 4)
  })

  it('reports the counters of the answer cache', async () => {
    const { metrics } = await metricsOf(() => ({}))
    const found = parseMetrics(await metrics.text())
    const counts = ['hits_total', 'misses_total', 'joined_total', 'evictions_total', 'bytes', 'entries']
    assert.deepEqual(
      counts.map((name) => readValue(found, `sluice_answer_cache_${name}`)),
      [7, 5, 3, 2, 1024, 4],
    )
  })
})
