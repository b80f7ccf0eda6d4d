import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, SluiceError } from '../../client/src/index.ts'
import { createEmptyDatabase, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { runCli, startServer } from '../helpers/process.ts'

/** No test here is about the rate limit. */
const unlimited = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=100000/100000`).join()

/** A running server on an empty database, with a group and a key that the CLI created while it runs. */
async function running(engine: TestEngine, env: Record<string, string> = {}) {
  const testDatabase = await createEmptyDatabase(engine)
  const server = await startServer({ ...testDatabase.env, RATE_LIMITS: unlimited, ...env })
  after(async () => {
    await server.stop()
    await testDatabase.remove()
  })
  const cli = async (...args: string[]) => {
    const { code, output } = await runCli([...args, '--json'], testDatabase.env)
    assert.equal(code, 0, output)
    return JSON.parse(output)
  }
  const group = await cli('group', 'create', 'Shop')
  const key = await cli('key', 'create', group._id)
  const client = createClient({ baseUrl: server.baseUrl, apiKey: key.key, retries: 0 })
  return { testDatabase, server, cli, group, key, client }
}

/** Calls without pause from several sides until told to stop; notes when each answer began and what it was. */
function load(call: () => Promise<unknown>) {
  const seen: { startedMs: number; code: string }[] = []
  let stopped = false
  const workers = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const startedMs = performance.now()
      const code = await call().then(
        () => 'ok',
        (error: unknown) => (error instanceof SluiceError ? error.code : String(error)),
      )
      seen.push({ startedMs, code })
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

onBothEngines('the real process', (engine) => {
  for (const [what, code, act] of [
    ['a revoked key', 'Unauthorized', ['key', 'revoke']],
    ['a frozen group', 'GroupFrozen', ['group', 'freeze']],
  ] as const) {
    it(`refuses ${what} within 1 second under load, changed by another process`, async () => {
      const { cli, client, group, key } = await running(engine)
      const traffic = load(() => client.products.list({ type: 'stripe' }))
      await sleep(300)
      await cli(...act, group._id, ...(act[0] === 'key' ? [key._id] : []))
      const changedMs = performance.now()
      await sleep(1500)
      await traffic.stop()
      const before = traffic.seen.filter(({ startedMs }) => startedMs < changedMs - 1000)
      const late = traffic.seen.filter(({ startedMs }) => startedMs >= changedMs + 1000)
      assert.ok(
        traffic.seen.some(({ code: seen }) => seen === 'ok'),
        'it was served at first',
      )
      assert.ok(before.every(({ code: seen }) => seen === 'ok'))
      assert.ok(late.length > 20, `only ${late.length} calls after the change`)
      assert.deepEqual([...new Set(late.map(({ code: seen }) => seen))], [code])
    })
  }

  it('finishes running requests on SIGTERM, accepts nothing new, and exits with 0', async () => {
    const { server, key } = await running(engine)
    const { port, hostname } = new URL(server.baseUrl)
    const socket = connect(Number(port), hostname)
    socket.setEncoding('utf8')
    let answer = ''
    socket.on('data', (chunk) => (answer += chunk))
    // Half a request: the server is in the middle of it when it is asked to stop.
    socket.write(`GET /tenant/integrationObjects?type=stripe HTTP/1.1\r\nHost: x\r\nAuthorization: ${key.key}\r\n`)
    await sleep(200)
    const stopped = server.stop()
    await sleep(200)
    await assert.rejects(fetch(`${server.baseUrl}/healthz`))
    socket.write('\r\n')
    assert.equal(await stopped, 0)
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    assert.match(answer, /"totalCount":0/)
    assert.match(server.output(), /"msg":"stopped"/)
  })

  for (const [what, fault] of [
    ['an error that nobody caught', "throw new Error('nobody caught this', { cause: new Error('the cause') })"],
    [
      'a rejection that nobody handled',
      "Promise.reject(new Error('nobody caught this', { cause: new Error('the cause') }))",
    ],
  ] as const) {
    it(`logs ${what} in full, finishes running requests, accepts nothing new, and exits with 1`, async () => {
      const onSignal = `data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2', () => { ${fault} })`)}`
      const { server, key, cli, group } = await running(engine, { NODE_OPTIONS: `--import=${onSignal}` })
      const collection = await cli('collection', 'create', group._id, 'Guests', '--schema', '{"name":{"type":"text"}}', '--accepts', 'createReview') // biome-ignore format: one command, one line
      const { port, hostname } = new URL(server.baseUrl)
      const socket = connect(Number(port), hostname)
      socket.setEncoding('utf8')
      let answer = ''
      socket.on('data', (chunk) => (answer += chunk))
      const body = JSON.stringify({ collectionId: collection._id, type: 'createReview', objectValue: { name: 'Ann' } })
      const head = `POST /tenant/definedCollectionObject HTTP/1.1\r\nHost: x\r\nAuthorization: ${key.key}\r\nContent-Type: application/json`
      socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`)
      await sleep(200)
      const ended = once(server.child, 'close')
      server.child.kill('SIGUSR2')
      await sleep(200)
      await assert.rejects(fetch(`${server.baseUrl}/healthz`))
      socket.write(body.slice(10))
      assert.deepEqual(await ended, [1, null])
      assert.match(answer, /^HTTP\/1\.1 201 Created/)
      const lines = server.output().split('\n')
      const told = lines.filter((line) => line.includes('"level":"fatal"')).map((line) => JSON.parse(line))
      assert.deepEqual(
        told.map(({ err }) => [err.message, err.cause.message]),
        [['nobody caught this', 'the cause']],
      )
      assert.match(told[0].err.stack, /data:text\/javascript/)
      const list = await cli('object', 'list', group._id, collection._id)
      assert.match(JSON.stringify(list), /Ann/)
    })
  }

  it('serves two processes on one database, each of which sees the other’s writes', async () => {
    const { testDatabase, server, cli, group, key } = await running(engine)
    const second = await startServer(testDatabase.env)
    after(() => second.stop())
    const created = await cli('key', 'create', group._id, '--label', 'another')
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
    const { server, client, key } = await running(engine)
    await client.products.list({ type: 'stripe' })
    await client.preview('slc_preview_x').catch(() => {})
    await sleep(100)
    assert.match(server.output(), /"route":"\/tenant\/preview"/)
    for (const secret of [key.key, 'slc_']) assert.ok(!server.output().includes(secret))
  })
})
