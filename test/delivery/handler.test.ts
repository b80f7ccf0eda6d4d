import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it, mock } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Container } from '../../src/content/model.ts'
import { deleteContainer } from '../../src/store/content/containers.ts'
import { createApiKey, createSite, setFrozen, write } from '../helpers/authoring.ts'
import { createHarness, type Harness, onBothEngines, type TestEngine, type TestGroup } from '../helpers/harness.ts'

const answerTimeoutMs = 10_000
/** Sent after the request under test on the same connection, which then closes. */
const lastRequest = 'GET /healthz HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n'

interface Answer {
  status: number
  /** Names in lower case, in order. */
  headers: [name: string, value: string][]
  header(name: string): string | undefined
  body: Buffer
}

/** Parses the first answer; one to `HEAD` has no body despite its Content-Length. */
function parseAnswer(bytes: Buffer, isHead: boolean): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  assert.ok(end > 0, `no HTTP answer: ${JSON.stringify(bytes.subarray(0, 200).toString())}`)
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString().split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(': ')
    return [line.slice(0, colon), line.slice(colon + 2)]
  })
  const header = (name: string) => headers.find(([other]) => other.toLowerCase() === name)?.[1]
  const length = isHead ? 0 : Number(header('content-length') ?? 0)
  return {
    status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]),
    headers,
    header,
    body: bytes.subarray(end + 4, end + 4 + length),
  }
}

interface Running extends Harness {
  port: number
  send(method: string, path: string, ...headers: string[]): Promise<Answer>
  sendRaw(text: string): Promise<Answer>
}

async function start(engine: TestEngine, env: Record<string, string> = {}): Promise<Running> {
  const harness = await createHarness(engine, { env })
  const port = Number(new URL((await harness.service.listen()).baseUrl).port)
  const sendRaw = async (text: string): Promise<Answer> => {
    const socket = connect(port, '127.0.0.1')
    socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error('the server neither answered nor closed')))
    socket.write(text + lastRequest)
    return parseAnswer(await buffer(socket), text.startsWith('HEAD'))
  }
  return {
    ...harness,
    port,
    sendRaw,
    send: (method, path, ...headers) =>
      sendRaw([`${method} ${path} HTTP/1.1`, 'Host: a.example', ...headers, '', ''].join('\r\n')),
  }
}

/** A group with content for each endpoint, and the paths. */
async function fill(running: Running): Promise<{ group: TestGroup; posts: Container; paths: string[] }> {
  const group = await running.newGroup()
  const posts = await group.collection('Posts', { title: { type: 'text' }, body: { type: 'text' } })
  const items = Array.from({ length: 5 }, (_, number) => ({
    value: { title: `Post ${number}`, body: 'Ü '.repeat(500) },
  }))
  await group.add(posts, ...items)
  const { id: siteId } = await createSite(
    group.store,
    { name: 'Site', domainName: 'a.example', settings: {} },
    running.clock.now,
  )
  return {
    group,
    posts,
    paths: [
      `/tenant/collectionObjects?collectionId=${posts.id}`,
      `/tenant/collectionObjects?limit=2&collectionId=${posts.id}&sort=title:desc&unknown=1`,
      '/tenant/integrationObjects?type=stripe',
      `/tenant/siteDetails?siteId=${siteId}`,
    ],
  }
}

/** Everything of an answer except what differs between requests. */
function comparable({ status, headers, body }: Answer) {
  const kept = headers
    .map(([name, value]): [string, string] => {
      if (name === 'x-request-id') return [name, value.replace(/[0-9a-f]/g, '0')]
      return [name, name === 'ratelimit' ? value.replace(/r=\d+/, 'r=…') : name.toLowerCase() === 'date' ? '…' : value]
    })
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return { status, headers: kept, body: body.toString('base64') }
}

/** The same path in a spelling that only Fastify's router understands. */
const throughFastify = (path: string): string => path.replace('/tenant/', '/ten%61nt/')

