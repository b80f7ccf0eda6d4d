import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { callerOf } from './admission.ts'

/** Beside its bytes, a request whose body is arriving holds a connection, its headers and timers. */
const bytesPerRequest = 128 * 1024
/** What bodies that are arriving may take of memory … */
const maxBytes = 160 * 2 ** 20
/** … and those of one caller: nine objects of 4 MB, or 300 small bodies. */
const maxCallerBytes = maxBytes / 4

export function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}

/** A file is not kept in memory while it arrives, and uploads have limits of their own. */
export const isBuffered = (request: FastifyRequest): boolean =>
  hasBody(request) && !request.routeOptions.config.takesFile

/** As many bytes as the request announces, or as its route takes at most. */
function announcedBytes({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  const announced = Number(headers['content-length'])
  return bytesPerRequest + Math.min(Number.isNaN(announced) ? bodyLimit : announced, bodyLimit)
}

const rule = {
  perHolder: maxCallerBytes,
  inAll: maxBytes,
  holderMessage: 'Too many of your requests are still being sent. Finish them, and try again.',
  busyMessage: 'Too many requests are still being sent. Try again in a moment.',
  retryAfterSeconds: 1,
}

/** Whoever sends slowly fills neither the memory nor the places of requests in work, and leaves room for everybody else. */
export function limitArrivingBodies(app: FastifyInstance): void {
  const limit = createConcurrencyLimit(rule)
  const releases = new WeakMap<FastifyRequest, () => void>()
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isBuffered(request)) return done(null, payload)
    try {
      const release = limit.take(callerOf(request), announcedBytes(request))
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
