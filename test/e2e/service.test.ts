import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, SluiceError } from '../../client/src/index.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { insertContainer } from '../../src/store/content/containers.ts'
import { openContentOf } from '../../src/store/control/groups.ts'
import { createApiKey, createGroup, write } from '../helpers/authoring.ts'
import { runHere } from '../helpers/command-here.ts'
import {
  createMigratedDatabase,
  onBothEngines,
  onBothEnginesInProve,
  openTestStore,
  type TestEngine,
} from '../helpers/harness.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'

/** Rate limits are not tested here. */
const unlimited = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=100000/100000`).join()

/** A running server, and this process on the same database. */
async function startRunning(engine: TestEngine, env: Record<string, string> = {}) {
  const testDatabase = await createMigratedDatabase(engine)
  const server = await startServer({ ...testDatabase.env, RATE_LIMITS: unlimited, ...env })
  const store = await openTestStore(testDatabase)
  return {
    testDatabase,
    server,
    store,
    /** A command in this process, which is another one than the server's. */
    cli: async (...args: string[]) => JSON.parse(await runHere([...args, '--json'], testDatabase.env)),
    /** A group and a key created by this process while the server runs. */
    async newShop() {
      const group = await createGroup(store, { name: 'Shop' }, Date.now())
      const key = await createApiKey(store, group.id, 'website', Date.now())
      return { group, key, client: createClient({ baseUrl: server.baseUrl, apiKey: key.key, retries: 0 }) }
    },
    async close() {
      await server.stop()
      await store.close()
      await testDatabase.remove()
    },
  }
}

/** The same, closed after the current test. */
async function running(engine: TestEngine, env?: Record<string, string>) {
  const started = await startRunning(engine, env)
  after(started.close)
  return started
}

/** Concurrent calls until stopped, with the start and the status of each. */
function load(call: () => Promise<unknown>) {
  const seen: { startedMs: number; code: string }[] = []
  let stopped = false
  const workers = Array.from({ length: 4 }, async () => {
    while (!stopped) {
      const startedMs = performance.now()
      const code = await call().then(
        () => 'ok',
        (error: unknown) => (error instanceof SluiceError ? error.code : String(error)),
      )
      seen.push({ startedMs, code })
      await sleep(20) // leaves CPU to other tests
    }
  })
  return {
    seen,
    async stop() {
      stopped = true
      await Promise.all(workers)
    },
  }
}

/** Sends part of a request and waits until the server has received it: it follows a complete request, which has been answered. */
async function beginRequest({ baseUrl }: ServerProcess, part: string) {
  const { port, hostname } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  after(() => socket.destroy())
  let answer = ''
  socket.setEncoding('utf8').on('data', (chunk) => (answer += chunk))
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${part}`)
  while (!/\r\n\r\n./.test(answer)) await once(socket, 'data')
  answer = ''
  return { socket, answer: () => answer }
}

/** Waits until a stopping server refuses connections. */
async function acceptsNothing({ baseUrl }: ServerProcess): Promise<void> {
  const isRefused = () =>
    fetch(`${baseUrl}/healthz`).then(
      () => false,
      () => true,
    )
  while (!(await isRefused())) await sleep(20)
}

