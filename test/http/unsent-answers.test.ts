import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createUnsentAnswers } from '../../src/http/unsent-answers.ts'
import { createHarness, type Harness, type TestGroup } from '../helpers/harness.ts'

/** More than the system's buffers of one connection. */
const bigBytes = 16 * 2 ** 20

interface Running extends Harness {
  port: number
  /** How often a large answer was built. */
  made(): number
}

function listening(env: Record<string, string>): Running {
  const running = {} as Running
  let made = 0
  before(async () => {
    const harness = await createHarness('sqlite', {
      env,
      prepare: (app) => {
        app.get('/big', async () => {
          made += 1
          return Buffer.alloc(bigBytes, 'a')
        })
        app.get('/file', async (_request, reply) => {
          made += 1
          const piece = Buffer.alloc(64 * 1024, 'a')
          return reply.send(Readable.from(Array.from({ length: bigBytes / piece.length }, () => piece)))
        })
      },
    })
    Object.assign(running, harness, { made: () => made })
    running.port = Number(new URL((await running.service.listen()).baseUrl).port)
  })
  after(() => running.close())
  return running
}

const get = (path: string, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: a.example', ...headers, '', ''].join('\r\n')

/** A connection that sends requests and does not read. */
async function ask(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  after(() => socket.destroy())
  socket.on('error', () => {}).pause()
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(10)
}

const held = ({ service }: Running): number => service.unsent.counts.bytes

describe('a connection with pipelined requests', () => {
  const running = listening({})
  const pipelined = 4

  for (const path of ['/big', '/file']) {
    it(`has one answer in progress, and delivers all of them in order when the client reads: ${path}`, async () => {
      const before = running.made()
      const socket = await ask(running.port, get(path).repeat(pipelined) + get('/healthz', 'Connection: close'))
      await until(() => held(running) > 0)
      await sleep(100)
      assert.equal(running.made() - before, 1)
      socket.resume()
      const text = (await buffer(socket)).toString('latin1')
      assert.equal(running.made() - before, pipelined)
      assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, pipelined + 1)
      assert.match(text, /\{"status":"alive"\}$/)
      assert.equal(held(running), 0)
    })
  }

  it('is closed when more than 32 requests wait on it', async () => {
    const before = running.made()
    const socket = await ask(running.port, get('/big').repeat(34))
    await once(socket.resume(), 'close')
    assert.ok(running.made() - before <= 1)
  })
})

describe('a client that does not read', () => {
  const running = listening({ SEND_TIMEOUT_SECONDS: '1' })

  for (const path of ['/big', '/file']) {
    it(`is cut off, and its answer is freed: ${path}`, async () => {
      const { cut } = running.service.unsent.counts
      const sockets = await Promise.all(Array.from({ length: 3 }, () => ask(running.port, get(path))))
      await until(() => held(running) > 0)
      await until(() => held(running) === 0)
      assert.equal(running.service.unsent.counts.cut - cut, 3)
      for (const socket of sockets) assert.ok((await buffer(socket).catch(() => Buffer.alloc(0))).length < bigBytes)
      assert.match(running.log(), /"msg":"slow readers were cut off"/)
    })
  }
})

describe('a client that reads slowly', () => {
  const running = listening({ SEND_TIMEOUT_SECONDS: '3' }) // longer than one pause, shorter than all of them

  for (const path of ['/big', '/file']) {
    it(`is not cut off while it reads, however long it takes: ${path}`, async () => {
      const { cut } = running.service.unsent.counts
      const socket = await ask(running.port, get(path, 'Connection: close'))
      let bytes = 0
      let pauseAt = 0
      const closed = once(socket, 'close')
      socket.on('data', (piece) => {
        bytes += piece.length
        if (bytes < pauseAt) return
        pauseAt += 2 ** 19
        socket.pause()
        setTimeout(() => socket.resume(), 150)
      })
      socket.resume()
      await closed
      assert.ok(bytes > bigBytes)
      assert.equal(running.service.unsent.counts.cut, cut)
    })
  }
})

