import { createServer, type Server } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Config } from './config.ts'
import { AppError } from './errors.ts'
import { type AccessLog, createAccessLog } from './http/access-log.ts'
import { type AdmissionDeps, callerOf, limitAnonymous, type ManageAdmissionDeps } from './http/admission.ts'
import { answerHeaders } from './http/answer-headers.ts'
import { hasBody, limitArrivingBodies } from './http/arriving-bodies.ts'
import { compileBody } from './http/body.ts'
import { createAddressReader, rememberPeers } from './http/caller-address.ts'
import type { EndpointDeps } from './http/endpoint.ts'
import { handleConnectionError, handleFailures, handleFrameworkError } from './http/failures.ts'
import { asHook } from './http/hook.ts'
import { createHotLane, type HotLane } from './http/hot-lane.ts'
import { parseJsonBodies } from './http/json-body.ts'
import { registerDocs } from './http/openapi.ts'
import { answerInTurn } from './http/pipelining.ts'
import { isHealthCheck, limitConcurrency, type Places } from './http/places.ts'
import { compileQuery } from './http/query.ts'
import { closeQuietConnections } from './http/quiet-connections.ts'
import { createRequestIds } from './http/request-ids.ts'
import type { UnsentAnswers } from './http/unsent-answers.ts'
import { registerWebhookRoute } from './http/webhook-route.ts'
import { idPattern } from './ids.ts'
import type { ServiceLogger } from './logging.ts'
import { registerManageRoutes } from './manage/routes.ts'
import type { ManageDeps } from './manage/verb.ts'
import { registerMediaRoute } from './media/route.ts'
import type { Metrics } from './metrics/metrics.ts'
import { answerScrapes, placeOfMetrics } from './metrics/serve.ts'
import type { StallWatch, WorkName } from './metrics/stalls.ts'
import { registerTenantRoutes } from './tenant/index.ts'

const bodyLimitBytes = 256 * 1024
const headerLimitBytes = 16 * 1024
const headersTimeoutMs = 10_000
/** A file may take its time to arrive … */
const uploadTimeoutMs = 3_600_000
/** … any other body may not. */
const bodyTimeoutMs = 30_000
/** A connection on which nothing moves any more is given up. */
const quietTimeoutMs = 90_000
/**
 * What clients are told of it: less, so that it is never us who close first, and more than a load balancer keeps its idle
 * connections (usually 60 s).
 */
const keepAliveSeconds = 72

export interface AppDeps extends EndpointDeps, AdmissionDeps, ManageAdmissionDeps, ManageDeps {
  config: Config
  logger: ServiceLogger
  metrics: Metrics
  unsent: UnsentAnswers
  stalls: StallWatch
}

/**
 * A request without a body never tells of its end (`optimizeEmptyRequests`), and the framework would keep the timer of one whose
 * client has left for as long as it may run.
 */
function tellOfLeft(app: FastifyInstance): void {
  const listen = asHook(({ raw: request }, { raw: response }) => {
    response.once('close', () => {
      if (!response.writableFinished) request.emit('close')
    })
  })
  app.addHook('onRequest', listen)
}

declare module 'fastify' {
  interface FastifyInstance {
    bodyTimeoutMs: number
  }
}

/** Gives up on a body that does not arrive, as Node does with headers; also when the answer did not wait for it. */
function limitBodyTime(app: FastifyInstance): void {
  app.decorate('bodyTimeoutMs', bodyTimeoutMs)
  const tooLate = Object.assign(new Error('A body came too late.'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  function begin(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request
    const { socket } = raw
    if (!hasBody(request) || raw.complete !== false) return // what comes through app.inject has nothing to wait for
    const giveUp = (): void => {
      if (raw.complete || socket.destroyed) return
      if (reply.raw.headersSent) socket.destroy()
      else handleConnectionError(tooLate, socket)
    }
    const timer = setTimeout(giveUp, app.bodyTimeoutMs).unref()
    for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(timer))
  }
  const beginUnlessFile = asHook((request, reply) => {
    if (!request.routeOptions.config.takesFile) begin(request, reply)
  })
  app.addHook('onRequest', beginUnlessFile)
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.routeOptions.config.takesFile) begin(request, reply)
    done(null, payload)
  })
}

function logRequests(app: FastifyInstance, accessLog: AccessLog): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { url: route = 'none', logLevel } = request.routeOptions
    const { id, method, ip: address, tenant, manager } = request
    accessLog({
      id,
      method,
      route,
      status: reply.statusCode,
      answeredMs: Date.now(),
      ms: reply.elapsedTime,
      address,
      tenant,
      userId: manager?.userId,
      isQuiet: logLevel === 'warn',
    })
    done()
  })
}

const isStream = (payload: unknown): boolean => typeof (payload as { pipe?: unknown } | null)?.pipe === 'function'

/** Who does not read what was answered gets no more, and is cut off in the end. */
function limitUnsent(app: FastifyInstance, unsent: UnsentAnswers): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (!unsent.isFull(callerOf(request)) || isHealthCheck(request)) return done(null, payload)
    const message = 'Too many answers to you wait to be read. Read them, and try again in a moment.'
    done(new AppError('RateLimited', message, { retryAfterSeconds: 5 }))
  })
  app.addHook('onSend', (request, { raw: response }, payload, done) => {
    const hold = (): void => unsent.hold(response, callerOf(request))
    // A file is under way until its end is; anything else has been written by now, and either waits or does not.
    if (isStream(payload)) setImmediate(() => response.closed || hold())
    else response.once('prefinish', () => void (response.writableLength > 0 && hold()))
    done(null, payload)
  })
}

