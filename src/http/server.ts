import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'

export const maxHeaderBytes = 16 * 1024
const headersTimeoutMs = 10_000
/** Node's limit for the whole request; bodies other than files have a shorter one, see `limitBodyTimes`. */
const uploadTimeoutMs = 3_600_000
/** A connection without any traffic for this long is closed. */
const quietTimeoutMs = 90_000

/** Pipelined requests that may wait on a connection; one more, and it is closed. */
const maxWaitingRequests = 32

/**
 * Pipelined requests are handled one after the other, so a connection has at most one answer in progress. Node would begin all of
 * them at once, and buffer answers that nobody reads.
 */
function answerInOrder(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    if (response.socket) return handle(request, response)
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxWaitingRequests) return void socket.destroy()
    waiting.set(socket, count)
    // Node assigns the socket when the answer before this one is sent.
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      process.nextTick(handle, request, response)
    })
  }
}

/** Checks within the time for which a connection may be quiet. */
const checksPerTimeout = 15

/**
 * Closes connections without traffic: idle ones, and those of clients that have stopped reading. Node's own timers, restarted with
 * every request, cost as much as a good part of a cached answer. So a connection gets one only when a check finds it quiet, and
 * loses it when it is not any more.
 */
export function closeQuietConnections(server: Server, quietMs: number): void {
  const bytesAtLastCheck = new Map<Socket, number>()
  const moved = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten
  server.on('connection', (socket: Socket) => {
    bytesAtLastCheck.set(socket, 0)
    socket.once('close', () => bytesAtLastCheck.delete(socket))
  })
  function check(): void {
    for (const [socket, bytes] of bytesAtLastCheck) {
      const isQuiet = moved(socket) === bytes
      if (isQuiet !== Boolean(socket.timeout)) socket.setTimeout(isQuiet ? quietMs : 0)
      bytesAtLastCheck.set(socket, moved(socket))
    }
  }
  const timer = setInterval(check, quietMs / checksPerTimeout).unref()
  server.on('close', () => clearInterval(timer))
}

/**
 * The system knows a peer's address only while the connection stands, and the socket caches it. So it is read at once: otherwise
 * a request whose client resets the connection would have no address. A connection that is gone by then is dropped.
 */
export function rememberPeers(server: Server): void {
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) socket.destroy()
  })
}

/** An HTTP server with limits on headers, pipelining and quiet connections. */
export function createHttpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: uploadTimeoutMs,
      keepAliveTimeout: 0,
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    answerInOrder(listener),
  )
  server.maxHeadersCount = 0 // their size is limited; none is dropped
  rememberPeers(server)
  closeQuietConnections(server, quietTimeoutMs)
  return server
}
