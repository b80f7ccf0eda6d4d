import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { ServiceLogger } from '../core/logging.ts'
import { databasePeer } from '../core/outage-log.ts'
import { anonymousCaller, type LimitDeps } from '../http/admission.ts'
import { rememberPeers } from '../http/server.ts'
import { hashSecret, isSameSecret } from '../security/tokens.ts'
import { isDatabaseUnavailable } from '../store/engine/unavailable.ts'
import type { Metrics } from './metrics.ts'
import { textType } from './text-format.ts'

const path = '/metrics'
const maxConnections = 50
const requestTimeoutMs = 10_000
const socketTimeoutMs = 30_000

/** Without a port of their own, metrics are served on the delivery port if there is a token to protect them. */
export function metricsLocation({ metricsPort, metricsToken }: Config): 'own port' | 'delivery port' | undefined {
  if (metricsPort !== undefined) return 'own port'
  return metricsToken === undefined ? undefined : 'delivery port'
}

const isMetricsPath = (url = ''): boolean => url.split('?', 1)[0] === path

/** Hashes have the same length, so that the comparison takes constant time. */
function hasToken(header: string | undefined, token: string): boolean {
  const given = /^bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? ''
  return isSameSecret(hashSecret(given), hashSecret(token))
}

export interface ScrapeDeps extends LimitDeps {
  metrics: Metrics
  config: Config
}

export interface MetricsServerDeps extends ScrapeDeps {
  logger: Pick<ServiceLogger, 'noteOutage'>
}

/** No route is registered: without the token, the path answers like any that does not exist. */
export function answerScrapes(app: FastifyInstance, { metrics, config: { metricsToken: token } }: ScrapeDeps): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { is404, method, url, headers } = request
    if (!is404 || method !== 'GET' || !isMetricsPath(url)) return done()
    if (token === undefined || !hasToken(headers.authorization, token)) return done()
    metrics.text().then((text) => reply.header('Cache-Control', 'no-store').type(textType).send(text), done)
  })
}

/** 429 limits guesses of the token. */
function refusalOf({ config, takeToken }: ScrapeDeps, request: IncomingMessage): number | undefined {
  const { metricsToken: token, rateLimits } = config
  if (token === undefined || hasToken(request.headers.authorization, token)) return undefined
  return takeToken(anonymousCaller(request.socket.remoteAddress ?? ''), rateLimits.anonymous).allowed ? 401 : 429
}

async function answer(deps: ScrapeDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const end = (status: number, headers: Record<string, string> = {}): void =>
    void response.writeHead(status, { 'Cache-Control': 'no-store', ...headers }).end()
  if (!isMetricsPath(request.url)) return end(404)
  if (request.method !== 'GET' && request.method !== 'HEAD') return end(405, { Allow: 'GET, HEAD' })
  const refusal = refusalOf(deps, request)
  if (refusal !== undefined) return end(refusal, { 'WWW-Authenticate': 'Bearer' })
  const text = await deps.metrics.text()
  response.writeHead(200, { 'Content-Type': textType, 'Cache-Control': 'no-store' }).end(text)
}

/** The server of `METRICS_PORT`. */
export interface MetricsServer {
  /** Returns the URL of `/metrics`. */
  listen(): Promise<string>
  close(): Promise<void>
}

export function createMetricsServer(deps: MetricsServerDeps): MetricsServer {
  const { config, logger } = deps
  const limits = { headersTimeout: requestTimeoutMs, requestTimeout: requestTimeoutMs }
  const server = createServer(limits, (request, response) => {
    answer(deps, request, response).catch((error) => {
      logger.noteOutage(isDatabaseUnavailable(error) ? databasePeer : 'collecting metrics', error)
      response.writeHead(500).end()
    })
  })
  rememberPeers(server)
  server.maxConnections = maxConnections
  server.setTimeout(socketTimeoutMs)
  return {
    async listen() {
      server.listen({ host: config.metricsHost, port: config.metricsPort })
      await once(server, 'listening') // rejects on `error`
      const { address, family, port } = server.address() as AddressInfo // a string for pipes only
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${path}`
    },
    async close() {
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}
