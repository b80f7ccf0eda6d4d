import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Config, readConfig } from '../../src/config/config.ts'
import { encodeContent } from '../../src/delivery/answer.ts'
import type { ContentRequest } from '../../src/delivery/make-content.ts'
import {
  createReadWorkerPool,
  type ReadWorkerPool,
  type ReadWorkerPoolOptions,
} from '../../src/delivery/worker-pool.ts'
import { openReadOnlyStore } from '../../src/store/engine/main-thread-only.ts'
import { sqlitePath } from '../../src/store/store.ts'
import { createSite } from '../helpers/authoring.ts'
import { createHarness, type Harness, harness, onBothEngines, type TestGroup } from '../helpers/harness.ts'

const items = 30
/** Of 2 MB each; `npm run prove -- workers` reads more than the heap of a worker can hold. */
const largeItems = Number(process.env.LARGE_ITEMS ?? 6)

const pictureOf = ({ group }: TestGroup, name: string) => ({ name, key: `${group.id}/${name}`, type: 'image' })

/** A group with content for each endpoint, and many paths. */
async function fill({ newGroup, clock }: Harness): Promise<{ group: TestGroup; paths: string[] }> {
  const group = await newGroup()
  const secret = { type: 'text', private: true }
  const posts = await group.collection('Posts', { title: { type: 'text' }, cover: { type: 'image' }, secret })
  const products = await group.integration('stripe', { name: { type: 'text' }, kind: { type: 'text' } })
  const numbers = Array.from({ length: items }, (_, number) => number)
  const cover = (number: number) => (number % 2 ? { cover: pictureOf(group, `${number}.webp`) } : {})
  await group.add(posts, ...numbers.map((n) => ({ value: { title: `Post ${n} “ü”`, secret: 'x', ...cover(n) } })))
  await group.add(products, ...numbers.map((n) => ({ value: { name: `Bread ${n}`, kind: n % 3 ? 'Bread' : 'Cake' } })))
  const settings = { logo: pictureOf(group, 'logo.webp') }
  const site = await createSite(group.store, { name: 'Site', domainName: 'a.example', settings }, clock.now)
  const pages = numbers.map((skip) => `/tenant/collectionObjects?collectionId=${posts.id}&skip=${skip}&sort=title:desc`)
  const paths = [
    ...pages,
    `/tenant/collectionObjects?collectionId=${posts.id}&search=Post`,
    '/tenant/integrationObjects?type=stripe&groupBy[key]=kind',
    '/tenant/integrationObjects?type=paypal',
    `/tenant/siteDetails?siteId=${site.id}`,
  ]
  return { group, paths }
}

const askAtOnce = (group: TestGroup, paths: string[]) =>
  Promise.all(
    paths.map(async (path) => {
      const { statusCode, body, headers } = await group.get(path)
      return { path, statusCode, body, etag: headers.etag }
    }),
  )

/** Nothing is cached, so that everything is built. */
const noCache = { ANSWER_CACHE_MB: '0' }

describe('a concurrent request', () => {
  let alone: Harness
  before(async () => {
    alone = await createHarness('sqlite', { env: { ...noCache, READ_THREADS: '0' } })
  })
  after(() => alone.close())

  /** A service on the same database that builds answers in threads. */
  const beside = (env: Record<string, string>, readsInWorkersOnly = false) =>
    harness('sqlite', { env: { ...noCache, DATA_DIR: alone.config.dataDir, ...env }, readsInWorkersOnly })

  it('is built in a worker with the same bytes', async () => {
    const { group, paths } = await fill(alone)
    const expected = await askAtOnce(group, paths)
    assert.ok(expected.every(({ statusCode }) => statusCode === 200))
    const { service, app } = await beside({ READ_THREADS: '2' })
    const there = { ...group, get: (url: string) => app.inject({ url, headers: { authorization: group.key } }) }
    const { counts } = service.readWorkers
    assert.deepEqual(await askAtOnce(there, paths.slice(0, 10)), expected.slice(0, 10))
    assert.deepEqual(counts, { threads: 1, made: 0 }, 'no request waits for a thread to start')
    const deadline = performance.now() + 20_000
    while ((counts.threads < 2 || counts.made < 60) && performance.now() < deadline)
      assert.deepEqual(await askAtOnce(there, paths), expected)
    assert.equal(counts.threads, 2)
    assert.ok(counts.made >= 60, 'threads must have built some')
    assert.equal(alone.service.readWorkers.counts.made, 0)
  })

  it('is refused with the same message', async () => {
    const { group, paths } = await fill(alone)
    const [path = ''] = paths
    const wrong = [
      '/tenant/siteDetails?siteId=66f0c0ffee0123456789abd0',
      `${path}&filters[nothing]=1`,
      path.replace('title:desc', 'nothing:asc'),
    ]
    const expected = await askAtOnce(group, wrong)
    assert.deepEqual(
      expected.map(({ statusCode }) => statusCode),
      [404, 400, 400],
    )
    const { app } = await beside({ READ_THREADS: '1' }, true)
    const there = { ...group, get: (url: string) => app.inject({ url, headers: { authorization: group.key } }) }
    const withoutIds = (answers: typeof expected) => answers.map(({ statusCode, body }) => ({ statusCode, body }))
    assert.deepEqual(withoutIds(await askAtOnce(there, wrong)), withoutIds(expected))
  })
})

