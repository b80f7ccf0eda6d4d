import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { hourMs } from '../core/clock.ts'

export const maxHeaderBytes = 16 * 1024
const headersTimeoutMs = 10_000
/** Node's limit for the whole request; bodies other than files have a shorter one, see `limitBodyTimes`. */
export const uploadTimeoutMs = hourMs
/** A connection without any traffic for this long is closed. */
const quietTimeoutMs = 90_000

/** Pipelined requests that may wait on a connection. With more, it is closed. */
const maxWaitingRequests = 32

/**
 * Pipelined requests are handled one after the other, so a connection has at most one answer in progress. Node would begin all of
 * them at once, and buffer answers that the client does not read.
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

/** Checks per idle timeout. */
const checksPerTimeout = 15

/**
 * Closes connections without traffic: idle ones, and those of clients that have stopped reading. Node's own timers, restarted by
 * every request, cost a considerable part of a cached answer. So a connection has one only while checks find it quiet.
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
 * The system has a peer's address only while the connection is open, and the socket caches it. So it is read at once: otherwise
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
  server.maxHeadersCount = 0 // unlimited, since their size is limited
  rememberPeers(server)
  closeQuietConnections(server, quietTimeoutMs)
  return server
}

/** Node uses the first of several; a proxy in front may have used the last. */
function repeatsHeader({ rawHeaders }: IncomingMessage, name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const other = rawHeaders[at]
    if (other?.length === name.length && other.toLowerCase() === name) count += 1
  }
  return count > 1
}

/** The problem with a request that Node accepts although it is ambiguous (RFC 9112 §2.3, §3.2, §6.1). */
export function findProtocolFault(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'This version of HTTP is not supported; use 1.1.'
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined)
    return 'HTTP/1.0 has no Transfer-Encoding; send a Content-Length, or use HTTP/1.1.'
  if (httpVersion === '1.1' && headers.host === undefined) return 'The Host header is missing.'
  if (repeatsHeader(request, 'host')) return 'The Host header comes more than once.'
  if (repeatsHeader(request, 'authorization')) return 'The Authorization header comes more than once.'
  return undefined
}

/** All numbers with eight hex digits. */
const [first, last] = [0x1000_0000, 0xffff_ffff]

/**
 * Request ids: 24 hex digits. 64 random bits per process, then a counter, because random bits for each request would cost more
 * than everything else a cached answer needs.
 */
export function createRequestIds(): () => string {
  let prefix = ''
  let count = last
  return () => {
    if (count === last) {
      prefix = randomBytes(8).toString('hex')
      count = first
    }
    count += 1
    return prefix + count.toString(16)
  }
}

/** They describe the handling of content, so an answer without content needs none (RFC 9110 §15.4.5). */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** On every answer, including those sent before any hook runs. Content and pages override some of them. */
export const answerHeaders = { ...securityHeaders, 'cache-control': 'no-store' }

/** Private, because it depends on the key; no-cache, because time alone can change it. */
export const contentHeaders = { 'cache-control': 'private, no-cache', vary: 'Authorization, Accept-Encoding' }

/** A synchronous hook. Callbacks save every request the cost of a promise per hook. */
export function asHook(
  check: (request: FastifyRequest, reply: FastifyReply) => Promise<void> | void,
): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      const waiting = check(request, reply)
      if (waiting) {
        waiting.then(() => done(), done)
        return
      }
    } catch (error) {
      // After the parser has finished, since it may still find the request invalid and answer that.
      queueMicrotask(() => done(error as Error))
      return
    }
    done()
  }
}

/**
 * Node emits no `close` for a request without a body (`optimizeEmptyRequests`), and Fastify would keep the timer of a request whose
 * client has disconnected until its handler times out.
 */
export function emitCloseOnDisconnect(app: FastifyInstance): void {
  const listen = asHook(({ raw: request }, { raw: response }) => {
    response.once('close', () => {
      if (!response.writableFinished) request.emit('close')
    })
  })
  app.addHook('onRequest', listen)
}
