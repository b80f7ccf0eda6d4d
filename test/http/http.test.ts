import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { internalErrorMessage } from '../../src/core/errors.ts'
import { createHarness, type Harness } from '../helpers/harness.ts'
import { readUntilClosed } from '../helpers/uploads.ts'

const bodyLimitBytes = 256 * 1024
const answerTimeoutMs = 10_000

interface Answer {
  status: number
  headers: Headers
  body: string
}

/** Parses a raw HTTP answer. */
function parseAnswer(bytes: Buffer): Answer {
  const text = bytes.toString()
  const end = text.indexOf('\r\n\r\n')
  assert.ok(end > 0, `no HTTP answer: ${JSON.stringify(text.slice(0, 200))}`)
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(': ')[0] ?? '', line.split(': ').slice(1).join(': ')]),
  )
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]), headers, body: text.slice(end + 4) }
}

/** Sends bytes over a new socket and reads until the server closes it. */
async function send(port: number, ...pieces: (string | Buffer)[]): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  socket.setTimeout(answerTimeoutMs, () => socket.destroy(new Error('the server neither answered nor closed')))
  for (const piece of pieces) socket.write(piece)
  return parseAnswer(await buffer(socket))
}

const get = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: a.example', 'Connection: close', ...headers, '', ''].join('\r\n')

const post = (path: string, contentType: string | undefined, body: string | Buffer, ...headers: string[]): Buffer => {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: a.example',
    'Connection: close',
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), Buffer.from(body)])
}

/** Asserts what every answer of the service has. */
function assertHeaders(
  { headers }: Answer,
  contentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'",
): void {
  assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{24}$/)
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('referrer-policy'), 'no-referrer')
  assert.equal(headers.get('content-security-policy'), contentSecurityPolicy)
  assert.equal(headers.get('cache-control'), 'no-store')
  const talkative = [...headers.keys()].filter((name) => /^(server|x-powered-by|access-control-.*)$/.test(name))
  assert.deepEqual(talkative, [])
}

/** Asserts status, envelope and headers of a failure. */
function assertFailure(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.body)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.match(answer.body, /^\{"success":false,"data":null,"error":"[^"].+","code":"[A-Za-z]+"\}$/)
  const { error, ...envelope } = JSON.parse(answer.body)
  assert.deepEqual(envelope, { success: false, data: null, code })
  assert.match(error, /^[A-Z].*\.$/)
  assertHeaders(answer)
}

function assertRetryable(answer: Answer): void {
  assertFailure(answer, 503, 'Unavailable')
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
}

interface Running extends Harness {
  port: number
}

/** A service that listens on a port, for the current suite. */
function listening(options: Parameters<typeof createHarness>[1] = {}): Running {
  const running = {} as Running
  before(async () => {
    Object.assign(running, await createHarness('sqlite', options))
    running.port = Number(new URL((await running.service.listen()).baseUrl).port)
  })
  after(() => running.close())
  return running
}

const logged = (running: Harness): Record<string, unknown>[] =>
  running
    .log()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** The log line of a request, which is written after the answer was sent. */
async function loggedRequest(running: Harness, answer: Answer): Promise<Record<string, unknown>> {
  const requestId = answer.headers.get('x-request-id')
  const deadline = Date.now() + answerTimeoutMs
  while (Date.now() < deadline) {
    const line = logged(running).find((entry) => entry.requestId === requestId && entry.msg === 'request')
    if (line) return line
    await new Promise((resolve) => setImmediate(resolve))
  }
  return assert.fail(`request ${requestId} was not logged`)
}

