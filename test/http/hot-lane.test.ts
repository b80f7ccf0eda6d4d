import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { Container } from '../../src/content/model.ts'
import { deleteContainer } from '../../src/store/containers.ts'
import { createApiKey, createSite, setFrozen, write } from '../helpers/authoring.ts'
import { createHarness, type Harness, onBothEngines, type TestEngine, type TestGroup } from '../helpers/harness.ts'

const answerTimeoutMs = 10_000
/** Asked after the request that matters, on the same connection: it stays open for that one, and we see its end. */
const lastRequest = 'GET /healthz HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n'

interface Answer {
  status: number
  /** Names in lower case, as they came. */
  headers: [name: string, value: string][]
  header(name: string): string | undefined
  body: Buffer
}

/** The first answer of those that came; the one to `HEAD` has no body, whatever it says. */
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
  /** How many requests took the long way. */
  long(): number
  send(method: string, path: string, ...headers: string[]): Promise<Answer>
  sendRaw(text: string): Promise<Answer>
}

async function start(engine: TestEngine, env: Record<string, string> = {}): Promise<Running> {
  let long = 0
  const harness = await createHarness(engine, {
    env,
    prepare: (app) => {
      app.addHook('onSend', async ({ url }) => {
        if (url !== '/healthz') long += 1
      })
    },
  })
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
    long: () => long,
    sendRaw,
    send: (method, path, ...headers) =>
      sendRaw([`${method} ${path} HTTP/1.1`, 'Host: a.example', ...headers, '', ''].join('\r\n')),
  }
}

/** A group with something behind each content endpoint, and the paths to it. */
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

/** All of an answer but what differs from request to request. */
function comparable({ status, headers, body }: Answer) {
  const kept = headers
    .map(([name, value]): [string, string] => {
      if (name === 'x-request-id') return [name, value.replace(/[0-9a-f]/g, '0')]
      return [name, name === 'ratelimit' ? value.replace(/r=\d+/, 'r=…') : name.toLowerCase() === 'date' ? '…' : value]
    })
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return { status, headers: kept, body: body.toString('base64') }
}

/** A request with this header is left alone by the hot lane, and means the same. */
const theLongWay = 'Content-Length: 0'