describe('a worker that builds everything', () => {
  it('signs with the key of the service’s start, and generates none', async () => {
    const { app, config, newGroup, service } = await harness('sqlite', {
      env: { ...noCache, READ_THREADS: '1' },
      readsInWorkersOnly: true,
    })
    const group = await newGroup()
    const posts = await group.collection('Posts', { cover: { type: 'image' } })
    await group.add(posts, { value: { cover: pictureOf(group, 'a.webp') } })
    const keyFile = join(config.dataDir, 'master.key')
    await rm(keyFile)
    const body = (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).body
    assert.equal(service.readWorkers.counts.made, 1)
    assert.ok(!existsSync(keyFile))
    const [address = ''] = /http[^"]+\/media\/[^"]+/.exec(body) ?? []
    const { statusCode } = await app.inject(address.replace(/^https?:\/\/[^/]+/, ''))
    assert.equal(statusCode, 404, 'the file is missing; a wrong signature would be 403')
  })

  it('exits on an internal error, which is logged, and the main thread continues', async () => {
    const { config, log, newGroup, service } = await harness('sqlite', {
      env: { ...noCache, READ_THREADS: '1' },
      readsInWorkersOnly: true,
    })
    const group = await newGroup({ database: 'other' })
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    await group.add(posts, { value: { title: 'a' } })
    const file = sqlitePath(config.dataDir, 'other')
    await rename(file, `${file}.away`) // the main thread keeps it open
    await mkdir(file)
    const { statusCode, body } = await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)
    await rmdir(file)
    await rename(`${file}.away`, file)
    assert.equal(statusCode, 200, body)
    assert.deepEqual(service.readWorkers.counts, { threads: 0, made: 0 })
    assert.match(log(), /a worker thread that builds answers has ended/)
  })

  it('shows a write to the very next request', async () => {
    const { service, newGroup } = await harness('sqlite', { env: { READ_THREADS: '1' }, readsInWorkersOnly: true })
    const group = await newGroup()
    const posts = await group.collection('Live', { title: { type: 'text' } })
    for (let number = 1; number <= 50; number += 1) {
      await group.add(posts, { value: { title: `${number}` } })
      const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}&sort=title:desc`)).json()
      assert.equal(data.totalCount, number)
      assert.equal(data.items.length, number)
    }
    assert.ok(service.readWorkers.counts.made >= 50)
  })

  it('drops what it cached of a group when the main thread saw another revision, even if the old one has returned', async () => {
    const { clock, newGroup } = await harness('sqlite', {
      env: { ...noCache, READ_THREADS: '1' },
      readsInWorkersOnly: true,
    })
    const group = await newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const [first] = await group.add(posts, { value: { title: 'a' } }, { value: { title: 'b' } })
    const count = async () =>
      (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).json().data.totalCount
    assert.deepEqual([await count(), await count(), await count()], [2, 2, 2])
    const { database, groupId } = group.store
    const turnBack = (by: number) =>
      database.write((db) =>
        db
          .updateTable('group_revisions')
          .set((eb) => ({ revision: eb('revision', '-', by) }))
          .where('group_id', '=', groupId)
          .execute(),
      )
    await turnBack(1)
    clock.now += 1000 // looks up the key again, and with it the revision
    assert.equal((await group.get('/tenant/preview?token=none')).statusCode, 404)
    await turnBack(-1)
    await database.write((db) =>
      db
        .deleteFrom('objects')
        .where('id', '=', first?.id ?? '')
        .execute(),
    )
    clock.now += 1000
    assert.equal(await count(), 1)
  })

  it('uses the media URL of the main thread', async () => {
    const { service, newGroup } = await harness('sqlite', {
      env: { READ_THREADS: '1', PUBLIC_URL: 'https://files.example' },
      readsInWorkersOnly: true,
    })
    const group = await newGroup()
    const posts = await group.collection('Posts', { cover: { type: 'image' } })
    await group.add(posts, { value: { cover: pictureOf(group, 'a.webp') } })
    const { data } = (await group.get(`/tenant/collectionObjects?collectionId=${posts.id}`)).json()
    assert.match(JSON.stringify(data), /https:\/\/files\.example\/media\//)
    assert.equal(service.readWorkers.counts.made, 1)
  })
})

onBothEngines('a service', (engine) => {
  it('has no worker under little load, when configured without, and with PostgreSQL', async () => {
    for (const env of [{ READ_THREADS: '1' }, { READ_THREADS: '0' }]) {
      const running = await harness(engine, { env: { ...noCache, ...env } })
      const { group, paths } = await fill(running)
      for (const path of paths) await group.get(path)
      const { counts } = running.service.readWorkers
      assert.deepEqual(counts, { threads: 0, made: 0 })
      await askAtOnce(group, paths)
      assert.equal(counts.threads > 0, engine === 'sqlite' && env.READ_THREADS === '1')
    }
  })
})

describe('workers', () => {
  const asked: ContentRequest = {
    route: '/tenant/siteDetails',
    tenant: { database: 'main', bucketName: 'media', groupID: 'a', tier: 'free' },
    query: {},
  }
  const content = encodeContent({ json: ['{}'], revision: 1, untilMs: 2000 })

  const tenantOf = ({ group: { id: groupID, database, bucketName, tier } }: TestGroup) => ({
    groupID,
    database,
    bucketName,
    tier,
  })

  interface Watched {
    threads: ReadWorkerPool
    failures: string[]
    /** Answers built by the main thread. */
    here(): number
    askMany(): Promise<unknown[]>
  }

  function watch(
    config: Config,
    times: Partial<Record<'checkEveryMs' | 'maxIdleMs' | 'maxStartMs' | 'maxSilentMs' | 'backoffMs', number>>,
    options: Partial<Pick<ReadWorkerPoolOptions, 'workersOnly' | 'isNeeded'>> = {},
  ): Watched {
    const failures: string[] = []
    let here = 0
    const threads = createReadWorkerPool({
      config,
      maxThreads: 1,
      baseUrl: () => '',
      epochOf: () => 1,
      makeHere: async () => {
        here += 1
        return content
      },
      onFailure: ({ message }) => void failures.push(message),
      workersOnly: true,
      isNeeded: () => false,
      ...options,
      times: {
        checkEveryMs: 20,
        maxIdleMs: 60_000,
        maxStartMs: 60_000,
        maxSilentMs: 60_000,
        backoffMs: 60_000,
        ...times,
      },
    })
    after(() => threads.close())
    const askMany = () => Promise.all(Array.from({ length: 20 }, () => threads.make(asked, 1000)))
    return { threads, failures, here: () => here, askMany }
  }

  const nowhere = readConfig({ DATA_DIR: '/nonexistent/sluice' })

  it('that cannot start leave their work to the main thread, which does not start another for a while', async () => {
    const { threads, failures, here, askMany } = watch(
      { ...nowhere, mediaCdnUrl: 'https://without.the.rest' } as Config,
      {},
    )
    assert.deepEqual(new Set(await askMany()), new Set([content]))
    assert.equal(here(), 20)
    assert.equal(failures.length, 1)
    await askMany()
    assert.equal(here(), 40)
    assert.deepEqual([failures.length, threads.counts.threads], [1, 0])
  })

  it('that do not start in time are abandoned, and their work is done by the main thread', async () => {
    const { failures, here, askMany } = watch(nowhere, { maxStartMs: 0 })
    assert.deepEqual(new Set(await askMany()), new Set([content]))
    assert.equal(here(), 20)
    assert.match(failures.join(), /No message for/)
  })

  it('that stop responding are abandoned with their current request, which is not retried', async () => {
    const { newGroup, config } = await harness('sqlite', { env: { READ_THREADS: '0' } })
    const group = await newGroup()
    const posts = await group.collection('Posts', { text: { type: 'longText' } })
    await group.add(posts, ...Array.from({ length: 120 }, () => ({ value: { text: 'x'.repeat(19_000) } })))
    const { threads, failures, here } = watch(config, { checkEveryMs: 1, maxSilentMs: 1 })
    const ask = (skip: number) => {
      const question = { route: '/tenant/collectionObjects', query: { collectionId: posts.id, skip } }
      return threads.make({ ...question, tenant: tenantOf(group) }, Date.now())
    }
    const asked = await Promise.allSettled(Array.from({ length: 20 }, (_, skip) => ask(skip)))
    const refused = asked.filter((each) => each.status === 'rejected')
    assert.equal(refused.length, 1, 'only the work in progress')
    assert.deepEqual([refused[0]?.reason.code, refused[0]?.reason.retryAfterSeconds], ['Unavailable', 1])
    assert.equal(here() + threads.counts.made + refused.length, asked.length)
    assert.match(failures.join(), /No message for/)
  })

  it('that are idle exit, and are started again when needed', async () => {
    const { service, newGroup, config } = await harness('sqlite', { env: { READ_THREADS: '0' } })
    const group = await newGroup()
    const site = await createSite(group.store, { name: 'S', domainName: 'a.example', settings: {} }, 1000)
    const { threads, failures, here } = watch(config, { maxIdleMs: 100 })
    const ask = () => threads.make({ ...asked, tenant: tenantOf(group), query: { siteId: site.id } }, 1000)
    for (let round = 1; round <= 2; round += 1) {
      assert.match((await ask()).body.toString(), /a\.example/)
      assert.deepEqual(threads.counts, { threads: 1, made: round })
      const deadline = performance.now() + 5000
      while (threads.counts.threads > 0 && performance.now() < deadline) await wait(20)
      assert.equal(threads.counts.threads, 0)
    }
    assert.deepEqual([here(), failures], [0, []])
    assert.equal(service.readWorkers.counts.threads, 0)
  })

  it('get all the work while the main thread is needed for something else', async () => {
    const { newGroup, config } = await harness('sqlite', { env: { READ_THREADS: '0' } })
    const group = await newGroup()
    const site = await createSite(group.store, { name: 'S', domainName: 'a.example', settings: {} }, 1000)
    let isNeeded = false
    const { threads, here } = watch(config, {}, { workersOnly: false, isNeeded: () => isNeeded })
    const ask = () => threads.make({ ...asked, tenant: tenantOf(group), query: { siteId: site.id } }, 1000)
    isNeeded = true
    await ask()
    assert.deepEqual([here(), threads.counts.threads], [1, 0], 'without other threads it builds it itself')
    isNeeded = false
    const deadline = performance.now() + 20_000
    while (threads.counts.made === 0 && performance.now() < deadline) await Promise.all(Array.from({ length: 20 }, ask))
    const [made, before] = [threads.counts.made, here()]
    await ask()
    assert.deepEqual([threads.counts.made, here()], [made, before + 1], 'a single question does not travel')
    isNeeded = true
    for (let time = 0; time < 10; time += 1) await ask()
    assert.deepEqual([threads.counts.made, here()], [made + 10, before + 1])
    await Promise.all(Array.from({ length: 200 }, ask))
    assert.equal(threads.counts.made + here(), made + before + 211)
    assert.ok(here() > before + 1, 'it helps beyond the capacity of one thread')
  })

  it('refuse an answer that is too large before reading it, and continue', async () => {
    const { newGroup, config } = await harness('sqlite', { env: { READ_THREADS: '0' } })
    const group = await newGroup()
    const posts = await group.collection('Posts', { text: { type: 'longText' } })
    const longest = 'ж'.repeat(990_000)
    for (let item = 0; item < largeItems; item += 1) await group.add(posts, { value: { text: longest } })
    const { threads, failures, here } = watch(config, {})
    const ask = (limit: number) => {
      const question = { route: '/tenant/collectionObjects', query: { collectionId: posts.id, limit } }
      return threads.make({ ...question, tenant: tenantOf(group) }, Date.now())
    }
    for (let time = 0; time < 3; time += 1) {
      await assert.rejects(ask(100), { code: 'ValidationError', message: /maximum of 8388608 bytes.*limit/ })
      assert.ok((await ask(4)).body.length > 4 * longest.length)
    }
    assert.deepEqual([here(), threads.counts, failures], [0, { threads: 1, made: 3 }, []])
  })

  it('neither write nor run long reads', async () => {
    const { config, newGroup } = await harness('sqlite')
    await newGroup()
    const database = await openReadOnlyStore(config.dataDir).content('main')
    after(() => database.close())
    await assert.rejects(database.readLong('select 1', []), /Only the main thread/)
    await assert.rejects(
      database.write(async () => {}),
      /Only the main thread/,
    )
    await assert.rejects(database.read.deleteFrom('objects').execute(), /readonly|read.only/i)
  })
})
