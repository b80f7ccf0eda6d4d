import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createSemaphore, type Semaphore } from '../concurrency/semaphore.ts'
import { AppError } from '../core/errors.ts'
import { hasBody, isBuffered } from './arriving-bodies.ts'
import { asHook } from './hook.ts'

/** How many requests a server works on, and how many it may. */
export interface InFlightRequests {
  count: number
  readonly max: number
}

const healthPaths = ['/healthz', '/readyz']

/** A service that is overloaded is alive, and must not be restarted for it. */
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
  const startFirst = asHook((request, reply) => {
    reply.raw.once('close', () => release(request))
    start(request)
  })
  const startAgain = asHook((request) => {
    if (isBuffered(request)) start(request)
  })
  app.addHook('onRequest', startFirst)
  // There is nothing to do while a body arrives: bodies and uploads have limits of their own.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (hasBody(request.raw)) release(request)
    done(null, payload)
  })
  app.addHook('preValidation', startAgain)
  // The work ends when the answer is sent: a client that reads slowly holds a socket, not a permit.
  app.addHook('onSend', (request, _reply, payload, done) => {
    release(request)
    done(null, payload)
  })
}

/** Half of all requests that may be in flight by default (`MAX_CONCURRENT_REQUESTS`). */
const maxWaitingPerKey = 500
const maxWaitMs = 15_000

/** Limits how many requests of one group, or of one caller, are answered at once; the rest wait, each group's in its own queue. */
export const createAnswerSemaphore = (maxPerKey: number): Semaphore =>
  createSemaphore({
    maxPerKey,
    maxWaitingPerKey,
    maxWaitMs,
    busyMessage: 'Too many of your requests are being answered. Try again in a moment.',
  })