onBothEngines('the real process', (engine) => {
  let shared: Awaited<ReturnType<typeof startRunning>>
  before(async () => {
    shared = await startRunning(engine)
  })
  after(() => shared.close())

  for (const [what, code, act] of [
    ['a revoked key', 'Unauthorized', ['key', 'revoke']],
    ['a frozen group', 'GroupFrozen', ['group', 'freeze']],
  ] as const) {
    it(`refuses ${what} within 1 second under load, changed by another process`, async () => {
      const { cli, newShop } = shared
      const { client, group, key } = await newShop()
      const traffic = load(() => client.products.list({ type: 'stripe' }))
      while (traffic.seen.length < 20) await sleep(50)
      assert.deepEqual([...new Set(traffic.seen.map(({ code: seen }) => seen))], ['ok'])
      await cli(...act, group.id, ...(act[0] === 'key' ? [key.id] : []))
      const changedMs = performance.now()
      const late = () => traffic.seen.filter(({ startedMs }) => startedMs >= changedMs + 1000)
      while (late().length < 20) await sleep(50)
      await traffic.stop()
      assert.deepEqual([...new Set(late().map(({ code: seen }) => seen))], [code])
    })
  }

  it('finishes running requests on SIGTERM, accepts nothing new, and exits with 0', async () => {
    const { server, newShop } = await running(engine)
    const { key } = await newShop()
    const request = await beginRequest(
      server,
      `GET /tenant/integrationObjects?type=stripe HTTP/1.1\r\nHost: x\r\nAuthorization: ${key.key}\r\n`,
    )
    const stopped = server.stop()
    await acceptsNothing(server)
    request.socket.write('\r\n')
    assert.equal(await stopped, 0)
    const answer = request.answer()
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    assert.match(answer, /"totalCount":0/)
    assert.match(server.output(), /"msg":"stopped"/)
  })

  it('serves two processes on one database, each of which sees the other’s writes', async () => {
    const { testDatabase, server, cli, newShop } = shared
    const { group, key } = await newShop()
    const second = await startServer(testDatabase.env)
    after(() => second.stop())
    const created = await cli('key', 'create', group.id, '--label', 'another')
    for (const [baseUrl, apiKey] of [
      [server.baseUrl, key.key],
      [second.baseUrl, created.key],
      [second.baseUrl, key.key],
    ] as const) {
      const list = await createClient({ baseUrl, apiKey }).products.list({ type: 'stripe' })
      assert.equal(list.totalCount, 0)
    }
  })

  it('writes no key into its log', async () => {
    const { server, newShop } = shared
    const { client, key } = await newShop()
    await client.products.list({ type: 'stripe' })
    await client.preview('slc_preview_x').catch(() => {})
    await sleep(100)
    assert.match(server.output(), /"route":"\/tenant\/preview"/)
    for (const secret of [key.key, 'slc_']) assert.ok(!server.output().includes(secret))
  })
})

onBothEnginesInProve('the real process with a fault', (engine) => {
  for (const [what, fault] of [
    ['an uncaught error', "throw new Error('never caught', { cause: new Error('the cause') })"],
    ['an unhandled rejection', "Promise.reject(new Error('never caught', { cause: new Error('the cause') }))"],
  ] as const) {
    it(`logs ${what} in full, finishes running requests, accepts nothing new, and exits with 1`, async () => {
      const onSignal = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${fault} })`)}`
      const { server, newShop, store } = await running(engine, { NODE_OPTIONS: `--import=${onSignal}` })
      const { key, group } = await newShop()
      const content = await openContentOf(store, group)
      const collection = await write(content, Date.now(), (writer) =>
        insertContainer(writer, {
          kind: 'collection',
          name: 'Guests',
          schema: parseSchema({ name: { type: 'text' } }),
          settings: { accepts: ['createReview'] },
        }),
      )
      const body = JSON.stringify({ collectionId: collection.id, type: 'createReview', objectValue: { name: 'Ann' } })
      const head = `POST /tenant/definedCollectionObject HTTP/1.1\r\nHost: x\r\nAuthorization: ${key.key}\r\nContent-Type: application/json`
      const half = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`
      const request = await beginRequest(server, half)
      const ended = once(server.child, 'close')
      server.child.kill('SIGUSR2')
      await acceptsNothing(server)
      request.socket.write(body.slice(10))
      assert.deepEqual(await ended, [1, null])
      assert.match(request.answer(), /^HTTP\/1\.1 201 Created/)
      const lines = server.output().split('\n')
      const fatal = lines.filter((line) => line.includes('"level":"fatal"')).map((line) => JSON.parse(line))
      assert.deepEqual(
        fatal.map(({ err }) => [err.message, err.cause.message]),
        [['never caught', 'the cause']],
      )
      assert.match(fatal[0].err.stack, /data:text\/javascript/)
      const [stored] = await content.database.read.selectFrom('objects').select('value').execute()
      assert.match(stored?.value ?? '', /Ann/)
    })
  }
})