onBothEngines('the hot lane', (engine) => {
  let running: Running
  let group: TestGroup
  let paths: string[]
  before(async () => {
    running = await start(engine)
    ;({ group, paths } = await fill(running))
  })
  after(() => running.close())

  const authorized = () => `Authorization: ${group.key}`

  /** The answer of the hot lane, once it has one. */
  async function askHot(method: string, path: string, ...headers: string[]): Promise<Answer> {
    for (let round = 0; round < 5; round += 1) {
      const seen = running.long()
      const answer = await running.send(method, path, authorized(), ...headers)
      if (running.long() === seen) return answer
    }
    return assert.fail(`${method} ${path} ${headers} never took the hot lane`)
  }

  async function askLong(method: string, path: string, ...headers: string[]): Promise<Answer> {
    const seen = running.long()
    const answer = await running.send(method, path, authorized(), ...headers, theLongWay)
    assert.equal(running.long(), seen + 1)
    return answer
  }

  it('gives the same answers as the long way: status, headers and bytes', async () => {
    for (const path of paths) {
      const etag = (await askLong('GET', path)).header('etag') ?? ''
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
          const hot = await askHot(method, path, ...wish)
          const long = await askLong(method, path, ...wish)
          assert.deepEqual(comparable(hot), comparable(long), `${method} ${path} ${wish}`)
          assert.equal(hot.status, wish.some((line) => /None-Match: .*(\*|"[\w-]{27})/.test(line)) ? 304 : 200)
          if (method === 'HEAD') assert.equal(hot.body.length, 0)
        }
      }
    }
  })

  it('sends what is compressed under a tag of its own, and takes each tag for the same content', async () => {
    const [path = ''] = paths
    const plain = await askHot('GET', path)
    const tag = plain.header('etag') ?? ''
    for (const [encoding, unpack, end] of [
      ['gzip', gunzipSync, '-gz"'],
      ['br', brotliDecompressSync, '-br"'],
    ] as const) {
      const answer = await askHot('GET', path, `Accept-Encoding: ${encoding}`)
      assert.equal(answer.header('content-encoding'), encoding)
      assert.equal(answer.header('content-length'), String(answer.body.length))
      assert.equal(answer.header('etag'), tag.replace(/"$/, end))
      assert.equal(answer.header('vary'), 'Authorization, Accept-Encoding')
      assert.deepEqual(unpack(answer.body), plain.body)
      const again = await askHot('GET', path, `If-None-Match: ${answer.header('etag')}`)
      assert.deepEqual([again.status, again.header('etag')], [304, answer.header('etag')])
    }
  })

  it('says on a 304 what a cache needs, and nothing about content that is not there', async () => {
    const [path = ''] = paths
    const etag = (await askHot('GET', path)).header('etag') ?? ''
    const answer = await askHot('GET', path, `If-None-Match: ${etag}`)
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

  it('leaves alone what is not plain', async () => {
    const [path = ''] = paths
    await askHot('GET', path)
    const lines = ['Host: a.example', authorized()]
    const get = (...more: string[]) => [`GET ${path} HTTP/1.1`, ...lines, ...more]
    const unusual: Record<string, string[]> = {
      'another method': [`DELETE ${path} HTTP/1.1`, ...lines],
      'HTTP/1.0': [`GET ${path} HTTP/1.0`, ...lines, 'Connection: keep-alive'],
      'a connection that is to be closed': get('Connection: close'),
      'no host': [`GET ${path} HTTP/1.1`, authorized()],
      'no key': [`GET ${path} HTTP/1.1`, 'Host: a.example'],
      'a key with Bearer': [...get().slice(0, -1), `Authorization: Bearer ${group.key}`],
      'an unknown key': [...get().slice(0, -1), `Authorization: ${group.key.slice(0, -1)}`],
      'two keys': get(authorized()),
      'two hosts': get('HOST: a.example'),
      'an expectation': get('Expect: something'),
      'a body': get('Content-Length: 0'),
      'another URL': [`GET ${path}&x=1 HTTP/1.1`, ...lines],
    }
    for (const [what, request] of Object.entries(unusual)) {
      const seen = running.long()
      await running.sendRaw(`${request.join('\r\n')}\r\n\r\n`)
      assert.equal(running.long(), seen + 1, what)
    }
    const seen = running.long()
    await running.send('get'.toUpperCase(), path, authorized())
    assert.equal(running.long(), seen, 'and takes what is')
  })

  it('answers several that come at once in their order, whichever way each of them takes', async () => {
    const [path = '', other = ''] = paths
    for (const each of [path, other]) await askHot('GET', each)
    const sizes = await Promise.all([path, other].map(async (each) => (await askHot('GET', each)).body.length))
    const get = (each: string, ...more: string[]) =>
      `${[`GET ${each} HTTP/1.1`, 'Host: a.example', authorized(), ...more].join('\r\n')}\r\n\r\n`
    const socket = connect(running.port, '127.0.0.1')
    socket.write(get(path) + get(other, theLongWay) + get(other) + get(path, theLongWay) + get(path) + lastRequest)
    const text = (await buffer(socket)).toString('latin1')
    const found = [...text.matchAll(/content-length: (\d+)/g)].map(([, length]) => Number(length))
    const [first, second] = sizes
    assert.deepEqual(found.slice(0, 5), [first, second, second, first, first])
    assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 6)
  })

  it('takes several ways to write a question, once each was asked', async () => {
    const [path = ''] = paths
    for (const spelling of [
      path,
      `${path}&limit=100`,
      `${path}&siteId=x`,
      path.replace('collectionId', 'collection%49d'),
    ])
      assert.equal((await askHot('GET', spelling)).status, 200)
  })

  it('knows a key for a second and asks again', async () => {
    const [path = ''] = paths
    await askHot('GET', path)
    running.clock.now += 999
    const seen = running.long()
    await running.send('GET', path, authorized())
    assert.equal(running.long(), seen)
    running.clock.now += 1
    await running.send('GET', path, authorized())
    assert.equal(running.long(), seen + 1)
    await running.send('GET', path, authorized())
    assert.equal(running.long(), seen + 1)
  })

  it('gives each key its own group’s answer to the same URL', async () => {
    const other = await running.newGroup()
    const products = await other.integration('stripe', { name: { type: 'text' } })
    await other.add(products, { value: { name: 'Theirs' } })
    const second = await createApiKey(running.service.store, group.group.id, 'second', running.clock.now)
    const url = '/tenant/integrationObjects?type=stripe'
    const ask = async (key: string) => {
      const answer = await running.send('GET', url, `Authorization: ${key}`)
      return JSON.parse(answer.body.toString()).data.totalCount
    }
    for (let round = 0; round < 3; round += 1)
      assert.deepEqual([await ask(group.key), await ask(other.key), await ask(second.key)], [0, 1, 0])
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

  it('writes the same line into the log', async () => {
    const [path = ''] = paths
    const answers = [await askHot('GET', path), await askLong('GET', path)]
    const lineOf = (answer: Answer) => {
      const id = answer.header('x-request-id') ?? 'none'
      const line = running
        .log()
        .split('\n')
        .find((text) => text.includes(id))
      assert.ok(line)
      assert.match(line, /"ms":\d+(\.\d)?,/)
      assert.match(line, /"time":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/)
      const { time: _time, ms: _ms, requestId: _id, ...rest } = JSON.parse(line)
      return { order: Object.keys(JSON.parse(line)), rest }
    }
    // The long way writes its line after the answer has gone.
    const deadline = Date.now() + answerTimeoutMs
    while (!running.log().includes(answers[1]?.header('x-request-id') ?? 'none') && Date.now() < deadline)
      await new Promise((resolve) => setImmediate(resolve))
    const [hot, long] = answers.map(lineOf)
    assert.deepEqual(hot, long)
    assert.deepEqual(hot?.rest, {
      level: 'info',
      method: 'GET',
      route: '/tenant/collectionObjects',
      status: 200,
      address: '127.0.0.1',
      group: group.group.id,
      msg: 'request',
    })
  })

  it('is closed to a frozen group within a second', async () => {
    const { group: cold, paths: coldPaths } = await fill(running)
    const ask = () => running.send('GET', coldPaths[0] ?? '', `Authorization: ${cold.key}`)
    for (let round = 0; round < 2; round += 1) assert.equal((await ask()).status, 200)
    await setFrozen(running.service.store, cold.group.id, true)
    running.clock.now += 1000
    for (let round = 0; round < 3; round += 1)
      assert.equal(JSON.parse((await ask()).body.toString()).code, 'GroupFrozen')
  })
})

onBothEngines('a URL that was answered before', (engine) => {
  let running: Running
  before(async () => {
    running = await start(engine)
  })
  after(() => running.close())

  /** One that nothing is kept of any more: its group has been written to. */
  async function known() {
    const { group, paths, posts } = await fill(running)
    const ask = (method: string, path: string, ...headers: string[]) =>
      running.send(method, path, `Authorization: ${group.key}`, ...headers)
    for (const path of paths)
      for (let round = 0; round < 2; round += 1) assert.equal((await ask('GET', path)).status, 200)
    const others = await group.collection('Others', { title: { type: 'text' } })
    const change = async () => group.add(others, { value: { title: 'One more' } })
    return { group, paths, posts, ask, change }
  }

  it('is made anew on the hot lane, with the same status, headers and bytes as on the long way', async () => {
    const { paths, ask, change } = await known()
    for (const path of paths) {
      const etag = (await ask('GET', path)).header('etag') ?? ''
      const wishes = [[], ['Accept-Encoding: br'], [`If-None-Match: ${etag}`], ['If-None-Match: "other"']]
      for (const method of ['GET', 'HEAD']) {
        for (const wish of wishes) {
          await change()
          const [seen, misses] = [running.long(), running.service.answers.counts.misses]
          const short = await ask(method, path, ...wish)
          assert.equal(running.long(), seen, `${method} ${path} took the long way`)
          assert.equal(running.service.answers.counts.misses, misses + 1)
          await change()
          const long = await ask(method, path, ...wish, theLongWay)
          assert.deepEqual(comparable(short), comparable(long), `${method} ${path} ${wish}`)
        }
      }
    }
  })

  it('is refused in the words of the long way once there is nothing there any more', async () => {
    const { group, paths, posts, ask } = await known()
    const [path = ''] = paths
    await write(group.store, running.clock.now, (writer) => deleteContainer(writer, posts))
    const answers = [await ask('GET', path), await ask('GET', path), await ask('GET', path, theLongWay)].map(comparable)
    assert.equal(answers[0]?.status, 404)
    assert.deepEqual(answers[0], answers[2])
    assert.deepEqual(answers[1], answers[2])
  })

  it('takes the long way where it could not be made, or not soon', async () => {
    const { paths, ask, change } = await known()
    const [path = '', other = ''] = paths
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    after(() => Object.assign(currentFiles, { prepare }))
    const passes = Promise.withResolvers<void>()
    const obstacles = [() => Promise.reject(new Error('away for a moment')), () => {}, () => passes.promise]
    currentFiles.prepare = async (...wanted) => {
      await obstacles.shift()?.()
      return prepare(...wanted)
    }
    await change()
    const seen = running.long()
    assert.equal((await ask('GET', path)).status, 200)
    assert.equal(running.long(), seen + 1, 'what has failed')
    const late = ask('GET', other)
    await setTimeout(5500)
    passes.resolve()
    assert.equal((await late).status, 200)
    assert.equal(running.long(), seen + 2, 'what has taken more than five seconds')
  })
})

describe('the hot lane and the limits', () => {
  it('charge a request once, whichever way it takes, and refuse in the same words', async () => {
    const limits = ['anonymous', 'free', 'basic', 'pro', 'proplus'].map((tier) => `${tier}=1/6`).join()
    const running = await start('sqlite', { RATE_LIMITS: limits })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const [path = ''] = paths
    const left: (string | undefined)[] = []
    for (let round = 0; round < 8; round += 1) {
      const answer = await running.send('GET', path, `Authorization: ${group.key}`)
      assert.equal(answer.status, round < 6 ? 200 : 429)
      left.push(/r=(\d+)/.exec(answer.header('ratelimit') ?? '')?.[1])
      if (round >= 6) assert.equal(answer.header('retry-after'), '1')
    }
    assert.deepEqual(left, ['5', '4', '3', '2', '1', '0', '0', '0'])
    assert.equal(running.long(), 3, 'the first one and the two that were refused')
  })

  it('hold one place and take one token for what is handed over to the long way', async () => {
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

  it('leave a URL that was answered before to the long way while the house is full', async () => {
    const running = await start('sqlite', { MAX_CONCURRENT_REQUESTS: '1' })
    after(() => running.close())
    const { group, posts, paths } = await fill(running)
    const ask = (path: string) => running.send('GET', path, `Authorization: ${group.key}`)
    const [path = '', other = ''] = paths
    for (const each of [path, other]) for (let round = 0; round < 2; round += 1) await ask(each)
    await group.add(posts, { value: { title: 'One more' } })
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
    passes.resolve()
    assert.equal((await first).status, 200)
    assert.equal((await ask(other)).status, 200)
  })

  it('log the address that a trusted proxy tells', async () => {
    const running = await start('sqlite', { TRUST_PROXY: '127.0.0.1' })
    after(() => running.close())
    const { group, paths } = await fill(running)
    const ask = (forwarded: string) =>
      running.send('GET', paths[0] ?? '', `Authorization: ${group.key}`, `X-Forwarded-For: ${forwarded}`)
    await ask('198.51.100.1')
    const seen = running.long()
    for (const [forwarded, address] of [
      ['203.0.113.9, 198.51.100.2', '198.51.100.2'],
      ['2001:db8::7', '2001:db8::7'],
      ['198.51.100.3, 127.0.0.1', '198.51.100.3'],
    ] as const) {
      const answer = await ask(forwarded)
      const line = running
        .log()
        .split('\n')
        .find((text) => text.includes(answer.header('x-request-id') ?? 'none'))
      assert.equal(JSON.parse(line ?? '{}').address, address)
    }
    assert.equal(running.long(), seen, 'all of them were hot')
    await ask('unknown, 198.51.100.4')
    assert.equal(running.long(), seen + 1, 'what is no address is left to the long way')
  })
})

describe('the hot lane at the end', () => {
  it('is closed when the service stops: what still comes is answered, and asked to close its connection', async () => {
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

describe('a request whose client has left', () => {
  it('leaves no timer behind, whichever way it took', async () => {
    const running = await start('sqlite')
    after(() => running.close())
    const { group, posts, paths } = await fill(running)
    const [path = ''] = paths
    const { currentFiles } = running.service.media
    const { prepare } = currentFiles
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    for (const way of ['long', 'hot'] as const) {
      const [arrived, passes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      currentFiles.prepare = async (...wanted) => {
        arrived.resolve()
        await passes.promise
        return prepare(...wanted)
      }
      const [before, seen] = [timers(), running.long()]
      const socket = connect(running.port, '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${group.key}\r\n\r\n`)
      await arrived.promise
      assert.ok(timers() > before, 'while it runs there is one')
      socket.destroy()
      await setTimeout(50)
      passes.resolve()
      await setTimeout(50)
      assert.equal(timers(), before, way)
      assert.equal(running.long() - seen, way === 'long' ? 1 : 0)
      currentFiles.prepare = prepare
      await running.send('GET', path, `Authorization: ${group.key}`) // now its question is known
      await group.add(posts, { value: { title: 'One more' } })
    }
  })
})

describe('a service without memory for answers', () => {
  it('gives the same answers, and what a URL asks for is read once', async () => {
    const [cached, uncached] = [await start('sqlite'), await start('sqlite', { ANSWER_CACHE_MB: '0' })]
    after(() => Promise.all([cached.close(), uncached.close()]))
    for (const running of [cached, uncached]) {
      const group = await running.newGroup()
      const ask = () => running.send('GET', '/tenant/integrationObjects?type=stripe', `Authorization: ${group.key}`)
      const answers = [await ask(), await ask(), await ask()].map(comparable)
      assert.deepEqual(answers[0], answers[1])
      assert.deepEqual(answers[0], answers[2])
      assert.equal(running.long(), 1)
    }
  })

  it('sends each of them whole, also to who reads slowly and asks for many at once', async () => {
    const running = await start('sqlite', { ANSWER_CACHE_MB: '0' })
    after(() => running.close())
    const group = await running.newGroup()
    const posts = await group.collection('Posts', { text: { type: 'text' } })
    await group.add(posts, ...Array.from({ length: 30 }, (_, n) => ({ value: { text: `${n} é `.repeat(5000) } })))
    const paths = Array.from({ length: 20 }, (_, skip) => {
      return `/tenant/collectionObjects?collectionId=${posts.id}&limit=10&skip=${skip}`
    })
    const asking = (path: string, ...headers: string[]) =>
      [`GET ${path} HTTP/1.1`, 'Host: a.example', `Authorization: ${group.key}`, ...headers, '', ''].join('\r\n')
    const expected: Buffer[] = []
    for (const path of paths) expected.push((await running.sendRaw(asking(path, theLongWay))).body)
    assert.equal(new Set(expected.map(String)).size, paths.length)
    for (const path of paths) await running.sendRaw(asking(path)) // from now on each is known
    const seen = running.long()
    const askSlowly = async (): Promise<Buffer> => {
      const socket = connect(running.port, '127.0.0.1')
      socket.pause()
      socket.write(paths.map((path) => asking(path)).join('') + lastRequest)
      await setTimeout(300) // no more than what the system takes is under way by then
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
    assert.equal(running.long(), seen)
  })

  it('gives back the bytes of each as soon as it is sent', async () => {
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
    assert.deepEqual(areGone(), [false, true, false], 'the long way, the short one, and one without a body')
  })
})
