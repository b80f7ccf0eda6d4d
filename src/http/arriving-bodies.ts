import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
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

const tooManyOfYours = (): AppError =>
  new AppError('RateLimited', 'Too many of your requests are still being sent. Finish them, and try again.', {
    retryAfterSeconds: 1,
  })
const tooMany = (): AppError =>
  new AppError('Unavailable', 'Too many requests are still being sent. Try again in a moment.', {
    retryAfterSeconds: 1,
  })

/** Whoever sends slowly fills neither the memory nor the places of requests in work, and leaves room for everybody else. */
export function limitArrivingBodies(app: FastifyInstance): void {
  const bytesOfCallers = new Map<string, number>()
  const arriving = new WeakMap<FastifyRequest, { caller: string; bytes: number }>()
  let totalBytes = 0

  function add(caller: string, bytes: number): void {
    totalBytes += bytes
    const callerBytes = (bytesOfCallers.get(caller) ?? 0) + bytes
    if (callerBytes > 0) bytesOfCallers.set(caller, callerBytes)
    else bytesOfCallers.delete(caller)
  }

  function release(request: FastifyRequest): void {
    const held = arriving.get(request)
    if (!held) return
    arriving.delete(request)
    add(held.caller, -held.bytes)
  }

  app.addHook('preParsing', (request, reply, payload, done) => {
    if (!isBuffered(request)) return done(null, payload)
    const caller = callerOf(request)
    const bytes = announcedBytes(request)
    if ((bytesOfCallers.get(caller) ?? 0) + bytes > maxCallerBytes) return done(tooManyOfYours())
    if (totalBytes + bytes > maxBytes) return done(tooMany())
    arriving.set(request, { caller, bytes })
    add(caller, bytes)
    reply.raw.once('close', () => release(request))
    done(null, payload)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    release(request)
    done()
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    release(request)
    done(null, payload)
  })
}