/** Names each request where the event loop stalls while it is in work. */
function watchForStalls(app: FastifyInstance, stalls: StallWatch): void {
  const nameOf = ({ method, routeOptions, params, tenant }: FastifyRequest): WorkName => {
    const { url = 'none', config } = routeOptions
    const { groupId } = (params ?? {}) as { groupId?: string }
    const group = tenant?.groupID ?? (idPattern.test(groupId ?? '') ? groupId : undefined)
    return { what: `${method} ${url}`, verb: config.verb, group }
  }
  const begin = asHook((request, reply) => {
    const work = stalls.begin(() => nameOf(request))
    reply.raw.once('close', () => stalls.end(work))
  })
  app.addHook('onRequest', begin)
}

/** The server itself; the framework is asked for what the hot lane leaves alone. */
function listenBefore(handle: Parameters<typeof createServer>[1] & {}, hotLane: HotLane): Server {
  const server = createServer(
    {
      maxHeaderSize: headerLimitBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: uploadTimeoutMs,
      keepAliveTimeout: 0,
      requireHostHeader: false,
      optimizeEmptyRequests: true,
    },
    answerInTurn((request, response) => {
      const takeLongWay = (): void => handle(request, response)
      if (!hotLane(request, response, takeLongWay)) takeLongWay()
    }),
  )
  server.maxHeadersCount = 0 // their size is limited; none is passed over
  rememberPeers(server)
  closeQuietConnections(server, quietTimeoutMs)
  return server
}

function registerHealth(app: FastifyInstance, { store }: AppDeps): void {
  const schema = { hide: true }
  app.get('/healthz', { schema, logLevel: 'warn' }, async () => ({ status: 'alive' }))
  app.get('/readyz', { schema, logLevel: 'warn' }, async () => {
    if (await store.isReady()) return { status: 'ready' }
    throw new AppError('Unavailable', 'The database is not at the current schema. Run "npx sluice migrate".', {
      retryAfterSeconds: 1,
    })
  })
}

/** Which of the two APIs an HTTP server offers: both, or each its own. */
export type Offered = 'delivery' | 'management' | 'both'

export function buildApp(deps: AppDeps, offered: Offered): FastifyInstance {
  const { config, logger, metrics } = deps
  const makeRequestId = createRequestIds()
  const accessLog = createAccessLog(deps)
  const readAddress = createAddressReader(config.trustProxy)
  const places: Places = { taken: 0, most: config.maxConcurrentRequests }
  let isClosing = false // then the framework asks each client to close its connection
  const laneParts = { places, accessLog, makeRequestId, readAddress, keepAliveSeconds, isClosing: () => isClosing }
  const hotLane: HotLane = offered === 'management' ? () => false : createHotLane({ ...deps, ...laneParts })
  const app = Fastify({
    loggerInstance: logger,
    childLoggerFactory: (parent) => parent, // one for each request costs much; few have anything to tell
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: makeRequestId,
    serverFactory: (handle) => listenBefore(handle, hotLane),
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    bodyLimit: bodyLimitBytes,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // what arrives on an open connection while we stop is still served
    routerOptions: { maxParamLength: headerLimitBytes },
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: handleConnectionError,
  }) as unknown as FastifyInstance

  app.removeContentTypeParser('text/plain')
  parseJsonBodies(app)
  app.setValidatorCompiler((route) => {
    if (route.httpPart === 'querystring') return compileQuery(route as never)
    if (route.httpPart === 'body') return compileBody(route as never)
    if (route.httpPart === 'headers') return () => true // the schema documents them; who needs one reads it
    throw new Error(`Nothing reads the ${route.httpPart} of a request by a schema here.`)
  })
  app.setSerializerCompiler(() => JSON.stringify) // response schemas document; they never strip an answer
  app.decorateRequest('tenant')
  app.decorateRequest('manager')
  app.decorateRequest('timing')
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  const beginAnswer = asHook((request, reply) => {
    reply.header('x-request-id', request.id).headers(answerHeaders)
    if (reply.raw.shouldKeepAlive) reply.header('keep-alive', `timeout=${keepAliveSeconds}`)
  })
  app.addHook('onRequest', beginAnswer)
  tellOfLeft(app)
  watchForStalls(app, deps.stalls)
  limitConcurrency(app, places)
  limitUnsent(app, deps.unsent)
  limitArrivingBodies(app)
  limitBodyTime(app)
  logRequests(app, accessLog)
  const limitByAddress = (request: FastifyRequest, reply: FastifyReply) => limitAnonymous(deps, request, reply)
  app.addHook('onRoute', ({ url }) => metrics.addRoute(url))
  metrics.addServer(app.server)
  if (offered !== 'management' && placeOfMetrics(config) === 'delivery port') answerScrapes(app, deps)
  handleFailures(app, limitByAddress)

  registerHealth(app, deps)
  if (offered !== 'management') {
    registerDocs(app)
    registerTenantRoutes(app, deps)
    registerWebhookRoute(app, deps)
    deps.payments.sandbox.registerPages(app, limitByAddress)
    deps.mail.registerPages(app, limitByAddress)
    if (deps.media.local) registerMediaRoute(app, deps.media.local, deps.clock)
  }
  if (offered !== 'delivery') registerManageRoutes(app, deps)
  return app
}
