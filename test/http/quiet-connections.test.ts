import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeQuietConnections } from '../../src/http/server.ts'

/** Long enough for a loaded machine: the tests act within a fraction of it. */
const quietMs = 2000
const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

/** A server with short time limits, and a connection to it. */
async function open(listener: RequestListener): Promise<Socket> {
  const server = createServer({ keepAliveTimeout: 0 }, listener)
  closeQuietConnections(server, quietMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {}) // an abandoned connection may be reset
  after(() => {
    socket.destroy()
    server.close()
  })
  await once(socket, 'connect')
  return socket
}

/** The milliseconds until it is closed. */
async function untilClosed(socket: Socket): Promise<number> {
  const startedMs = performance.now()
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return performance.now() - startedMs
}

describe('an idle connection', () => {
  it('is closed after exactly its time limit without a request', async () => {
    const socket = await open((_, response) => response.end('answer'))
    socket.resume()
    socket.write(request)
    assert.ok((await untilClosed(socket)) >= quietMs)
  })

  it('is closed when its client has stopped reading', async () => {
    const size = 50_000_000
    const closed = Promise.withResolvers<void>()
    const socket = await open((received, response) => {
      received.socket.once('close', () => closed.resolve())
      response.end(Buffer.alloc(size))
    })
    socket.write(request)
    await closed.promise
    socket.resume()
    await untilClosed(socket)
    assert.ok(socket.bytesRead < size, 'it is complete')
  })

  it('stays open as long as data moves, however slowly', async () => {
    const socket = await open(async (_, response) => {
      for (let part = 0; part < 8; part += 1) {
        response.write('part')
        await sleep(quietMs / 3)
      }
      response.end('last')
    })
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
      if (text.includes('last')) socket.end()
    })
    socket.write(request)
    await untilClosed(socket)
    assert.match(text, /last/)
  })

  it('counts as new when it is used again', async () => {
    const socket = await open((_, response) => response.end('answer'))
    socket.resume()
    for (let round = 0; round < 4; round += 1) {
      socket.write(request)
      await sleep(quietMs * 0.6)
      assert.equal(socket.closed, false, `round ${round}`)
    }
  })
})
