import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { harness, type TestGroup } from '../helpers/harness.ts'
import { goodReview, openCollection, reviewSchema } from '../helpers/visitors.ts'

/** A connection that announces a body without sending it, and the answer. */
interface SlowSender {
  socket: Socket
  text(): string
}

async function start(env: Record<string, string>) {
  const sockets: Socket[] = []
  after(() => {
    for (const socket of sockets) socket.destroy() // otherwise the service would wait for their bodies
  })
  const { service, newGroup, clock } = await harness('sqlite', { env })
  const port = Number(new URL((await service.listen()).baseUrl).port)

  async function sendSlowly({ key }: TestGroup, bytes: number): Promise<SlowSender> {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    let text = ''
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        text += chunk
      })
    await once(socket, 'connect')
    const head = [
      'POST /tenant/definedCollectionObject HTTP/1.1',
      'Host: a.example',
      `Authorization: ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${bytes}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n{`)
    return { socket, text: () => text }
  }
  const sendMany = (group: TestGroup, count: number, bytes: number): Promise<SlowSender[]> =>
    Promise.all(Array.from({ length: count }, () => sendSlowly(group, bytes)))

  /** A group, and a function to write to it. */
  async function newShop() {
    const group = await newGroup()
    const { id } = await openCollection(group, 'Reviews', reviewSchema, { accepts: ['createReview'] }, clock.now)
    const review = { collectionId: id, type: 'createReview', objectValue: goodReview }
    return {
      group,
      read: async () => (await group.get(`/tenant/collectionObjects?collectionId=${id}`)).statusCode,
      write: async () => (await group.post('/tenant/definedCollectionObject', review)).statusCode,
    }
  }
  return { sendMany, newShop }
}

describe('bodies that are still arriving', () => {
  it('do not count as requests in progress: others are served', async () => {
    const { sendMany, newShop } = await start({ MAX_CONCURRENT_REQUESTS: '2' })
    const slow = await newShop()
    const other = await newShop()
    const senders = await sendMany(slow.group, 20, 100)
    for (let round = 0; round < 3; round += 1) assert.deepEqual([await other.read(), await other.write()], [200, 201])
    assert.ok(senders.every(({ text }) => text() === ''))
  })

  it('use at most a quarter of the memory for bodies per caller: beyond it that caller is refused, and no other', async () => {
    const { sendMany, newShop } = await start({})
    const slow = await newShop()
    const other = await newShop()
    const fitting = Math.floor((40 * 2 ** 20) / (230_000 + 128 * 1024))
    const senders = await sendMany(slow.group, fitting + 20, 230_000)
    const refused = () => senders.filter(({ text }) => text() !== '')
    while (refused().length < 20) await sleep(10)
    for (const { text } of refused()) {
      assert.match(text(), /^HTTP\/1\.1 429 /)
      assert.match(text(), /Too many of your requests are still being sent/)
    }
    assert.deepEqual([await other.read(), await other.write(), await slow.read()], [200, 201, 200])
    for (const { socket } of senders) socket.destroy()
    while ((await slow.write()) !== 201) await sleep(10) // until the service has noticed
    assert.equal(refused().length, 20)
  })
})