describe('a caller over its limit of unread answers', () => {
  const running = listening({ MAX_UNSENT_MB: '16' })
  let group: TestGroup
  let other: TestGroup
  let path: string
  before(async () => {
    group = await running.newGroup()
    other = await running.newGroup()
    const posts = await group.collection('Posts', { text: { type: 'text' } })
    const objects = Array.from({ length: 100 }, () => ({ value: { text: 'é'.repeat(35_000) } }))
    for (let at = 0; at < 100; at += 20) await group.add(posts, ...objects.slice(at, at + 20))
    path = `/tenant/collectionObjects?collectionId=${posts.id}`
  })
  const status = async (asked: string, headers: Record<string, string> = {}): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${running.port}${asked}`, { headers })
    await answer.arrayBuffer()
    return answer.status
  }
  const url = () => `http://127.0.0.1:${running.port}${path}`

  for (const asked of ['', '&skip=0']) {
    it(`is refused with 429 before another answer is built, and served again once it has read; others are not affected: ${asked || 'cached'}`, async () => {
      const authorization = group.key
      assert.equal(await status(path, { authorization }), 200)
      const socket = await ask(running.port, get(path + asked, `Authorization: ${authorization}`))
      await until(() => held(running) > 0)
      const refused = await fetch(url(), { headers: { authorization } })
      assert.equal(refused.status, 429)
      assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      const { error, ...envelope } = (await refused.json()) as { error: string }
      assert.deepEqual(envelope, { success: false, data: null, code: 'RateLimited' })
      assert.match(error, /wait to be read/)
      assert.equal(await status('/tenant/integrationObjects?type=stripe', { authorization: other.key }), 200)
      assert.equal(await status('/docs'), 200)
      assert.equal(await status('/healthz'), 200)
      socket.resume()
      await until(() => held(running) === 0)
      assert.equal(await status(path, { authorization }), 200)
      socket.destroy()
    })
  }

  it('counts anonymous callers by address, and still answers health checks', async () => {
    const socket = await ask(running.port, get('/big'))
    await until(() => held(running) > 0)
    assert.deepEqual([await status('/docs'), await status('/healthz')], [429, 200])
    assert.equal(await status(path, { authorization: group.key }), 200)
    socket.destroy()
    await until(() => held(running) === 0)
    assert.equal(await status('/docs'), 200)
  })
})

/** A response with unsent bytes, on a connection that records what happens to it. */
function fakeResponse(bytes: number) {
  const socket = Object.assign(new EventEmitter(), { destroyed: false, writableEnded: false, writableLength: bytes })
  const resetAndDestroy = () => Object.assign(socket, { destroyed: true })
  const response = Object.assign(new EventEmitter(), {
    socket: Object.assign(socket, { resetAndDestroy, _handle: null }),
    writableLength: bytes,
  })
  return { response: response as unknown as ServerResponse, isCut: () => socket.destroyed }
}

describe('unsent answers', () => {
  const megabyte = 2 ** 20
  function create() {
    const unsent = createUnsentAnswers({ maxBytes: 16 * megabyte, timeLimitMs: 60_000, logger: { warn() {} } })
    after(unsent.close)
    const hold = (caller: string, megabytes: number) => {
      const fake = fakeResponse(megabytes * megabyte)
      unsent.hold(fake.response, caller)
      return fake
    }
    return { unsent, hold }
  }

  it('of one caller stay within its share: its stalest connection is cut off, and no other caller’s', async () => {
    const { unsent, hold } = create()
    const other = hold('b', 3)
    const answers = [hold('a', 1), hold('a', 1), hold('a', 1), hold('a', 1)]
    await nextTurn()
    assert.deepEqual(
      answers.map(({ isCut }) => isCut()),
      [true, false, false, false],
    )
    const large = hold('a', 8)
    await nextTurn()
    assert.deepEqual(
      answers.map(({ isCut }) => isCut()),
      [true, true, true, true],
    )
    assert.equal(large.isCut(), false, 'one answer may be larger than the share')
    assert.equal(other.isCut(), false)
    assert.equal(unsent.counts.cut, 4)
  })

  it('of all callers stay within the limit: the caller with the most loses its stalest connection', async () => {
    const { unsent, hold } = create()
    const small = Array.from({ length: 5 }, (_, number) => hold(`small ${number}`, 1))
    const greedy = [hold('greedy', 2), hold('greedy', 1)]
    const more = Array.from({ length: 4 }, (_, number) => hold(`more ${number}`, 2))
    await nextTurn()
    assert.ok(unsent.counts.bytes <= 16 * megabyte)
    assert.deepEqual(
      greedy.map(({ isCut }) => isCut()),
      [true, false],
    )
    assert.ok([...small, ...more].every(({ isCut }) => !isCut()))
  })

  it('are not counted when the network accepted them within the same turn', async () => {
    const { unsent, hold } = create()
    Object.assign(hold('a', 8).response, { writableFinished: true })
    await nextTurn()
    assert.equal(unsent.counts.bytes, 0)
  })

  it('are counted until the response closes, once', async () => {
    const { unsent, hold } = create()
    const { response } = hold('a', 8)
    unsent.hold(response, 'a')
    await nextTurn()
    assert.ok(unsent.counts.bytes < 9 * megabyte)
    assert.deepEqual([unsent.isFull('a'), unsent.isFull('b')], [true, false])
    response.emit('close')
    response.emit('close')
    assert.equal(unsent.counts.bytes, 0)
    assert.equal(unsent.isFull('a'), false)
  })
})
