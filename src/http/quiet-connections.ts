import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** How many looks there are in the time for which a connection may be quiet. */
const looks = 15

/**
 * Gives up connections on which nothing has moved for long: that of a client that has nothing to ask, and that of one that has
 * stopped to read. Timers of Node's own, set anew with every request, cost as much as a good part of a short answer. So
 * a connection gets one only when somebody looks and finds that it has been quiet, and loses it when it is not any more.
 */
export function closeQuietConnections(server: Server, quietMs: number): void {
  const bytesAtLastLook = new Map<Socket, number>()
  const moved = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten
  server.on('connection', (socket: Socket) => {
    bytesAtLastLook.set(socket, 0)
    socket.once('close', () => bytesAtLastLook.delete(socket))
  })
  function look(): void {
    for (const [socket, bytes] of bytesAtLastLook) {
      const isQuiet = moved(socket) === bytes
      if (isQuiet !== Boolean(socket.timeout)) socket.setTimeout(isQuiet ? quietMs : 0)
      bytesAtLastLook.set(socket, moved(socket))
    }
  }
  const timer = setInterval(look, quietMs / looks).unref()
  server.on('close', () => clearInterval(timer))
}
