import type { RequestListener } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { Config } from './config/config.ts'
import { AppError } from './core/errors.ts'
import { type ContentDeps, type ContentHandler, type ContentRoute, createContentHandler } from './delivery/handler.ts'
import { createAccessLog, logRequests } from './http/access-log.ts'
import { limitAnonymous } from './http/admission.ts'
import { createAddressReader } from './http/caller-address.ts'
import type { EndpointDeps } from './http/endpoint.ts'
import { handleConnectionError, handleFailures, handleFrameworkError } from './http/failures.ts'
import { compileBody, parseJsonBodies } from './http/json-body.ts'
import { registerDocs } from './http/openapi.ts'
import { compileQuery, splitQuery } from './http/query.ts'
import { type InFlightRequests, limitArrivingBodies, limitBodyTimes, limitConcurrency } from './http/request-limits.ts'
import {
  answerHeaders,
  asHook,
  createHttpServer,
  createRequestIds,
  emitCloseOnDisconnect,
  maxHeaderBytes,
} from './http/server.ts'
import { limitUnsent } from './http/unsent-answers.ts'
import { registerManageRoutes } from './manage/routes.ts'
import type { ManageDeps } from './manage/verb.ts'
import { registerMediaRoute } from './media/route.ts'
import type { Metrics } from './metrics/metrics.ts'
import { answerScrapes, metricsLocation } from './metrics/serve.ts'
import { nameRequestsInStalls, type StallWatch } from './metrics/stalls.ts'
import { registerWebhookRoute } from './payments/webhook.ts'
import { registerTenantRoutes } from './tenant/index.ts'

const maxBodyBytes = 256 * 1024
/**
 * Announced to clients. Less than the server's own limit of 90 s, so that the server never closes first, and more than the
 * usual idle timeout of load balancers (60 s).
 */
const keepAliveSeconds = 72

export interface AppDeps extends EndpointDeps, ContentDeps, ManageDeps {
  config: Config
  metrics: Metrics
  stalls: StallWatch
}

export type OfferedApis = 'delivery' | 'management' | 'both'

/** The content endpoints by their paths. */
type ContentRoutes = Map<string, ContentRoute>

/** Handles content endpoints before Fastify, which costs more than a cached answer. */
const serveContentFirst =
  (routes: ContentRoutes, handle: ContentHandler, serveOthers: RequestListener): RequestListener =>
  (request, response) => {
    const { method, url = '' } = request
    const end = url.indexOf('?')
    const route = routes.get(end === -1 ? url : url.slice(0, end))
    if (route && (method === 'GET' || method === 'HEAD')) handle(request, response, route)
    else serveOthers(request, response)
  }

/** The same handler for requests that still reach Fastify: URLs in an unusual spelling, and `app.inject`. */
function serveContentRoutes(app: FastifyInstance, routes: ContentRoutes, handle: ContentHandler): void {
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.contentQuery) routes.set(url, { url, query: config.contentQuery })
  })
  app.addHook('onRequest', (request, reply, done) => {
    const route = request.is404 ? undefined : routes.get(request.routeOptions.url ?? '')
    if (!route) return done()
    reply.hijack()
    handle(request.raw, reply.raw, route)
  })
}

function registerHealth(app: FastifyInstance, { store }: AppDeps): void {
  app.get('/healthz', { logLevel: 'warn' }, async () => ({ status: 'alive' }))
  app.get('/readyz', { logLevel: 'warn' }, async () => {
    if (await store.isReady()) return { status: 'ready' }
    throw new AppError('Unavailable', 'The database is not at the current schema. Run "npx sluice migrate".', {
      retryAfterSeconds: 1,
    })
  })
}

function readSchemas(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain')
  parseJsonBodies(app)
  app.setValidatorCompiler((route) => {
    if (route.httpPart === 'querystring') return compileQuery(route as never)
    if (route.httpPart === 'body') return compileBody(route as never)
    if (route.httpPart === 'headers') return () => true // documentation only; endpoints parse their headers
    throw new Error(`Schemas for ${route.httpPart} are not supported.`)
  })
  app.setSerializerCompiler(() => JSON.stringify) // response schemas are documentation only and strip nothing
}

export function buildApp(deps: AppDeps, offered: OfferedApis): FastifyInstance {
  const { config, logger, metrics } = deps
  const offersDelivery = offered !== 'management'
  const makeRequestId = createRequestIds()
  const accessLog = createAccessLog(deps)
  const inFlight: InFlightRequests = { count: 0, max: config.maxConcurrentRequests }
  let isClosing = false
  const contentRoutes: ContentRoutes = new Map()
  const handleContent = createContentHandler({
    ...deps,
    inFlight,
    accessLog,
    makeRequestId,
    readAddress: createAddressReader(config.trustProxy),
    isClosing: () => isClosing,
    keepAliveSeconds,
    bodyTimeoutMs: () => app.bodyTimeoutMs,
  })
  const app = Fastify({
    loggerInstance: logger,
    childLoggerFactory: (parent) => parent, // a logger per request is expensive, and few requests log anything
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: makeRequestId,
    serverFactory: (serveOthers) => createHttpServer(serveContentFirst(contentRoutes, handleContent, serveOthers)),
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    bodyLimit: maxBodyBytes,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests on open connections are still served during shutdown
    routerOptions: { maxParamLength: maxHeaderBytes, querystringParser: splitQuery },
    frameworkErrors: handleFrameworkError,
    clientErrorHandler: handleConnectionError,
  }) as unknown as FastifyInstance

  readSchemas(app)
  app.decorateRequest('tenant')
  app.decorateRequest('manager')
  app.decorateRequest('timing')
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  app.addHook('onRoute', ({ url }) => metrics.addRoute(url))
  metrics.addServer(app.server)
  const limitByAddress = (request: FastifyRequest, reply: FastifyReply) => limitAnonymous(deps, request, reply)

  // Hooks, in the order in which they run.
  serveContentRoutes(app, contentRoutes, handleContent)
  const beginAnswer = asHook((request, reply) => {
    reply.header('x-request-id', request.id).headers(answerHeaders)
    if (reply.raw.shouldKeepAlive) reply.header('keep-alive', `timeout=${keepAliveSeconds}`)
  })
  app.addHook('onRequest', beginAnswer)
  emitCloseOnDisconnect(app)
  nameRequestsInStalls(app, deps.stalls)
  limitConcurrency(app, inFlight)
  limitUnsent(app, deps.unsent)
  limitArrivingBodies(app)
  limitBodyTimes(app)
  logRequests(app, accessLog)
  if (offersDelivery && metricsLocation(config) === 'delivery port') answerScrapes(app, deps)
  handleFailures(app, limitByAddress)

  // Routes.
  registerHealth(app, deps)
  if (offersDelivery) {
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
