import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createSemaphore } from '../concurrency/semaphore.ts'
import { AppError } from '../core/errors.ts'
import { callerOf } from './admission.ts'
import { handleConnectionError } from './failures.ts'
import { asHook } from './server.ts'

/** The current and the maximum number of concurrent requests of a server. */
export interface InFlightRequests {
  count: number
  readonly max: number
}

const healthPaths = ['/healthz', '/readyz']

/** Exempt from the limit: an overloaded service must not be restarted by its supervisor. */
export const isHealthCheck = ({ routeOptions }: FastifyRequest): boolean => healthPaths.includes(routeOptions.url ?? '')

/** Refuses a request above the limit at once and cheaply, instead of making every request wait. */
export function startRequest(inFlight: InFlightRequests): void {
  if (inFlight.count >= inFlight.max) {
    throw new AppError('Unavailable', 'The service is busy. Try again in a moment.', { retryAfterSeconds: 1 })
  }
  inFlight.count += 1
}

export function limitConcurrency(app: FastifyInstance, inFlight: InFlightRequests): void {
  const counted = new WeakSet<FastifyRequest>()
  function release(request: FastifyRequest): void {
    if (counted.delete(request)) inFlight.count -= 1
  }
  function start(request: FastifyRequest): void {
    if (isHealthCheck(request)) return
    startRequest(inFlight)
    counted.add(request)
  }
  const startOnArrival = asHook((request, reply) => {
    reply.raw.once('close', () => release(request))
    start(request)
  })
  const restart = asHook((request) => {
    if (isBuffered(request)) start(request)
  })
  app.addHook('onRequest', startOnArrival)
  // An arriving body has its own limits.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (hasBody(request.raw)) release(request)
    done(null, payload)
  })
  app.addHook('preValidation', restart)
  // The permit is released when the answer is sent, so that a slow reader holds a socket only.
  app.addHook('onSend', (request, _reply, payload, done) => {
    release(request)
    done(null, payload)
  })
}

const bodyTimeoutMs = 30_000
/** The cost of a request with an arriving body besides its bytes: the connection, headers and timers. */
const bytesPerRequest = 128 * 1024
/** Memory for all bodies that are arriving … */
const maxBytes = 160 * 2 ** 20
/** … and for those of one caller: nine objects of 4 MB, or 300 small bodies. */
const maxCallerBytes = maxBytes / 4

declare module 'fastify' {
  interface FastifyInstance {
    bodyTimeoutMs: number
  }
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined

/** Uploaded files are streamed, and have their own limits. */
export const isBuffered = (request: FastifyRequest): boolean =>
  hasBody(request.raw) && !request.routeOptions.config.takesFile

/** The announced length, else the maximum of the route. */
function announcedBytes({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  const announced = Number(headers['content-length'])
  return bytesPerRequest + Math.min(Number.isNaN(announced) ? bodyLimit : announced, bodyLimit)
}

const limits = {
  maxPerKey: maxCallerBytes,
  max: maxBytes,
  keyMessage: 'Too many of your requests are still being sent. Finish them, and try again.',
  busyMessage: 'Too many requests are still being sent. Try again in a moment.',
  retryAfterSeconds: 1,
}

/** Prevents slow senders from exhausting the memory or the limit of concurrent requests. */
export function limitArrivingBodies(app: FastifyInstance): void {
  const semaphore = createSemaphore(limits)
  const releases = new WeakMap<FastifyRequest, () => void>()
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isBuffered(request)) return done(null, payload)
    try {
      const release = semaphore.acquireOrThrow(callerOf(request), announcedBytes(request))
      releases.set(request, release)
      reply.raw.once('close', release)
    } catch (error) {
      return done(error as Error)
    }
    done(null, payload)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    releases.get(request)?.()
    done()
  })
}

const tooLate = Object.assign(new Error('A body came too late.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/** Closes a connection whose body does not arrive in time, as Node does for headers, even if the answer did not wait for it. */
export function limitBodyTime(request: IncomingMessage, response: ServerResponse, timeoutMs: number): void {
  const { socket } = request
  if (!hasBody(request) || request.complete !== false) return // undefined for a request through app.inject
  const giveUp = (): void => {
    if (request.complete || socket.destroyed) return
    if (response.headersSent) socket.destroy()
    else handleConnectionError(tooLate, socket)
  }
  const timer = setTimeout(giveUp, timeoutMs).unref()
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timer))
}

/** A file may take longer; its time is limited after the answer. */
export function limitBodyTimes(app: FastifyInstance): void {
  app.decorate('bodyTimeoutMs', bodyTimeoutMs)
  const limitUnlessFile = asHook((request, reply) => {
    if (!request.routeOptions.config.takesFile) limitBodyTime(request.raw, reply.raw, app.bodyTimeoutMs)
  })
  app.addHook('onRequest', limitUnlessFile)
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.routeOptions.config.takesFile) limitBodyTime(request.raw, reply.raw, app.bodyTimeoutMs)
    done(null, payload)
  })
}