describe('an invalid or unroutable request', () => {
  const running = listening()

  for (const path of [
    '/nope',
    '/tenant',
    '/tenant/',
    '/tenant/siteDetails/',
    '/tenant/sitedetails',
    '//healthz',
    '/%2e%2e',
    '/:x(',
    '/a*b',
    '/__proto__',
    '/media',
  ]) {
    it(`GET ${path} is 404`, async () => assertFailure(await send(running.port, get(path)), 404, 'NotFound'))
  }

  it('GET / redirects to the API reference', async () => {
    const answer = await send(running.port, get('/'))
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/docs'])
  })

  it('an unknown route is 404 for every method, with or without a body', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      assertFailure(await send(running.port, get('/nope').replace('GET', method)), 404, 'NotFound')
    }
    assertFailure(await send(running.port, post('/nope', 'application/json', '{}')), 404, 'NotFound')
    assertFailure(await send(running.port, post('/nope', 'text/plain', 'x')), 404, 'NotFound')
  })

  for (const path of [
    '/tenant/siteDetails',
    '/tenant/collectionObjects',
    '/tenant/integrationObjects',
    '/tenant/preview',
    '/healthz',
    '/media/bucket/a/b.png',
  ]) {
    it(`another method than GET on ${path} is 405 with Allow`, async () => {
      for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        const answer = await send(running.port, get(`${path}?a=b`).replace('GET', method))
        assertFailure(answer, 405, 'MethodNotAllowed')
        assert.equal(answer.headers.get('allow'), path === '/tenant/preview' ? 'GET' : 'GET, HEAD')
      }
      assertFailure(await send(running.port, post(path, 'application/json', '{}')), 405, 'MethodNotAllowed')
    })
  }

  for (const path of ['/%', '/%zz', '/tenant/%ff', '/media/bucket/%e0%a4%a', '/media/%zz/a.png', '/healthz%']) {
    it(`a path with broken percent-encoding is 400: ${path}`, async () => {
      assertFailure(await send(running.port, get(path)), 400, 'ValidationError')
    })
  }

  it('headers over 16 KB are 431', async () => {
    assertFailure(await send(running.port, get('/healthz', `X-Long: ${'a'.repeat(17_000)}`)), 431, 'HeadersTooLarge')
    const many = Array.from({ length: 2000 }, (_, position) => `X-${position}: aaaa`)
    assertFailure(await send(running.port, get('/healthz', ...many)), 431, 'HeadersTooLarge')
  })

  it('a URL over the limit is 431', async () => {
    assertFailure(await send(running.port, get(`/${'a'.repeat(17_000)}`)), 431, 'HeadersTooLarge')
    assertFailure(
      await send(running.port, get(`/tenant/siteDetails?siteId=${'a'.repeat(17_000)}`)),
      431,
      'HeadersTooLarge',
    )
  })

  it('a URL just below the limit is accepted', async () => {
    assertFailure(await send(running.port, get(`/${'a'.repeat(15_000)}`)), 404, 'NotFound')
    assertFailure(await send(running.port, get(`/media/bucket/${'a'.repeat(15_000)}`)), 403, 'Forbidden')
  })

  const garbage: Record<string, string | Buffer> = {
    'a word': 'hello\r\n\r\n',
    'a TLS handshake': Buffer.from('16030100a5010000a10303', 'hex'),
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'an unknown method': 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n',
    'a method in lower case': 'get / HTTP/1.1\r\nHost: a\r\n\r\n',
    'an unknown version': 'GET / HTTP/9.9\r\nHost: a\r\n\r\n',
    'a header without a colon': 'GET / HTTP/1.1\r\nHost a\r\n\r\n',
    'a header with NUL': 'GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n',
    'a space before the colon': 'GET / HTTP/1.1\r\nHost : a\r\n\r\n',
    'a length that is no number': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n',
    'a negative length': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
    'two different lengths': 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'a length and chunks':
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'an unknown transfer encoding': 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
    'a line feed in the path': 'GET /a\nb HTTP/1.1\r\nHost: a\r\n\r\n',
    'HTTP/0.9': 'GET /healthz\r\n\r\n',
    'HTTP/0.9 by name': 'GET /healthz HTTP/0.9\r\nHost: a\r\n\r\n',
    'HTTP/2.0 in a line of HTTP/1': 'GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n',
    'chunks in HTTP/1.0':
      'POST /healthz HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two hosts': 'GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n',
    'the same host twice': 'GET /healthz HTTP/1.1\r\nHost: a\r\nAccept: */*\r\nHOST: a\r\n\r\n',
    'two keys': 'GET /tenant/siteDetails HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nauthorization: b\r\n\r\n',
    'the same token twice': `GET /manage/me HTTP/1.1\r\nHost: a\r\n${'Authorization: Bearer a\r\n'.repeat(2)}\r\n`,
    'a second host behind thousands of headers': `GET /healthz HTTP/1.1\r\nHost: a\r\n${'a:\r\n'.repeat(2500)}Host: b\r\n\r\n`,
    'random bytes': Buffer.from(Array.from({ length: 500 }, (_, position) => (position * 97 + 31) % 256)),
  }
  it('garbage leaves no open connection, even when the peer never closes its side', async () => {
    const connections = () => promisify(running.app.server.getConnections.bind(running.app.server))()
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connect({ port: running.port, host: '127.0.0.1', allowHalfOpen: true })
        socket.on('error', () => {}).write('garbage\r\n\r\n')
        socket.resume()
        await once(socket, 'end')
        return socket
      }),
    )
    for (let tries = 0; (await connections()) > 0 && tries < 100; tries += 1) await sleep(20)
    assert.equal(await connections(), 0)
    for (const socket of sockets) socket.destroy()
  })

  for (const [what, bytes] of Object.entries(garbage)) {
    it(`${what} is 400, and the connection ends`, async () => {
      const answer = await send(running.port, bytes)
      assertFailure(answer, 400, 'ValidationError')
      assert.equal(answer.headers.get('connection'), 'close')
      assert.equal(answer.headers.get('content-length'), String(Buffer.byteLength(answer.body)))
    })
  }

  it('a reset connection does not affect the service', async () => {
    for (let round = 0; round < 20; round += 1) {
      const socket = connect(running.port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET /healthz HTTP/1.1\r\nHost')
      socket.resetAndDestroy()
    }
    assert.equal((await send(running.port, get('/healthz'))).status, 200)
  })

  it('a request whose client resets the connection is logged with its address, and affects no other', async () => {
    for (let round = 0; round < 40; round += 1) {
      const resets = Array.from({ length: 10 }, async (_, ms) => {
        const socket = connect(running.port, '127.0.0.1')
        const closed = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
        await once(socket, 'connect')
        socket.write(get(ms % 2 === 0 ? '/' : '/nope'))
        if (ms > 1) await sleep(ms % 5)
        socket.resetAndDestroy()
        await closed
      })
      await Promise.all(resets)
    }
    assert.equal((await send(running.port, get('/healthz'))).status, 200)
    const addresses = logged(running).flatMap(({ msg, address }) => (msg === 'request' ? [address] : []))
    assert.deepEqual([...new Set(addresses)], ['127.0.0.1'])
  })

  it('a request without a Host is 400 in HTTP/1.1, which requires one, and valid in HTTP/1.0', async () => {
    assertFailure(await send(running.port, get('/healthz').replace('Host: a.example\r\n', '')), 400, 'ValidationError')
    assert.equal((await send(running.port, 'GET /healthz HTTP/1.0\r\n\r\n')).status, 200)
  })

  it('an unknown route is 404 before its body is read', async () => {
    assertFailure(await send(running.port, post('/nope', 'application/json', '{"broken')), 404, 'NotFound')
    assertFailure(await send(running.port, post('/nope', 'application/json', '')), 404, 'NotFound')
    const huge = 'POST /nope HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 999999999\r\n\r\n'
    assertFailure(await send(running.port, huge), 404, 'NotFound')
  })

  it('an unknown expectation is ignored', async () => {
    assert.equal((await send(running.port, get('/healthz', 'Expect: the-unexpected'))).status, 200)
  })
})

