import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { createClient } from '../bench/ask.ts'
import { benchAutosaves } from '../bench/autosaves.ts'
import { drawChart } from '../bench/chart.ts'
import { benchCold } from '../bench/cold.ts'
import { makePost, makePosts } from '../bench/content.ts'
import { benchHot, takeAnswer } from '../bench/hot.ts'
import { findWrk, ownLoad } from '../bench/load.ts'
import { benchMemory } from '../bench/memory.ts'
import { engineNames, type Finding, type Setup } from '../bench/part.ts'
import { headersOf, listPath } from '../bench/questions.ts'
import { benchScale } from '../bench/scale.ts'
import { startPlain } from '../bench/servers.ts'
import { benchStart } from '../bench/start.ts'
import { slope } from '../bench/statistics.ts'
import { openStock } from '../bench/stock.ts'
import { writeFinding } from '../bench/write-finding.ts'
import { benchWrites } from '../bench/writes.ts'
import { readConfig } from '../src/config/config.ts'
import { createService } from '../src/service.ts'
import { engines as allEngines, closeAfter } from './helpers/harness.ts'

/** Runs each part of the bench at its smallest size. The figures mean nothing; the tests hold that it works. */
const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const items = 40
/** `npm run prove -- bench` measures everything on both engines. */
const engines = process.env.BENCH === 'full' ? allEngines : allEngines.slice(0, 1)

function createSetup(): Setup {
  const postgresUrl = process.env.TEST_POSTGRES_URL
  assert.ok(postgresUrl, 'TEST_POSTGRES_URL is not set: run the tests with "npm test", which starts a PostgreSQL.')
  const progress = (): void => {}
  return {
    load: ownLoad,
    stock: openStock({ folder, postgresUrl, progress }),
    engines,
    rounds: 1,
    seconds: 0.02, // each connection sends at least one request
    items,
    sizes: [items],
    samples: 2,
    startItems: items,
    minutes: 0.01,
    settleSeconds: 0,
    settings: { JOB_WORKERS: '0', READ_THREADS: '0' }, // threads, and the derivatives of the demo, take long to make
    progress,
  }
}

/** The cells of each row of a part's tables. */
function rowsOf({ tables }: Finding): string[][] {
  const lines = tables.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  return lines.map((line) => line.slice(2, -2).split(' | '))
}

function assertMeasured(finding: Finding): void {
  assert.ok(rowsOf(finding).length > 1)
  assert.doesNotMatch(`${finding.about}${finding.tables}`, /NaN|Infinity|undefined|null/)
}

