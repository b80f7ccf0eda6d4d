import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'

/** A proxy that can be cut off from its server, closed when the test or suite ends. */
export interface CutProxy {
  port: number
  /** Breaks all connections, and every later one. */
  cut(): void
  mend(): void
}

export async function startCutProxy(target: { host: string; port: number }): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy()
    const upstream = connect(target.port, target.host)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  after(() => {
    server.close()
    breakAll()
  })
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true
      breakAll()
    },
    mend() {
      isCut = false
    },
  }
}
