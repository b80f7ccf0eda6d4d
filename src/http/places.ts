import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { hasBody, isBuffered } from './arriving-bodies.ts'
import { asHook } from './hook.ts'

/** How many requests are being worked on in a server, and how many may be. */
export interface Places {
  taken: number
  readonly most: number
}

const healthPaths = ['/healthz', '/readyz']

/** A service that is full is alive, and must not be restarted for it. */
export const isHealthCheck = ({ routeOptions }: FastifyRequest): boolean => healthPaths.includes(routeOptions.url ?? '')

/** Refuses what comes on top of a full house, at once and cheaply, instead of making everyone wait. */
export function limitConcurrency(app: FastifyInstance, places: Places): void {
  const counted = new WeakSet<FastifyRequest>()
  const release = (request: FastifyRequest): void => {
    if (counted.delete(request)) places.taken -= 1
  }
  function take(request: FastifyRequest): void {
    if (isHealthCheck(request)) return
    places.taken += 1
    counted.add(request)
    if (places.taken > places.most) {
      throw new AppError('Unavailable', 'The service is busy. Try again in a moment.', { retryAfterSeconds: 1 })
    }
  }
  const takeAtFirst = asHook((request, reply) => {
    reply.raw.once('close', () => release(request))
    take(request)
  })
  const takeAgain = asHook((request) => {
    if (isBuffered(request)) take(request)
  })
  app.addHook('onRequest', takeAtFirst)
  // Nothing is worked on while a body arrives: bodies and uploads have limits of their own.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (hasBody(request)) release(request)
    done(null, payload)
  })
  app.addHook('preValidation', takeAgain)
  // The work is done when the answer is: a client that is slow to read it holds a socket, not a place.
  app.addHook('onSend', (request, _reply, payload, done) => {
    release(request)
    done(null, payload)
  })
}