describe('npm run bench', () => {
  const setup = createSetup()
  after(() => setup.stock[Symbol.asyncDispose]())

  it('makes the plain servers answer with the same bytes as Sluice', async () => {
    const dataset = await setup.stock.get('sqlite', { items })
    const service = await createService(readConfig({ ...dataset.env, PORT: '0', LOG_LEVEL: 'silent' }))
    closeAfter(service)
    const sluice = { origin: (await service.listen()).baseUrl }
    using client = createClient()
    const path = listPath(dataset, { limit: 20 })
    const taken = await takeAnswer(sluice, { paths: [path], headers: headersOf(dataset) })
    assert.equal(JSON.parse(taken.body.toString()).data.totalCount, items)
    for (const kind of ['bare', 'fastify'] as const) {
      await using plain = await startPlain(kind, [taken, { status: 304, headers: {}, body: Buffer.alloc(0) }])
      const [page, unchanged] = await Promise.all(plain.origins.map((origin) => client.ask(origin, { path })))
      assert.deepEqual(page?.body, taken.body)
      assert.equal(page?.headers['content-type'], 'application/json; charset=utf-8')
      assert.deepEqual([unchanged?.status, unchanged?.body.length], [304, 0])
    }
  })

  it('compares cached answers with node:http and Fastify', async () => {
    const finding = await benchHot(setup)
    assertMeasured(finding)
    const servers = rowsOf(finding).map(([, server]) => server)
    assert.equal(servers.filter((server) => server === 'Sluice').length, 5)
    assert.equal(servers.filter((server) => server === 'node:http').length, 5)
  })

  it('measures answers built from the database', async () => {
    const finding = await benchCold(setup)
    assertMeasured(finding)
    for (const engine of engines)
      assert.equal(rowsOf(finding).filter(([, server]) => server === `Sluice, ${engineNames[engine]}`).length, 4)
  })

  it('draws how latency grows with content', async () => {
    const finding = await benchScale(setup)
    assertMeasured(finding)
    const chart = finding.charts?.['performance-scale-sqlite.svg'] ?? ''
    for (const name of ['filtered and sorted', 'of one filter']) {
      assert.ok(rowsOf(finding).some(([first]) => first === name))
      assert.ok(chart.includes(`>${name}<`), name)
    }
  })

  it('measures the time from start to the first correct answer', async () => {
    const finding = await benchStart(setup)
    assertMeasured(finding)
    const names = rowsOf(finding).map(([name]) => name)
    assert.deepEqual(names.slice(1), engines.map((engine) => engineNames[engine])) // biome-ignore format: one line
  })

  it('measures reads during submissions, and finds every acknowledged submission', async () => {
    const finding = await benchWrites(setup)
    assertMeasured(finding)
    assert.match(finding.tables, /submissions a second, each on the disk/)
  })

  it('compares reads alone and among autosaves, which change no answer', async () => {
    assertMeasured(await benchAutosaves(setup))
  })

  it('records memory over time', async () => {
    const finding = await benchMemory(setup)
    assertMeasured(finding)
    assert.match(finding.charts?.['performance-memory.svg'] ?? '', /<polyline points="\d/)
  })

  it('fills a database once and reuses it', async () => {
    const first = await setup.stock.get('sqlite', { items })
    assert.deepEqual(await setup.stock.get('sqlite', { items }), first)
  })

  it('lists the parts when an unknown one is requested', () => {
    const run = join(import.meta.dirname, '../bench/run.ts')
    const { status, stderr } = spawnSync(process.execPath, [run, 'everything'], { encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /There is no part "everything"[\s\S]*Parts: hot, cold, scale/)
  })

  it('sends the same requests with wrk as with its own client', {
    skip: findWrk() ? false : 'wrk is not installed',
  }, async () => {
    const body = Buffer.from('{"success":true}')
    await using plain = await startPlain('bare', [{ status: 200, headers: {}, body }, { status: 503, headers: {}, body }]) // biome-ignore format: two answers
    const [good = '', bad = ''] = plain.origins
    const requests = { paths: ['/a?b=c', '/d'], headers: { authorization: 'key' } }
    for (const load of [findWrk() ?? ownLoad, ownLoad]) {
      const { perSecond, bytesPerAnswer } = await load.run(good, requests, 1)
      assert.ok(perSecond > 1 && bytesPerAnswer >= body.length, load.name)
      await assert.rejects(load.run(bad, requests, 1), /failed|503/)
    }
  })
})

describe('the content of the bench', () => {
  it('is the same in every run: posts of 2 KB, some of them hidden', () => {
    const posts = makePosts(0, 200)
    assert.deepEqual(makePosts(0, 200), posts)
    for (const { value } of posts) assert.equal(Buffer.byteLength(JSON.stringify(value)), 2048)
    const hidden = posts.filter(({ archived, publishMs = 0 }) => archived || publishMs > Date.UTC(2080, 0))
    assert.equal(posts.length - hidden.length, 200)
    assert.equal(hidden.length, 4)
    assert.notEqual(makePost(1).title, makePost(2).title)
  })
})

describe('a bench result', () => {
  it('is written with the machine and its charts, and inserted between the markers of a page', () => {
    const paths = { results: join(folder, 'results'), charts: join(folder, 'charts'), page: join(folder, 'page.md') }
    writeFileSync(paths.page, 'Before.\n<!-- bench hot -->\nold\n<!-- /bench hot -->\nAfter.\n')
    const text = writeFinding(
      'hot',
      { about: 'How.', tables: '| a |', charts: { 'a.svg': '<svg><title>A</title></svg>' } },
      paths,
    )
    assert.equal(readFileSync(join(paths.results, 'hot.md'), 'utf8'), text)
    assert.match(text, /Node \d+.*SQLite \d.*PostgreSQL \d[\s\S]*How\.\n\n\| a \|/)
    assert.deepEqual(readdirSync(paths.charts), ['a.svg'])
    const page = readFileSync(paths.page, 'utf8')
    assert.match(page, /^Before\.\n<!-- bench hot -->\n\| a \|\n\n!\[A\]\(charts\/a\.svg\)\n\n.*\(results\/hot\.md\)/)
    assert.match(page, /\n<!-- \/bench hot -->\nAfter\.\n$/)
  })

  it('is drawn on logarithmic axes', () => {
    const axis = { label: 'size', isLog: true, write: String }
    const points = [1, 10, 100].map((value) => ({ x: value, y: value }))
    const svg = drawChart({
      title: 'A & B',
      x: axis,
      y: axis,
      panels: [{ title: '', lines: [{ name: 'a<b', points }] }],
    })
    const [, corners = ''] = /<polyline points="([^"]+)"/.exec(svg) ?? []
    const [first, second, third] = corners.split(' ').map((corner) => corner.split(',').map(Number))
    assert.ok(first && second && third)
    for (const at of [0, 1]) assert.equal((second[at] ?? 0) * 2, (first[at] ?? 0) + (third[at] ?? 0))
    assert.match(svg, /A &amp; B[\s\S]*a&lt;b/)
  })

  it('has the growth factor', () => {
    assert.equal(slope([{ x: 0, y: 1 }, { x: 1, y: 3 }, { x: 2, y: 5 }]), 2) // biome-ignore format: three points
  })
})
