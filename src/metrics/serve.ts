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
/** Scrapers are few, and ask quickly. */
const maxConnections = 50
const requestLimitMs = 10_000
const silenceLimitMs = 30_000

/** On a port of its own, on the port of the delivery API for who has the token, or nowhere. */
export function metricsLocation({ metricsPort, metricsToken }: Config): 'own port' | 'delivery port' | undefined {
  if (metricsPort !== undefined) return 'own port'
  return metricsToken === undefined ? undefined : 'delivery port'
}

const isMetricsPath = (url = ''): boolean => url.split('?', 1)[0] === path

/** By their hashes, which are of one length: the time it takes tells nothing of the token. */
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

/** There is no such route: who has not the token meets what answers for all paths that do not exist. */
export function answerScrapes(app: FastifyInstance, { metrics, config: { metricsToken: token } }: ScrapeDeps): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { is404, method, url, headers } = request
    if (!is404 || method !== 'GET' || !isMetricsPath(url)) return done()
    if (token === undefined || !hasToken(headers.authorization, token)) return done()
    metrics.text().then((text) => reply.header('Cache-Control', 'no-store').type(textType).send(text), done)
  })
}

/** Who tries tokens is slowed down, as everywhere. */
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

/** The server of `METRICS_PORT`, which does nothing else. */
export interface MetricsServer {
  /** Answers the address of `/metrics`. */
  listen(): Promise<string>
  close(): Promise<void>
}

export function createMetricsServer(deps: MetricsServerDeps): MetricsServer {
  const { config, logger } = deps
  const limits = { headersTimeout: requestLimitMs, requestTimeout: requestLimitMs }
  const server = createServer(limits, (request, response) => {
    answer(deps, request, response).catch((error) => {
      logger.noteOutage(isDatabaseUnavailable(error) ? databasePeer : 'telling metrics', error)
      response.writeHead(500).end()
    })
  })
  rememberPeers(server)
  server.maxConnections = maxConnections
  server.setTimeout(silenceLimitMs)
  return {
    async listen() {
      server.listen({ host: config.metricsHost, port: config.metricsPort })
      await once(server, 'listening') // or throws why it cannot
      const { address, family, port } = server.address() as AddressInfo // of a port, so it is no text
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${path}`
    },
    async close() {
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}