describe('a request that does not arrive in time', () => {
  const running = listening({
    prepare: (app) => {
      app.post('/echo', async () => ({ ok: true }))
      // Short limits; the real ones are tested below.
      Object.assign(app.server, { headersTimeout: 150, connectionsCheckingInterval: 30 })
      app.bodyTimeoutMs = 300
    },
  })

  it('is 408 when its headers stop half-way', async () => {
    assertFailure(await send(running.port, 'GET /healthz HTTP/1.1\r\nHost: a'), 408, 'RequestTimeout')
  })

  it('is 408 when its headers trickle in forever', async () => {
    const socket = connect(running.port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\n')
    const drops = setInterval(() => socket.write('X-Drop: 1\r\n'), 40)
    const answer = parseAnswer(Buffer.from(await readUntilClosed(socket).finally(() => clearInterval(drops))))
    assertFailure(answer, 408, 'RequestTimeout')
  })

  it('is 408 when its body stops half-way', async () => {
    const head = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":'
    assertFailure(await send(running.port, head), 408, 'RequestTimeout')
  })

  for (const [path, status] of [
    ['/nope', 404],
    ['/healthz', 405],
    ['/manage/groups', 401],
  ] as const) {
    it(`is cut off without another answer when its body trickles in after an answer of ${status}`, async () => {
      const socket = connect(running.port, '127.0.0.1')
      const started = performance.now()
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n`,
      )
      const drops = setInterval(() => socket.write(' '), 20)
      const text = await readUntilClosed(socket).finally(() => clearInterval(drops))
      assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), [`HTTP/1.1 ${status}`])
      assert.ok(performance.now() - started >= 290, 'there was time to read the answer')
    })
  }

  it('is cut off when its body trickles in after an unreadable URL', async () => {
    const socket = connect(running.port, '127.0.0.1')
    socket.write('POST /%zz HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n')
    const drops = setInterval(() => socket.write(' '), 20)
    assertFailure(
      parseAnswer(Buffer.from(await readUntilClosed(socket).finally(() => clearInterval(drops)))),
      400,
      'ValidationError',
    )
  })

  it('excludes one whose body has arrived, however long the connection stays open', async () => {
    const socket = connect(running.port, '127.0.0.1')
    const kept = post('/echo', 'application/json', '{}').toString().replace('Connection: close\r\n', '')
    socket.write(kept)
    await sleep(500)
    socket.write(kept + get('/healthz'))
    const text = (await buffer(socket)).toString()
    assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200'])
  })

  it('has these limits in production too: 10 s for headers, 30 s for a body, an hour for a file', async () => {
    const { app, close } = await createHarness('sqlite')
    const { headersTimeout, requestTimeout } = app.server
    await close()
    assert.deepEqual(
      { headersTimeout, bodyTimeoutMs: app.bodyTimeoutMs, requestTimeout },
      { headersTimeout: 10_000, bodyTimeoutMs: 30_000, requestTimeout: 3_600_000 },
    )
  })
})

describe('a body', () => {
  /** Every body that reached a handler. */
  const received: unknown[] = []
  const running = listening({
    prepare: (app) => {
      app.post('/echo', async (request) => {
        received.push(request.body)
        return { kind: Array.isArray(request.body) ? 'list' : typeof request.body }
      })
    },
  })
  const sendBody = (contentType: string | undefined, body: string | Buffer, ...headers: string[]) =>
    send(running.port, post('/echo', contentType, body, ...headers))

  /** Sends a body that must be refused, and asserts that it reached no handler. */
  async function assertNotHandled(status: number, code: string, ...args: Parameters<typeof sendBody>): Promise<void> {
    const before = received.length
    assertFailure(await sendBody(...args), status, code)
    assert.equal(received.length, before)
  }

  it('whose client disconnects half-way is not a failure of the service', async () => {
    const before = received.length
    const seen = logged(running).length
    const connections = () => promisify(running.app.server.getConnections.bind(running.app.server))()
    for (const leave of ['end', 'resetAndDestroy'] as const) {
      const socket = connect(running.port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      socket.write(post('/echo', 'application/json', '{"a":1}').subarray(0, -2))
      await sleep(100)
      socket.resume()[leave]()
      for (let tries = 0; (await connections()) > 0 && tries < 100; tries += 1) await sleep(20)
    }
    const problems = logged(running).slice(seen).filter(({ level, msg }) => level !== 'info' && msg !== 'the event loop stalled') // biome-ignore format: one line
    assert.deepEqual(problems, [])
    assert.equal(received.length, before)
  })

  it('of JSON is accepted', async () => {
    const answer = await sendBody('application/json', '{"a":1}')
    assert.equal(answer.status, 200)
    assert.deepEqual(received.at(-1), { a: 1 })
  })

  const brokenJson = [
    '{',
    '{"broken',
    '{"a":1',
    "{'a':1}",
    '{a:1}',
    '{"a":1,}',
    'undefined',
    'NaN',
    ' ',
    '{}{}',
    '\0',
    '{"a":"\n"}',
    '[1,',
  ]
  for (const body of brokenJson) {
    it(`of ${JSON.stringify(body)} is 400`, () => assertNotHandled(400, 'ValidationError', 'application/json', body))
  }

  it('that is empty is 400', () => assertNotHandled(400, 'ValidationError', 'application/json', ''))

  it('that is compressed is never misread', () =>
    assertNotHandled(400, 'ValidationError', 'application/json', gzipSync('{"a":1}'), 'Content-Encoding: gzip'))

  const otherTypes = [
    'text/plain', 'text/plain; charset=utf-8', 'text/json', 'text/html', 'application/jsonx', 'application/json+x', 'application/json-seq',
    'application/vnd.api+json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream',
    'application/xml', 'json', '/json', 'application/', '*/*', 'application/json, text/plain', 'text/plain, application/json',
    'application / json', 'application/json x', 'xapplication/json', 'application/json\u00a0', '', undefined,
  ] // biome-ignore format: one line reads better
  for (const contentType of otherTypes) {
    it(`sent as ${JSON.stringify(contentType)} is 415, whether it is JSON or not`, async () => {
      await assertNotHandled(415, 'UnsupportedMediaType', contentType, '{"a":1}')
      await assertNotHandled(415, 'UnsupportedMediaType', contentType, '{"broken')
    })
  }

  const spellings = [
    'application/json; charset=utf-8', 'application/json;charset=utf-8', 'application/json ;charset=utf-8', 'application/json\t;charset=utf-8',
    'application/json \t ; charset=utf-8', '\tapplication/json', 'application/json\t', 'APPLICATION/JSON', 'Application/Json; Charset=UTF-8',
    'application/json;', 'application/json;;', 'application/json; charset="utf-8"', 'application/json; a=b; c=d',
  ] // biome-ignore format: one line reads better
  for (const contentType of spellings) {
    it(`sent as ${JSON.stringify(contentType)} is parsed as JSON or refused, and never passed on unread`, async () => {
      const valid = await sendBody(contentType, '{"a":1}')
      if (valid.status === 200) assert.equal(JSON.parse(valid.body).kind, 'object')
      else assertFailure(valid, 415, 'UnsupportedMediaType')
      for (const body of ['{"broken', '', 'a=b']) {
        const before = received.length
        const invalid = await sendBody(contentType, body)
        assertFailure(
          invalid,
          invalid.status === 415 ? 415 : 400,
          invalid.status === 415 ? 'UnsupportedMediaType' : 'ValidationError',
        )
        assert.equal(received.length, before)
      }
    })
  }

  it('of exactly 256 KB is accepted, and of one byte more is 413', async () => {
    const json = (bytes: number): string => `"${'a'.repeat(bytes - 2)}"`
    assert.equal((await sendBody('application/json', json(bodyLimitBytes))).status, 200)
    await assertNotHandled(413, 'PayloadTooLarge', 'application/json', json(bodyLimitBytes + 1))
  })

  it('that announces too large a size is 413 before a byte of it has arrived', async () => {
    const head =
      'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n'
    assertFailure(await send(running.port, head), 413, 'PayloadTooLarge')
  })

  it('whose chunks add up to too large a size is 413', async () => {
    const head =
      'POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    const chunkOf = (text: string) => `10000\r\n${text}\r\n`
    const chunk = chunkOf('a'.repeat(0x10000))
    const [first, last] = [chunkOf(`"${'a'.repeat(0xffff)}`), chunkOf(`${'a'.repeat(0xffff)}"`)]
    const fits = await send(running.port, head, first, chunk, chunk, last, '0\r\n\r\n')
    assert.equal(fits.status, 200)
    const before = received.length
    assertFailure(await send(running.port, head, first, chunk, chunk, last, '1\r\n \r\n'), 413, 'PayloadTooLarge')
    assert.equal(received.length, before)
  })

  for (const body of [
    '{"__proto__":{"admin":true}}',
    '{"a":{"__proto__":{"admin":true}}}',
    '[{"__proto__":1}]',
    '{"\\u005f_proto__":{}}',
    '{"constructor":{"prototype":{"admin":true}}}',
  ]) {
    it(`that attempts prototype pollution is 400: ${body}`, async () => {
      await assertNotHandled(400, 'ValidationError', 'application/json', body)
      assert.equal(Object.hasOwn(Object.prototype, 'admin'), false)
    })
  }

  it('of a hundred thousand brackets neither ends nor delays the service', async () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000)
    const answer = await sendBody('application/json', deep)
    assert.ok(answer.status === 200 || answer.status === 400, answer.body)
    await assertNotHandled(400, 'ValidationError', 'application/json', '['.repeat(250_000))
    await assertNotHandled(400, 'ValidationError', 'application/json', '{"a":'.repeat(50_000))
    assert.equal((await send(running.port, get('/healthz'))).status, 200)
  })
})

describe('a service with 100 slots', () => {
  const running = listening({ env: { MAX_CONCURRENT_REQUESTS: '100' } })

  it('is not filled by a client that sends requests and never reads', async () => {
    const slow = connect({ port: running.port, host: '127.0.0.1' })
    slow.on('error', () => {}).pause()
    slow.write('GET /docs HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5000))
    await sleep(500)
    assert.equal((await send(running.port, get('/docs'))).status, 200)
    slow.destroy()
  })
})

describe('a service at its concurrency limit', () => {
  function gate(): { opened: Promise<void>; open(): void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    return { opened: promise, open: resolve }
  }
  let entered = gate()
  let release = gate()
  const running = listening({
    env: { MAX_CONCURRENT_REQUESTS: '1' },
    prepare: (app) => {
      app.get('/hang', async () => {
        entered.open()
        await release.opened
        return { ok: true }
      })
    },
  })

  it('answers one more with 503 and Retry-After, finishes running requests, and accepts new ones afterwards', async () => {
    entered = gate()
    release = gate()
    const hanging = send(running.port, get('/hang'))
    await entered.opened
    for (const path of ['/tenant/siteDetails?siteId=x', '/nope', '/hang'])
      assertRetryable(await send(running.port, get(path)))
    release.open()
    assert.equal((await hanging).status, 200)
    assert.equal((await send(running.port, get('/healthz'))).status, 200)
  })

  it('does not count clients that have disconnected', async () => {
    for (let round = 0; round < 3; round += 1) {
      entered = gate()
      release = gate()
      const socket = connect(running.port, '127.0.0.1')
      socket.write(get('/hang'))
      await entered.opened
      socket.destroy()
      assert.equal((await untilFree()).status, 200)
      release.open()
    }
  })

  it('does not count finished requests of app.inject', async () => {
    for (let round = 0; round < 5; round += 1) {
      assert.equal((await running.app.inject('/healthz')).statusCode, 200)
      assert.equal((await running.app.inject('/nope')).statusCode, 404)
    }
  })

  /** Repeats the request until the disconnected client's slot is free, which takes a moment. */
  async function untilFree(): Promise<Answer> {
    const deadline = Date.now() + answerTimeoutMs
    for (;;) {
      const answer = await send(running.port, get('/healthz'))
      if (answer.status === 200 || Date.now() > deadline) return answer
    }
  }
})

describe('an internal error', () => {
  const cause = 'canary-cause: password=hunter2'
  const running = listening({
    prepare: (app) => {
      const faults: Record<string, () => unknown> = {
        'an-error': () => {
          throw new Error(cause)
        },
        'a-text': () => {
          throw cause
        },
        'an-error-with-status': () => {
          throw Object.assign(new Error(cause), { statusCode: 502 })
        },
        nothing: () => {
          throw undefined
        },
        null: () => {
          throw null
        },
        'an-answer-without-json': () => ({ amount: 1n }),
      }
      for (const [name, fault] of Object.entries(faults)) app.get(`/fault/${name}`, async () => fault())
      app.get('/refused', async () => {
        throw Object.assign(new Error(cause), { code: 'ECONNREFUSED' })
      })
      app.get('/slow', { handlerTimeout: 30 }, async () => new Promise(() => {}))
    },
  })

  for (const name of ['an-error', 'a-text', 'an-error-with-status', 'nothing', 'null', 'an-answer-without-json']) {
    it(`is 500 with the same message always: ${name}`, async () => {
      const answer = await send(running.port, get(`/fault/${name}`))
      assertFailure(answer, 500, 'InternalError')
      assert.equal(JSON.parse(answer.body).error, internalErrorMessage)
      assert.equal(answer.headers.get('retry-after'), null)
    })
  }

  it('is logged with its cause, under the request id of the answer, and nowhere else', async () => {
    const answer = await send(running.port, get('/fault/an-error'))
    const requestId = answer.headers.get('x-request-id')
    const line = logged(running).find((entry) => entry.requestId === requestId && entry.level === 'error')
    assert.ok(line)
    assert.match(JSON.stringify(line.err), /canary-cause/)
    assert.match(JSON.stringify(line.err), /http\.test\.ts/, 'the stack has the location')
    assert.ok(!JSON.stringify([...answer.headers]).includes('canary') && !answer.body.includes('canary'))
  })

  it('is 503 with Retry-After when the database does not answer', async () => {
    const answer = await send(running.port, get('/refused'))
    assertRetryable(answer)
    assert.ok(!answer.body.includes('canary'))
  })

  it('is 503 with Retry-After when a handler takes too long', async () => {
    assertRetryable(await send(running.port, get('/slow')))
  })
})

describe('every answer', () => {
  const running = listening({ prepare: (app) => void app.get('/boom', () => Promise.reject(new Error('boom'))) })

  const requests: [what: string, request: string | Buffer, status: number][] = [
    ['of /healthz', get('/healthz'), 200],
    ['of /readyz', get('/readyz'), 200],
    ['of /openapi.json', get('/openapi.json'), 200],
    ['to a missing key', get('/tenant/siteDetails?siteId=x'), 401],
    ['to an unknown route', get('/nope'), 404],
    ['to a wrong method', get('/healthz').replace('GET', 'PUT'), 405],
    ['to a media address without a signature', get('/media/bucket/a.png'), 403],
    ['to a broken URL', get('/%zz'), 400],
    ['to garbage', 'garbage\r\n\r\n', 400],
    ['to headers that are too long', get('/', `X: ${'a'.repeat(20_000)}`), 431],
    ['to a fault of our own', get('/boom'), 500],
  ]
  for (const [what, bytes, status] of requests) {
    it(`${what} has the security headers and does not reveal the software`, async () => {
      const answer = await send(running.port, bytes)
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json; charset=utf-8$/)
      assertHeaders(answer)
    })
  }

  it('of /docs has them too, and allows only its styles and icon', async () => {
    const answer = await send(running.port, get('/docs'))
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
    assertHeaders(answer, "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'")
  })

  it('has its own request id, whatever the client sent', async () => {
    const sent = 'f'.repeat(24)
    const ids = new Set<string | null>()
    for (const name of ['X-Request-Id', 'Request-Id', 'X-Correlation-Id', 'Traceparent']) {
      for (const path of ['/healthz', '/nope', '/%zz']) {
        ids.add((await send(running.port, get(path, `${name}: ${sent}`))).headers.get('x-request-id'))
      }
    }
    assert.equal(ids.size, 12)
    assert.ok(!ids.has(sent))
    assert.ok(!running.log().includes(sent))
  })

  it('has no CORS headers', async () => {
    const preflight = get('/tenant/siteDetails', 'Origin: https://evil.example', 'Access-Control-Request-Method: GET')
    const answer = await send(running.port, preflight.replace('GET', 'OPTIONS'))
    assertFailure(answer, 405, 'MethodNotAllowed')
    assertHeaders(await send(running.port, get('/healthz', 'Origin: https://evil.example')))
  })

  it('to HEAD is the answer to GET without the body', async () => {
    for (const path of ['/healthz', '/openapi.json', '/nope', '/tenant/siteDetails', '/media/bucket/a.png']) {
      const asGet = await send(running.port, get(path))
      const asHead = await send(running.port, get(path).replace('GET', 'HEAD'))
      assert.equal(asHead.status, asGet.status, path)
      assert.equal(asHead.body, '', path)
      assert.equal(asHead.headers.get('content-type'), asGet.headers.get('content-type'), path)
      assert.equal(asHead.headers.get('content-length'), asGet.headers.get('content-length'), path)
    }
  })

  it('to HEAD of content is the answer to GET, with its ETag', async () => {
    const group = await running.newGroup()
    const posts = await group.collection('Posts', { title: { type: 'text' } })
    const path = `/tenant/collectionObjects?collectionId=${posts.id}`
    const asGet = await send(running.port, get(path, `Authorization: ${group.key}`))
    const asHead = await send(running.port, get(path, `Authorization: ${group.key}`).replace('GET', 'HEAD'))
    assert.equal(asHead.status, 200)
    assert.equal(asHead.body, '')
    assert.ok(asGet.headers.get('etag'))
    assert.equal(asHead.headers.get('etag'), asGet.headers.get('etag'))
  })

  it('is sent in order on one keep-alive connection', async () => {
    const kept = (path: string) => get(path).replace('Connection: close\r\n', '')
    const socket = connect(running.port, '127.0.0.1')
    socket.write(kept('/healthz') + kept('/nope') + get('/readyz'))
    const text = (await buffer(socket)).toString()
    assert.deepEqual(text.match(/HTTP\/1\.1 \d{3}/g), ['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
  })
})

describe('the log', () => {
  const running = listening()

  it('has one line for a request, without headers, query or body', async () => {
    const group = await running.newGroup()
    const path = '/tenant/preview?token=slc_preview_canary&other=canary'
    const answer = await send(
      running.port,
      get(path, `Authorization: ${group.key}`, 'Cookie: a=canary', 'User-Agent: canary'),
    )
    const { time: _time, ms, ...line } = await loggedRequest(running, answer)
    assert.equal(typeof ms, 'number')
    assert.deepEqual(line, {
      level: 'info',
      requestId: answer.headers.get('x-request-id'),
      method: 'GET',
      route: '/tenant/preview',
      status: 404,
      address: '127.0.0.1',
      group: group.group.id,
      msg: 'request',
    })
    await send(running.port, get('/canary?canary=canary', 'Authorization: canary'))
    await send(running.port, get('/canary%zz?canary=canary', 'Authorization: Bearer canary'))
    await send(running.port, 'canary canary\r\n\r\n')
    assert.ok(!running.log().includes('canary'))
    assert.ok(!running.log().includes(group.key))
  })
})

describe('the limit of anonymous callers', () => {
  const running = listening({ env: { RATE_LIMITS: 'anonymous=1/2,free=1/1,basic=1/1,pro=1/1,proplus=1/1' } })
  const statuses = async (...addresses: string[]): Promise<number[]> => {
    const found: number[] = []
    for (const remoteAddress of addresses)
      found.push((await running.app.inject({ url: '/nope', remoteAddress })).statusCode)
    return found
  }

  it('is shared by all addresses of an IPv6 network of 64 bits', async () => {
    const first = '2001:db8:1:2'
    assert.deepEqual(await statuses(`${first}::1`, `${first}:ffff::9`, `${first}:a:b:c:d`), [404, 404, 429])
    assert.deepEqual(await statuses('2001:db8:1:3::1', '2001:db8:1:3::2', '2001:db8:1:3::3'), [404, 404, 429])
  })

  it('is the same for an IPv4 address and its IPv6-mapped form', async () => {
    assert.deepEqual(await statuses('::ffff:192.0.2.1', '192.0.2.1', '::ffff:c000:201'), [404, 404, 429])
    assert.deepEqual(await statuses('::ffff:192.0.2.2', '192.0.2.3'), [404, 404])
  })
})

describe('a forged X-Forwarded-For', () => {
  const env = { RATE_LIMITS: 'anonymous=1/2,free=1/1,basic=1/1,pro=1/1,proplus=1/1' }
  const forged = (address: string) =>
    get(
      '/nope',
      `X-Forwarded-For: ${address}`,
      `X-Real-IP: ${address}`,
      `Forwarded: for=${address}`,
      'X-Forwarded-Host: evil.example',
    )

  for (const [what, trusted] of [
    ['without TRUST_PROXY', ''],
    ['where TRUST_PROXY names another address', '10.0.0.0/8,192.0.2.1'],
  ] as const) {
    describe(what, () => {
      const running = listening({ env: { ...env, TRUST_PROXY: trusted } })

      it('changes neither the limiter nor the logged address', async () => {
        const statuses: number[] = []
        for (const address of ['198.51.100.1', '198.51.100.2', '198.51.100.3', '10.0.0.1']) {
          const answer = await send(running.port, forged(address))
          statuses.push(answer.status)
          assert.equal((await loggedRequest(running, answer)).address, '127.0.0.1')
        }
        assert.deepEqual(statuses, [404, 404, 429, 429])
      })

      it('does not help in guessing keys', async () => {
        const answer = await send(
          running.port,
          get('/tenant/siteDetails', 'Authorization: guess', 'X-Forwarded-For: 198.51.100.9'),
        )
        assertFailure(answer, 429, 'RateLimited')
        assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      })
    })
  }

  describe('where TRUST_PROXY names the peer', () => {
    const running = listening({ env: { ...env, TRUST_PROXY: '127.0.0.1,10.0.0.0/8' } })

    it('is trusted: every client has its own limit, and is logged by its address', async () => {
      for (const address of ['198.51.100.1', '198.51.100.2', '2001:db8::1']) {
        const answers = [
          await send(running.port, forged(address)),
          await send(running.port, forged(address)),
          await send(running.port, forged(address)),
        ]
        assert.deepEqual(
          answers.map(({ status }) => status),
          [404, 404, 429],
        )
        for (const answer of answers) assert.equal((await loggedRequest(running, answer)).address, address)
      }
    })

    it('is trusted only up to the last address that is not a proxy: what the client sent before it is ignored', async () => {
      for (const [header, address] of [
        ['203.0.113.1, 198.51.100.7', '198.51.100.7'],
        ['203.0.113.2, 198.51.100.7, 10.0.0.5', '198.51.100.7'],
        ['10.0.0.9, 198.51.100.7, 10.0.0.5', '198.51.100.7'],
      ] as const) {
        assert.equal((await loggedRequest(running, await send(running.port, forged(header)))).address, address)
      }
      assert.equal((await send(running.port, forged('203.0.113.4, 198.51.100.7'))).status, 429)
    })
  })
})

describe('health', () => {
  const running = listening()

  it('GET /healthz reports that the process is alive, without querying the database', async () => {
    const answer = await send(running.port, get('/healthz'))
    assert.equal(answer.status, 200)
    assert.deepEqual(JSON.parse(answer.body), { status: 'alive' })
  })

  it('GET /readyz reports that the schema is current', async () => {
    await running.newGroup()
    const answer = await send(running.port, get('/readyz'))
    assert.equal(answer.status, 200)
    assert.deepEqual(JSON.parse(answer.body), { status: 'ready' })
  })

  it('GET /readyz is 503 while a schema is not current, and /healthz is still 200', async () => {
    const { store } = running.service
    const content = await store.content('main')
    for (const database of [store.control, content]) {
      const rows = await (database as typeof store.control).read.selectFrom('migrations').selectAll().execute()
      const last = rows.at(-1)
      assert.ok(last)
      await (database as typeof store.control).write((db) =>
        db.deleteFrom('migrations').where('version', '=', last.version).execute(),
      )
      assertRetryable(await send(running.port, get('/readyz')))
      assert.equal((await send(running.port, get('/healthz'))).status, 200)
      await (database as typeof store.control).write((db) => db.insertInto('migrations').values(last).execute())
      assert.equal((await send(running.port, get('/readyz'))).status, 200)
    }
  })
})

/** A proxy to a server that can be disconnected and restored. */
async function startRoute(target: { host: string; port: number }) {
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let port = 0
  const open = async (): Promise<void> => {
    server = createServer((near) => {
      const far = connect(target.port, target.host)
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from)
        from
          .on('error', () => {})
          .on('close', () => {
            sockets.delete(from)
            to.destroy()
          })
        from.pipe(to)
      }
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    assert.ok(address && typeof address === 'object')
    port = address.port
  }
  const cut = async (): Promise<void> => {
    server?.close()
    for (const socket of sockets) socket.destroy()
    if (server) await once(server, 'close')
  }
  await open()
  return { port, cut, mend: open }
}

describe('a database that becomes unreachable', () => {
  it('is 503 with Retry-After for everything that needs it, and is used again when it is back', async () => {
    const serverUrl = process.env.TEST_POSTGRES_URL
    assert.ok(serverUrl, 'TEST_POSTGRES_URL is not set: run the tests with "npm test", which starts a PostgreSQL.')
    const admin = new pg.Client(serverUrl)
    await admin.connect()
    const name = `test_away_${process.pid}`
    await admin.query(`create database ${name}`)
    const url = new URL(serverUrl)
    const route = await startRoute({ host: url.hostname, port: Number(url.port) })
    url.pathname = `/${name}`
    url.port = String(route.port)
    const running = await createHarness('sqlite', { env: { DATABASE_URL: url.href } })
    try {
      const port = Number(new URL((await running.service.listen()).baseUrl).port)
      const group = await running.newGroup()
      const posts = await group.collection('Posts', { title: { type: 'text' } })
      const list = () => {
        running.clock.now += 2000 // past the authorizer's cache
        return send(port, get(`/tenant/collectionObjects?collectionId=${posts.id}`, `Authorization: ${group.key}`))
      }
      assert.equal((await list()).status, 200)
      await route.cut()
      for (let round = 0; round < 3; round += 1) {
        assertRetryable(await list())
        assertRetryable(await send(port, get('/readyz')))
        assert.equal((await send(port, get('/healthz'))).status, 200)
      }
      await route.mend()
      assert.equal((await list()).status, 200)
      assert.equal((await send(port, get('/readyz'))).status, 200)
    } finally {
      await running.close()
      await route.cut()
      await admin.query(`drop database ${name} with (force)`)
      await admin.end()
    }
  })
})