onBothEngines('the content handler', (engine) => {
  let running: Running
  let group: TestGroup
  let paths: string[]
  before(async () => {
    running = await start(engine)
    ;({ group, paths } = await fill(running))
  })
  after(() => running.close())

  const authorized = () => `Authorization: ${group.key}`

  const ask = (method: string, path: string, ...headers: string[]): Promise<Answer> =>
    running.send(method, path, authorized(), ...headers)

  it('returns the same answers in front of Fastify and behind it: status, headers and bytes', async () => {
    for (const path of paths) {
      const etag = (await ask('GET', path)).header('etag') ?? ''
      const wishes = [
        [],
        ['Accept-Encoding: gzip, deflate, br'],
        ['Accept-Encoding: gzip;q=1.0, identity;q=0.5'],
        ['Accept-Encoding: identity'],
        [`If-None-Match: ${etag}`],
        [`If-None-Match: W/${etag}`, 'Accept-Encoding: br'],
        [`If-None-Match: "other", ${etag.replace(/"$/, '-br"')}`],
        ['If-None-Match: *'],
        ['If-None-Match: "other"'],
        ['If-None-Match: "other"', `If-None-Match: ${etag}`],
        ['Accept-Encoding: br', 'Accept-Encoding: gzip'],
        ['Accept: text/html', 'Range: bytes=0-5', 'If-Modified-Since: Sun, 01 Mar 2026 12:00:00 GMT', 'Cookie: a=b'],
      ]
      for (const method of ['GET', 'HEAD']) {
        for (const wish of wishes) {
          const front = await ask(method, path, ...wish)
          const behind = await ask(method, throughFastify(path), ...wish)
          assert.deepEqual(comparable(front), comparable(behind), `${method} ${path} ${wish}`)
          assert.equal(front.status, wish.some((line) => /None-Match: .*(\*|"[\w-]{22})/.test(line)) ? 304 : 200)
          if (method === 'HEAD') assert.equal(front.body.length, 0)
        }
      }
    }
  })

  it('gives each encoding its own ETag, and matches all of them for the same content', async () => {
    const [path = ''] = paths
    const plain = await ask('GET', path)
    const tag = plain.header('etag') ?? ''
    for (const [encoding, unpack, end] of [
      ['gzip', gunzipSync, '-gz"'],
      ['br', brotliDecompressSync, '-br"'],
    ] as const) {
      await ask('GET', path, `Accept-Encoding: ${encoding}`) // compressed from the second request on
      const answer = await ask('GET', path, `Accept-Encoding: ${encoding}`)
      assert.equal(answer.header('content-encoding'), encoding)
      assert.equal(answer.header('content-length'), String(answer.body.length))
      assert.equal(answer.header('etag'), tag.replace(/"$/, end))
      assert.equal(answer.header('vary'), 'Authorization, Accept-Encoding')
      assert.deepEqual(unpack(answer.body), plain.body)
      const again = await ask('GET', path, `If-None-Match: ${answer.header('etag')}`)
      assert.deepEqual([again.status, again.header('etag')], [304, answer.header('etag')])
    }
  })

  it('sends cache headers on a 304, and none about a body', async () => {
    const [path = ''] = paths
    const etag = (await ask('GET', path)).header('etag') ?? ''
    const answer = await ask('GET', path, `If-None-Match: ${etag}`)
    assert.deepEqual(answer.headers.map(([name]) => name.toLowerCase()).sort(), [
      'cache-control',
      'connection',
      'date',
      'etag',
      'keep-alive',
      'ratelimit',
      'ratelimit-policy',
      'vary',
      'x-request-id',
    ])
  })

  it('answers or refuses unusual requests alike, cached or not, in front of Fastify and behind it', async () => {
    const [cached = ''] = paths
    await ask('GET', cached)
    for (const path of [cached, `${cached}&limit=7`, throughFastify(cached)]) {
      const lines = ['Host: a.example', authorized()]
      const get = (...more: string[]) => [`GET ${path} HTTP/1.1`, ...lines, ...more]
      const unusual: Record<string, [status: number, lines: string[]]> = {
        'another method': [405, [`DELETE ${path} HTTP/1.1`, ...lines]],
        'HTTP/1.0': [200, [`GET ${path} HTTP/1.0`, ...lines, 'Connection: keep-alive']],
        'a connection that is to be closed': [200, get('Connection: close')],
        'no host': [400, [`GET ${path} HTTP/1.1`, authorized()]],
        'no key': [401, [`GET ${path} HTTP/1.1`, 'Host: a.example']],
        'a key with Bearer': [401, [...get().slice(0, -1), `Authorization: Bearer ${group.key}`]],
        'an unknown key': [401, [...get().slice(0, -1), `Authorization: ${group.key.slice(0, -1)}`]],
        'two keys': [400, get(authorized())],
        'two hosts': [400, get('HOST: a.example')],
        'an expectation': [200, get('Expect: something')],
        'an empty body': [200, get('Content-Length: 0')],
        'a parameter out of range': [400, [`GET ${path}&skip=x HTTP/1.1`, ...lines]],
      }
      for (const [what, [status, request]] of Object.entries(unusual)) {
        const answer = await running.sendRaw(`${request.join('\r\n')}\r\n\r\n`)
        assert.equal(answer.status, status, what)
        assert.match(answer.header('x-request-id') ?? '', /^[0-9a-f]{24}$/, what)
        if (status === 200) continue
        assert.deepEqual(JSON.parse(answer.body.toString()).success, false, what)
        assert.equal(answer.header('cache-control'), 'no-store', what)
        assert.equal(answer.header('content-security-policy'), "default-src 'none'; frame-ancestors 'none'", what)
      }
    }
  })

  it('answers pipelined requests in order, cached or not, in front of Fastify and behind it', async () => {
    const [path = '', other = ''] = paths
    for (const each of [path, other]) await ask('GET', each)
    const sizes = await Promise.all([path, other].map(async (each) => (await ask('GET', each)).body.length))
    const get = (each: string, ...more: string[]) =>
      `${[`GET ${each} HTTP/1.1`, 'Host: a.example', authorized(), ...more].join('\r\n')}\r\n\r\n`
    const socket = connect(running.port, '127.0.0.1')
    socket.write(
      get(path) + get(throughFastify(other)) + get(other) + get(throughFastify(path)) + get(path) + lastRequest,
    )
    const text = (await buffer(socket)).toString('latin1')
    const found = [...text.matchAll(/content-length: (\d+)/g)].map(([, length]) => Number(length))
    const [first, second] = sizes
    assert.deepEqual(found.slice(0, 5), [first, second, second, first, first])
    assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 6)
  })

  it('answers every spelling of a query', async () => {
    const [path = ''] = paths
    for (const spelling of [
      path,
      `${path}&limit=100`,
      `${path}&siteId=x`,
      path.replace('collectionId', 'collection%49d'),
    ])
      assert.equal((await ask('GET', spelling)).status, 200)
  })

  it('caches a key for a second, then looks it up again', async () => {
    const [path = ''] = paths
    const { answers } = running.service
    const { observe } = answers
    let lookups = 0
    answers.observe = (...observed) => {
      lookups += 1
      observe(...observed)
    }
    after(() => Object.assign(answers, { observe }))
    running.clock.now += 1000
    await ask('GET', path)
    running.clock.now += 999
    await ask('GET', path)
    assert.equal(lookups, 1)
    running.clock.now += 1
    await ask('GET', path)
    await ask('GET', path)
    assert.equal(lookups, 2)
  })

  it('gives each key its own group’s answer to the same URL', async () => {
    const other = await running.newGroup()
    const products = await other.integration('stripe', { name: { type: 'text' } })
    await other.add(products, { value: { name: 'Theirs' } })
    const second = await createApiKey(running.service.store, group.group.id, 'second', running.clock.now)
    const url = '/tenant/integrationObjects?type=stripe'
    const countFor = async (key: string) => {
      const answer = await running.send('GET', url, `Authorization: ${key}`)
      return JSON.parse(answer.body.toString()).data.totalCount
    }
    for (let round = 0; round < 3; round += 1)
      assert.deepEqual([await countFor(group.key), await countFor(other.key), await countFor(second.key)], [0, 1, 0])
  })

  it('shows a write to the very next request', async () => {
    const { group: writer } = await fill(running)
    const posts = await writer.collection('Live', { title: { type: 'text' } })
    const url = `/tenant/collectionObjects?collectionId=${posts.id}`
    const count = async () => {
      const answer = await running.send('GET', url, `Authorization: ${writer.key}`)
      return JSON.parse(answer.body.toString()).data.totalCount
    }
    for (let number = 1; number <= 5; number += 1) {
      await writer.add(posts, { value: { title: 'x' } })
      assert.deepEqual([await count(), await count(), await count()], [number, number, number])
    }
  })

  it('shows a scheduled item at its millisecond', async () => {
    const writer = await running.newGroup()
    const posts = await writer.collection('Later', { title: { type: 'text' } })
    const dueMs = running.clock.now + 500
    await writer.add(posts, { value: { title: 'now' } }, { value: { title: 'later' }, publishMs: dueMs })
    const count = async () => {
      const url = `/tenant/collectionObjects?collectionId=${posts.id}`
      const answer = await running.send('GET', url, `Authorization: ${writer.key}`)
      return JSON.parse(answer.body.toString()).data.totalCount
    }
    assert.deepEqual([await count(), await count()], [1, 1])
    running.clock.now = dueMs - 1
    assert.equal(await count(), 1)
    running.clock.now = dueMs
    assert.deepEqual([await count(), await count()], [2, 2])
    running.clock.now = dueMs - 1
    assert.equal(await count(), 1, 'and the clock set back')
  })

  it('writes the same log line in front of Fastify and behind it', async () => {
    const [path = ''] = paths
    const answers = [await ask('GET', path), await ask('GET', throughFastify(path))]
    const lineOf = (answer: Answer) => {
      const id = answer.header('x-request-id') ?? 'none'
      const lines = running
        .log()
        .split('\n')
        .filter((text) => text.includes(id))
      assert.equal(lines.length, 1)
      const [line = ''] = lines
      assert.match(line, /"ms":\d+(\.\d)?,/)
      assert.match(line, /"time":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/)
      const { time: _time, ms: _ms, requestId: _id, ...rest } = JSON.parse(line)
      return { order: Object.keys(JSON.parse(line)), rest }
    }
    const [front, behind] = answers.map(lineOf)
    assert.deepEqual(front, behind)
    assert.deepEqual(front?.rest, {
      level: 'info',
      method: 'GET',
      route: '/tenant/collectionObjects',
      status: 200,
      address: '127.0.0.1',
      group: group.group.id,
      msg: 'request',
    })
  })

  it('refuses a frozen group within a second', async () => {
    const { group: cold, paths: coldPaths } = await fill(running)
    const askFrozen = () => running.send('GET', coldPaths[0] ?? '', `Authorization: ${cold.key}`)
    for (let round = 0; round < 2; round += 1) assert.equal((await askFrozen()).status, 200)
    await setFrozen(running.service.store, cold.group.id, true)
    running.clock.now += 1000
    for (let round = 0; round < 3; round += 1)
      assert.equal(JSON.parse((await askFrozen()).body.toString()).code, 'GroupFrozen')
  })
})

onBothEngines('an answer that is no longer valid', (engine) => {
  let running: Running
  before(async () => {
    running = await start(engine)
  })
  after(() => running.close())

  async function answered() {
    const { group, paths, posts } = await fill(running)
    const ask = (method: string, path: string, ...headers: string[]) =>
      running.send(method, path, `Authorization: ${group.key}`, ...headers)
    for (const path of paths)
      for (let round = 0; round < 2; round += 1) assert.equal((await ask('GET', path)).status, 200)
    const others = await group.collection('Others', { title: { type: 'text' } })
    const change = async () => group.add(others, { value: { title: 'One more' } })
    return { group, paths, posts, ask, change }
  }

  it('is rebuilt, the same in front of Fastify and behind it', async () => {
    const { paths, ask, change } = await answered()
    for (const path of paths) {
      const etag = (await ask('GET', path)).header('etag') ?? ''
      const wishes = [[], ['Accept-Encoding: br'], [`If-None-Match: ${etag}`], ['If-None-Match: "other"']]
      for (const method of ['GET', 'HEAD']) {
        for (const wish of wishes) {
          await change()
          const { misses } = running.service.answers.counts
          const front = await ask(method, path, ...wish)
          assert.equal(running.service.answers.counts.misses, misses + 1)
          await change()
          const behind = await ask(method, throughFastify(path), ...wish)
          assert.deepEqual(comparable(front), comparable(behind), `${method} ${path} ${wish}`)
        }
      }
    }
  })

  it('becomes a 404 once its collection is deleted', async () => {
    const { group, paths, posts, ask } = await answered()
    const [path = ''] = paths
    await write(group.store, running.clock.now, (writer) => deleteContainer(writer, posts))
    const answers = [await ask('GET', path), await ask('GET', path), await ask('GET', throughFastify(path))].map(
      comparable,
    )
    assert.equal(answers[0]?.status, 404)
    assert.deepEqual(answers[0], answers[2])
    assert.deepEqual(answers[1], answers[2])
  })

  it('is an error in the envelope when it cannot be built, and the next request builds it', async () => {
    const { paths, ask, change } = await answered()
    const [path = ''] = paths
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    currentFiles.prepare = () => Promise.reject(new Error('canary'))
    await change()
    const failed = await ask('GET', path)
    currentFiles.prepare = prepare
    assert.equal(failed.status, 500)
    assert.deepEqual(JSON.parse(failed.body.toString()).code, 'InternalError')
    assert.ok(!failed.body.includes('canary'))
    assert.equal((await ask('GET', path)).status, 200)
  })
})

describe('an answer that takes too long', () => {
  it('is abandoned with 503, releases its slot and is not built a second time', async () => {
    const running = await start('sqlite', { MAX_CONCURRENT_REQUESTS: '1' })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const [path = '', other = ''] = paths
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    const [arrived, passes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let made = 0
    currentFiles.prepare = async (...wanted) => {
      made += 1
      arrived.resolve()
      await passes.promise
      return prepare(...wanted)
    }
    mock.timers.enable({ apis: ['setTimeout'] })
    after(() => mock.timers.reset())
    const slow = group.get(path)
    await arrived.promise
    mock.timers.tick(24_999)
    assert.equal((await group.get(other)).statusCode, 503, 'the only slot is taken')
    mock.timers.tick(1)
    const answer = await slow
    assert.deepEqual([answer.statusCode, answer.json().code], [503, 'Unavailable'])
    assert.equal(answer.headers['retry-after'], '1')
    assert.equal(made, 1)
    passes.resolve()
    assert.equal((await group.get(other)).statusCode, 200)
  })
})

describe('limits of the content handler', () => {
  it('charge a request once, cached or not, in front of Fastify and behind it', async () => {
    const limits = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=1/6`).join()
    const running = await start('sqlite', { RATE_LIMITS: limits })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const [path = ''] = paths
    const left: (string | undefined)[] = []
    for (let round = 0; round < 8; round += 1) {
      const spelled = round % 2 === 0 ? path : throughFastify(path)
      const answer = await running.send('GET', spelled, `Authorization: ${group.key}`)
      assert.equal(answer.status, round < 6 ? 200 : 429)
      left.push(/r=(\d+)/.exec(answer.header('ratelimit') ?? '')?.[1])
      if (round >= 6) assert.equal(answer.header('retry-after'), '1')
    }
    assert.deepEqual(left, ['5', '4', '3', '2', '1', '0', '0', '0'])
  })

  it('take one slot and one token for an answer that is refused', async () => {
    const limits = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=1/3`).join()
    const running = await start('sqlite', { MAX_CONCURRENT_REQUESTS: '1', RATE_LIMITS: limits })
    after(() => running.close())
    const { group, posts, paths } = await fill(running)
    const ask = () => running.send('GET', paths[0] ?? '', `Authorization: ${group.key}`)
    for (let round = 0; round < 2; round += 1) assert.equal((await ask()).status, 200)
    await write(group.store, running.clock.now, (writer) => deleteContainer(writer, posts))
    const answer = await ask()
    assert.equal(answer.status, 404)
    assert.match(answer.header('ratelimit') ?? '', /r=0/)
    assert.equal((await ask()).status, 429)
  })

  it('refuse uncached requests with 503 while all slots are taken, and serve cached ones', async () => {
    const running = await start('sqlite', { MAX_CONCURRENT_REQUESTS: '1' })
    after(() => running.close())
    const { group, posts, paths } = await fill(running)
    const ask = (path: string) => running.send('GET', path, `Authorization: ${group.key}`)
    const [path = '', other = ''] = paths
    for (const each of [path, other]) for (let round = 0; round < 2; round += 1) await ask(each)
    const site = paths.at(-1) ?? ''
    await group.add(posts, { value: { title: 'One more' } })
    assert.equal((await ask(site)).status, 200)
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    const [arrived, passes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    currentFiles.prepare = async (...wanted) => {
      arrived.resolve()
      await passes.promise
      return prepare(...wanted)
    }
    const first = ask(path)
    await arrived.promise
    assert.equal(JSON.parse((await ask(other)).body.toString()).code, 'Unavailable')
    assert.equal((await ask(site)).status, 200)
    passes.resolve()
    assert.equal((await first).status, 200)
    assert.equal((await ask(other)).status, 200)
  })

  it('log the address given by a trusted proxy', async () => {
    const running = await start('sqlite', { TRUST_PROXY: '127.0.0.1' })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const ask = (forwarded: string) =>
      running.send('GET', paths[0] ?? '', `Authorization: ${group.key}`, `X-Forwarded-For: ${forwarded}`)
    for (const [forwarded, address] of [
      ['203.0.113.9, 198.51.100.2', '198.51.100.2'],
      ['2001:db8::7', '2001:db8::7'],
      ['198.51.100.3, 127.0.0.1', '198.51.100.3'],
      ['unknown, 198.51.100.4', '198.51.100.4'],
      ['unknown, 127.0.0.1', 'unknown'],
    ] as const) {
      const answer = await ask(forwarded)
      const line = running
        .log()
        .split('\n')
        .find((text) => text.includes(answer.header('x-request-id') ?? 'none'))
      assert.equal(JSON.parse(line ?? '{}').address, address)
    }
  })
})

describe('a service that shuts down', () => {
  it('answers requests on open connections, and asks clients to close them', async () => {
    const running = await start('sqlite')
    const { group, paths } = await fill(running)
    const [path = ''] = paths
    for (let round = 0; round < 2; round += 1) await running.send('GET', path, `Authorization: ${group.key}`)
    const socket = connect(running.port, '127.0.0.1')
    await once(socket, 'connect')
    const request = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${group.key}\r\n`
    const first = once(socket, 'data')
    socket.write(`${request}\r\n${request}`) // one and a half
    await first
    const closed = running.close()
    await new Promise((resolve) => setImmediate(resolve))
    socket.write('\r\n')
    const text = (await buffer(socket)).toString('latin1')
    await closed
    assert.match(text, /HTTP\/1\.1 200 OK\r\n(.+\r\n)*connection: close\r\n/i)
  })
})

describe('a request whose client has disconnected', () => {
  it('leaves no timer behind, in front of Fastify and behind it', async () => {
    const running = await start('sqlite')
    after(() => running.close())
    const { group, posts, paths } = await fill(running)
    const [path = ''] = paths
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    for (const asked of [path, throughFastify(path)]) {
      const [arrived, passes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      currentFiles.prepare = async (...wanted) => {
        arrived.resolve()
        await passes.promise
        return prepare(...wanted)
      }
      const before = timers()
      const socket = connect(running.port, '127.0.0.1')
      socket.write(`GET ${asked} HTTP/1.1\r\nHost: a\r\nAuthorization: ${group.key}\r\n\r\n`)
      await arrived.promise
      assert.ok(timers() > before, 'while it runs there is one')
      socket.destroy()
      await setTimeout(50)
      passes.resolve()
      await setTimeout(50)
      assert.equal(timers(), before, asked)
      currentFiles.prepare = prepare
      await group.add(posts, { value: { title: 'One more' } })
    }
  })
})

describe('a service without an answer cache', () => {
  it('returns the same answers', async () => {
    const [cached, uncached] = [await start('sqlite'), await start('sqlite', { ANSWER_CACHE_MB: '0' })]
    after(() => Promise.all([cached.close(), uncached.close()]))
    for (const running of [cached, uncached]) {
      const group = await running.newGroup()
      const ask = () => running.send('GET', '/tenant/integrationObjects?type=stripe', `Authorization: ${group.key}`)
      const answers = [await ask(), await ask(), await ask()].map(comparable)
      assert.deepEqual(answers[0], answers[1])
      assert.deepEqual(answers[0], answers[2])
    }
  })

  it('sends each of them completely, even to a slow reader with many requests', async () => {
    const running = await start('sqlite', { ANSWER_CACHE_MB: '0' })
    after(() => running.close())
    const group = await running.newGroup()
    const posts = await group.collection('Posts', { text: { type: 'text' } })
    await group.add(posts, ...Array.from({ length: 30 }, (_, n) => ({ value: { text: `${n} é `.repeat(5000) } })))
    const paths = Array.from({ length: 20 }, (_, skip) => {
      return `/tenant/collectionObjects?collectionId=${posts.id}&limit=10&skip=${skip}`
    })
    const asking = (path: string) =>
      [`GET ${path} HTTP/1.1`, 'Host: a.example', `Authorization: ${group.key}`, '', ''].join('\r\n')
    const expected: Buffer[] = []
    for (const path of paths) expected.push((await running.sendRaw(asking(path))).body)
    assert.equal(new Set(expected.map(String)).size, paths.length)
    const askSlowly = async (): Promise<Buffer> => {
      const socket = connect(running.port, '127.0.0.1')
      socket.pause()
      socket.write(paths.map((path) => asking(path)).join('') + lastRequest)
      await setTimeout(300) // by then only what fits into the system's buffers has been sent
      return buffer(socket)
    }
    for (const bytes of await Promise.all([askSlowly(), askSlowly(), askSlowly()])) {
      let rest = bytes
      for (const body of expected) {
        const answer = parseAnswer(rest, false)
        assert.equal(answer.status, 200)
        assert.ok(answer.body.equals(body))
        rest = rest.subarray(rest.indexOf('\r\n\r\n') + 4 + body.length)
      }
    }
  })

  it('frees the bytes of each as soon as it is sent', async () => {
    const running = await start('sqlite', { ANSWER_CACHE_MB: '0' })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const { answers } = running.service
    const { find } = answers
    const bodies: Buffer[] = []
    answers.find = async (...asked) => {
      const answer = await find(...asked)
      bodies.push(answer.forms.identity.body)
      return answer
    }
    const areGone = () => bodies.map(({ buffer }) => (buffer as ArrayBuffer).detached)
    const [path = ''] = paths
    for (const method of ['GET', 'GET', 'HEAD']) await running.send(method, path, `Authorization: ${group.key}`)
    assert.deepEqual(areGone(), [true, true, false], 'an answer to HEAD sends no body')
  })
})
