import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { verbs } from '../../src/manage/index.ts'
import { createPreviewToken, createSite } from '../helpers/authoring.ts'
import { onBothEnginesInProve, type TestEngine, type TestGroup } from '../helpers/harness.ts'
import { createManaging, encode, type Managing } from '../helpers/manage.ts'
import { createMutator } from '../helpers/mutate-request.ts'
import { type ServerProcess, startServer } from '../helpers/process.ts'
import { bytesOf, headOf, type RawRequest, rawRequest } from '../helpers/raw-request.ts'
import { inputFor, requestOf, setScene } from '../helpers/verb-cases.ts'

/** `npm run prove -- connections` runs 100,000, 10,000 and 1,000,000, half of each on each engine. */
const resets = Number(process.env.CONNECTION_RESETS ?? 600)
const slowConnections = Number(process.env.SLOW_CONNECTIONS ?? 200)
const slowSeconds = Number(process.env.SLOW_SECONDS ?? 3)
const mutations = Number(process.env.MUTATED_REQUESTS ?? 2000)
const maxRssMb = 700

/** Every second connection that is reset comes from a proxy, for a visitor. */
const proxy = '127.0.0.3'
const visitor = '198.51.100.7'

const unlimited = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=1000000/1000000`).join()

interface Attacked {
  server: ServerProcess
  port: number
  /** Valid requests to every endpoint. */
  requests: RawRequest[]
  /** A POST whose body is sent slowly. */
  slowPost: RawRequest
  /** A page and a file that exceed the system's socket buffers. */
  bigPage: RawRequest
  bigFile: RawRequest
  /** Checks the service, and returns the figures since the last check. */
  check(): { rssMb: number; figures: string }
  close(): Promise<void>
}

/** A well-behaved client with a separate address, which counts failures. */
interface Witness {
  answers: Map<string, number>
  stop(): Promise<void>
}

function startWitness(port: number, asked: RawRequest[]): Witness {
  const agent = new Agent({ keepAlive: true, maxSockets: 2, localAddress: '127.0.0.2' })
  const answers = new Map<string, number>()
  let isStopped = false
  const ask = ({ method, target, headers, body }: RawRequest): Promise<string> =>
    new Promise((resolve) => {
      const asking = request({ port, host: '127.0.0.1', agent, method, path: target, headers: headers.flat() as never })
      asking.on('error', (error) => resolve(error.message))
      asking.on('response', (response) => {
        response.on('error', (error) => resolve(error.message)).on('end', () => resolve(String(response.statusCode)))
        response.resume()
      })
      asking.end(body)
    })
  const running = (async () => {
    for (let turn = 0; !isStopped; turn += 1) {
      const answer = await ask(asked[turn % asked.length] as RawRequest)
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
      await sleep(20)
    }
  })()
  return {
    answers,
    async stop() {
      isStopped = true
      await running
      agent.destroy()
    },
  }
}

/** One valid request for each verb of group members without calls to other services. */
async function manageRequests(created: Managing): Promise<RawRequest[]> {
  const scene = await setScene(created)
  const found: RawRequest[] = []
  for (const verb of verbs) {
    if (/^(integration|mail-server|mail test)/.test(verb.name)) continue
    const [method, path, body] = requestOf(verb, await inputFor(verb, scene))
    const { payload, headers } = await encode(body)
    const bytes = payload === undefined || payload instanceof Buffer ? payload : Buffer.from(JSON.stringify(payload))
    const type = bytes && !(payload instanceof Buffer) ? { 'Content-Type': 'application/json' } : {}
    const sent = { Authorization: `Bearer ${scene.group.tokens.editor}`, ...type, ...headers }
    found.push(rawRequest(method, path, sent as Record<string, string>, bytes))
  }
  return found
}

async function fill(created: Managing, group: TestGroup) {
  const nowMs = created.clock.now
  const posts = await group.collection('Posts', { title: { type: 'text' }, rating: { type: 'integer' }, email: { type: 'text' } }) // biome-ignore format: one line
  await group.add(posts, ...Array.from({ length: 20 }, (_, n) => ({ value: { title: `Post ${n}`, rating: n } })))
  const big = await group.collection('Big', { text: { type: 'text' } })
  for (let part = 0; part < 5; part += 1)
    await group.add(big, ...Array.from({ length: 20 }, () => ({ value: { text: 'x'.repeat(60_000) } })))
  const [object] = await group.add(posts, { value: { title: 'Draft' }, archived: true })
  const preview = await createPreviewToken(group.store, { objectId: object?.id ?? '' }, nowMs)
  const site = await createSite(group.store, { name: 'Site', domainName: 'a.example', settings: {} }, nowMs)
  return { posts, big, preview, site }
}

function tenantRequests(key: string, { posts, preview, site }: Awaited<ReturnType<typeof fill>>): RawRequest[] {
  const get = (target: string) => rawRequest('GET', target, { Authorization: key, 'Accept-Encoding': 'gzip, br' })
  const post = (target: string, body: object) =>
    rawRequest('POST', target, { Authorization: key, 'Content-Type': 'application/json' }, JSON.stringify(body))
  const htmlInfo = { title: 'a', subtitle: 'b', whiteBoxText: '<p>c</p>', signature: 'd' }
  return [
    get(`/tenant/siteDetails?siteId=${site.id}`),
    get(`/tenant/collectionObjects?collectionId=${posts.id}&limit=5&skip=2&sort=rating:desc&search=post`),
    get(`/tenant/collectionObjects?collectionId=${posts.id}&filters[rating]=5&filters[rating]=6`),
    get('/tenant/integrationObjects?type=stripe&groupBy[key]=productType&search=bread&limit=10'),
    get(`/tenant/preview?token=${preview.token}`),
    post('/tenant/createCheckoutSession', { products: [{ price: 'price_1', quantity: 1 }], requiresShipping: false, originUrl: 'https://a.example' }), // biome-ignore format: one line
    post('/tenant/definedCollectionObject', { collectionId: posts.id, type: 'createReview', objectValue: { title: 'x', rating: 3 } }), // biome-ignore format: one line
    post('/tenant/sendContactEmail', { name: 'A', to: 'a@a.example', message: 'm', siteName: 's', htmlInfo }),
    post('/tenant/sendOrderPlacedEmail', { to: 'a@a.example', htmlInfo }),
    rawRequest('HEAD', `/tenant/siteDetails?siteId=${site.id}`, { Authorization: key }),
    rawRequest('GET', '/docs', {}),
    rawRequest('GET', '/openapi.json', {}),
    rawRequest('GET', '/', {}),
    rawRequest('GET', '/nope', {}),
    rawRequest('POST', `/webhooks/stripe/${posts.id}`, { 'Stripe-Signature': 't=1,v1=a' }, '{"id":"evt_1"}'),
  ]
}

/** A server with content behind every endpoint, and a well-behaved client. */
async function attack(engine: TestEngine): Promise<Attacked> {
  const created = await createManaging(engine)
  created.clock.now = Date.now()
  const group = await created.newGroup()
  const content = await fill(created, group)
  const managed = await manageRequests(created)
  const other = await created.newGroup({ tier: 'proplus' })
  const ofOther = await fill(created, other)
  const { dataDir, databaseUrl = '' } = created.config
  const location = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, STRIPE_URL: created.stripe.url }
  const settings = {
    RATE_LIMITS: unlimited,
    MANAGE_RATE_LIMIT: '1000000/1000000',
    JOB_WORKERS: '0',
    TRUST_PROXY: proxy,
  }
  const server = await startServer({ ...location, ...settings })
  const port = Number(new URL(server.baseUrl).port)
  const bigPage = rawRequest('GET', `/tenant/collectionObjects?collectionId=${content.big.id}`, { Authorization: group.key }) // biome-ignore format: one line
  const form = new FormData()
  form.set('file', new File([new Uint8Array(8_000_000)], 'big.bin'))
  const uploaded = await fetch(`${server.baseUrl}/manage/groups/${group.group.id}/media`, { method: 'POST', body: form, headers: { authorization: `Bearer ${created.admin}` } }) // biome-ignore format: one line
  const { data } = (await uploaded.json()) as { data: { currentFile: { source: string } } }
  const { pathname, search } = new URL(data.currentFile.source)
  const bigFile = rawRequest('GET', `${pathname}${search}`, {})
  const slow = await created.newGroup()
  const slowPost = rawRequest('POST', '/tenant/createCheckoutSession', { Authorization: slow.key, 'Content-Type': 'application/json' }, '{"products":[]}') // biome-ignore format: one line
  const polite = tenantRequests(other.key, ofOther)
  const isPolite = ({ method, target }: RawRequest) => method === 'GET' && !/nope|^\/$/.test(target)
  const witness = startWitness(port, [...polite.filter(isPolite), { ...bigFile }, rawRequest('GET', '/healthz', {})])
  let rssMb = 0
  const readRss = (): void => {
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
    rssMb = Math.max(rssMb, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
  }
  const watching = setInterval(() => server.child.exitCode === null && readRss(), 500)
  let checkedTo = 0
  function check(): { rssMb: number; figures: string } {
    const { exitCode, signalCode } = server.child
    assert.equal(exitCode ?? signalCode, null, `it has ended:\n${server.output().slice(-4000)}`)
    const lines = server.output().slice(checkedTo).split('\n')
    checkedTo = server.output().length
    const bad = lines.filter((line) => /"level":"(error|fatal)"|"status":5/.test(line))
    assert.deepEqual(bad.slice(0, 3), [])
    assert.deepEqual([...witness.answers.keys()], ['200'], 'the other client is always served')
    readRss()
    const seen = { rssMb, figures: `RSS at most ${Math.round(rssMb)} MB, ${witness.answers.get('200')} × 200 for the witness` } // biome-ignore format: one line
    rssMb = 0
    witness.answers.set('200', 0)
    return seen
  }
  async function close(): Promise<void> {
    clearInterval(watching)
    await witness.stop()
    const code = await server.stop()
    await created.close()
    assert.equal(code, 0, 'it stops in order')
  }
  const beginning = rawRequest('GET', bigFile.target, { Range: 'bytes=0-99' })
  const requests = [...tenantRequests(group.key, content), ...managed, beginning]
  return { server, port, requests, slowPost, bigPage, bigFile, check, close }
}

/** A connection whose later errors are ignored. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  await once(socket, 'connect').catch(() => {})
  return socket
}

const closed = async (socket: Socket): Promise<void> => {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
}

/** Runs work for each number below a count, with limited concurrency. */
async function forAll(count: number, atOnce: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1
      await work(next - 1)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker))
}

const firstData = (socket: Socket): Promise<unknown> =>
  Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed(socket), sleep(2000, undefined, { ref: false })]) // biome-ignore format: one line

/** The moments at which a client can disconnect: what it does before, given the whole request. */
const stages: Record<string, (socket: Socket, asked: RawRequest, round: number) => Promise<unknown> | unknown> = {
  'before anything is sent': () => {},
  'in the middle of the headers': (socket, asked) => socket.write(headOf(asked).subarray(0, 40)),
  'behind the headers': (socket, asked) => socket.write(headOf(asked)),
  'in the middle of the body': (socket, asked) =>
    socket.write(bytesOf(asked).subarray(0, headOf(asked).length + Math.ceil(asked.body.length / 2))),
  'at once': (socket, asked) => socket.write(bytesOf(asked)),
  'while it is worked on': async (socket, asked, round) => {
    socket.write(bytesOf(asked))
    await sleep(round % 5)
  },
  'in the middle of the answer': async (socket, asked) => {
    socket.write(bytesOf(asked))
    await firstData(socket)
  },
  'behind an answer, in the next request': async (socket, asked) => {
    socket.write(bytesOf(asked))
    await firstData(socket)
    socket.write(headOf(asked).subarray(0, 30))
  },
  'behind several requests at once': (socket, asked, round) =>
    socket.write(Buffer.concat(Array.from({ length: 2 + (round % 7) }, () => bytesOf(asked)))),
}

/** The statuses of everything received on a connection. */
function noteStatuses(socket: Socket, found: Map<string, number>): void {
  socket.on('data', (bytes) => {
    for (const [, status = ''] of bytes.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g))
      found.set(status, (found.get(status) ?? 0) + 1)
  })
}

const summary = (statuses: Map<string, number>): string =>
  [...statuses].sort(([left], [right]) => left.localeCompare(right)).map(([status, count]) => `${count} × ${status}`).join(', ') // biome-ignore format: one line

function assertNoServerErrors(statuses: Map<string, number>): void {
  const failed = [...statuses].filter(([status]) => status.startsWith('5'))
  assert.deepEqual(failed, [])
}

onBothEnginesInProve('connections', (engine) => {
  let attacked: Attacked
  before(async () => {
    attacked = await attack(engine)
  })
  after(() => attacked.close())

  it('that are reset at any moment end neither the process nor other requests', async (context: TestContext) => {
    const { port, requests, bigPage, bigFile } = attacked
    const moments = Object.values(stages)
    const asked = [...requests, bigPage, bigFile]
    const proxied = asked.map(
      (one): RawRequest => ({ ...one, headers: [...one.headers, ['X-Forwarded-For', visitor]] }),
    )
    const statuses = new Map<string, number>()
    const rounds = resets / 2
    await forAll(rounds, 50, async (round) => {
      const isProxied = round % 2 === 1
      const socket = await open(port, isProxied ? proxy : undefined)
      noteStatuses(socket, statuses)
      const stage = moments[round % moments.length] as (typeof moments)[number]
      const request = (isProxied ? proxied : asked)[Math.floor(round / moments.length) % asked.length] as RawRequest
      await stage(socket, request, round)
      if (round % 4 > 0) await sleep(round % 4) // otherwise it closes before it is accepted
      socket.resetAndDestroy()
      await closed(socket)
    })
    assertNoServerErrors(statuses)
    const addresses = new Set(attacked.server.output().match(/"address":"[^"]*"/g))
    const known = ['127.0.0.1', '127.0.0.2', proxy, visitor]
    for (const address of addresses) assert.ok(known.includes(JSON.parse(`{${address}}`).address), address)
    context.diagnostic(`${rounds} resets: ${attacked.check().figures}; seen ${summary(statuses)}`)
  })

  it('that are slow and concurrent do not delay others for long, and are closed', async (context: TestContext) => {
    const { port, slowPost, bigPage, bigFile } = attacked
    const statuses = new Map<string, number>()
    const sockets: Socket[] = []
    after(() => {
      for (const socket of sockets) socket.destroy()
    })
    const count = slowConnections / 2
    const begun = [
      Buffer.from('GET /docs HTTP/1.1\r\nHost: a\r\nX-Slow: a'),
      bytesOf(slowPost).subarray(0, headOf(slowPost).length + 5),
      bytesOf(bigPage),
      bytesOf(bigFile),
      Buffer.concat(Array.from({ length: 20 }, () => bytesOf(rawRequest('GET', '/docs', {})))),
      bytesOf(rawRequest('GET', '/healthz', {})),
    ]
    const isReading = (kind: number): boolean => kind < 2 || kind === 5
    await forAll(count, 100, async (number) => {
      const kind = number % begun.length
      const socket = await open(port)
      sockets.push(socket)
      if (isReading(kind)) noteStatuses(socket, statuses)
      else socket.pause()
      socket.write(begun[kind] as Buffer)
    })
    const opened = sockets.filter(({ destroyed }) => !destroyed).length
    for (let second = 0; second < slowSeconds; second += 1) {
      await sleep(1000)
      for (const [number, socket] of sockets.entries())
        if (number % begun.length < 2 && socket.writable) socket.write('x') // a byte a second
    }
    const left = sockets.filter(({ destroyed }) => !destroyed).length
    for (const socket of sockets) socket.destroy()
    assertNoServerErrors(statuses)
    const { rssMb, figures } = attacked.check()
    assert.ok(rssMb <= maxRssMb, figures)
    context.diagnostic(`${count} slow connections, ${opened} open at once, ${left} after ${slowSeconds} s: ${figures}; seen ${summary(statuses)}`) // biome-ignore format: one line
  })

  it('that carry mutated requests get an answer below 500 or are closed', async (context: TestContext) => {
    const count = mutations / 2
    const { port, requests } = attacked
    const seed = Number(process.env.MUTATION_SEED ?? Math.floor(Math.random() * 2 ** 32))
    const mutate = createMutator(seed)
    const statuses = new Map<string, number>()
    const failures: string[] = []
    const idle: Socket[] = []
    after(() => {
      for (const socket of idle) socket.destroy()
    })
    const exchange = async (): Promise<void> => {
      const { bytes, isHead, isOpenEnded } = mutate(requests)
      const socket = idle.pop() ?? (await open(port))
      let text = ''
      const { promise, resolve } = Promise.withResolvers<string>()
      const onData = (piece: Buffer): void => {
        text += piece.toString('latin1')
        const head = text.indexOf('\r\n\r\n')
        const length = /content-length: (\d+)/i.exec(text.slice(0, head))?.[1]
        const isBare = isHead || /^HTTP\/1\.1 (304|204)/.test(text) || text.endsWith('\r\n0\r\n\r\n')
        if (head > 0 && !isOpenEnded && (isBare || (length && text.length >= head + 4 + Number(length))))
          resolve('kept')
      }
      const onClose = (): void => resolve('closed')
      socket.on('data', onData).once('close', onClose)
      const timer = setTimeout(() => resolve('silent'), 5000)
      if (isOpenEnded) socket.end(bytes)
      else socket.write(bytes)
      const outcome = await promise
      clearTimeout(timer)
      socket.off('data', onData).off('close', onClose)
      const found = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status)
      for (const status of found.length > 0 ? found : [outcome]) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (found.some((status) => status.startsWith('5')) && failures.length < 5)
        failures.push(`${bytes.toString('latin1').slice(0, 600)}\n→ ${text.slice(0, 800)}`)
      const mayStay = outcome === 'kept' && socket.writable && !/^connection: close/im.test(text.slice(0, 2000))
      if (mayStay) idle.push(socket)
      else socket.destroy()
    }
    await forAll(count, 32, exchange)
    assert.deepEqual(failures, [], `seed ${seed}: ${summary(statuses)}`)
    assertNoServerErrors(statuses)
    context.diagnostic(
      `${count} mutated requests (seed ${seed}): ${attacked.check().figures}; seen ${summary(statuses)}`,
    )
  })
})
