import type { FastifyInstance } from 'fastify'
import { hideSecrets, type ServiceLogger } from '../core/logging.ts'
import type { Tier } from '../core/tiers.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** Maximum number of lines written at once. */
const maxWaiting = 256

/** The logged data of an answered request: the route, never the URL, whose query string may contain a token. */
export interface AnsweredRequest {
  id: string
  method: string
  route: string
  status: number
  /** Wall-clock time. */
  answeredMs: number
  ms: number
  address: string
  /** For admitted requests. */
  tenant: { groupID: string; tier: Tier } | undefined
  userId: string | undefined
  /** Not logged, such as a health check. */
  isQuiet: boolean
}

export type AccessLog = (request: AnsweredRequest) => void

const writeTime = (nowMs: number): string => `{"level":"info","time":"${new Date(nowMs).toISOString()}","requestId":"`

const writeTarget = ({ method, route, status }: AnsweredRequest): string =>
  `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"ms":`

function writeCaller({ address, tenant, userId }: AnsweredRequest): string {
  const group = tenant ? `,"group":"${tenant.groupID}"` : ''
  const user = userId === undefined ? '' : `,"user":"${userId}"`
  return `,"address":${JSON.stringify(hideSecrets(address))}${group}${user},"msg":"request"}\n` // a proxy may forward any text
}

const hasSameTarget = (one: AnsweredRequest, other: AnsweredRequest): boolean =>
  one.route === other.route && one.status === other.status && one.method === other.method

const hasSameCaller = (one: AnsweredRequest, other: AnsweredRequest): boolean =>
  one.address === other.address && one.tenant?.groupID === other.tenant?.groupID && one.userId === other.userId

/** A line as the logger itself would write it, from cached parts that consecutive lines often share. */
function createLineMaker(): (request: AnsweredRequest) => string {
  let last: AnsweredRequest | undefined
  let time = ''
  let target = ''
  let caller = ''
  return (request) => {
    if (request.answeredMs !== last?.answeredMs) time = writeTime(request.answeredMs)
    if (!last || !hasSameTarget(request, last)) target = writeTarget(request)
    if (!last || !hasSameCaller(request, last)) caller = writeCaller(request)
    last = request
    return time + request.id + target + Math.round(request.ms * 10) / 10 + caller
  }
}

/** Counts every request and logs it, writing several lines at once. */
export function createAccessLog({ logger, metrics }: { logger: ServiceLogger; metrics: Metrics }): AccessLog {
  const isLogging = logger.isLevelEnabled('info')
  const makeLine = createLineMaker()
  let waiting: AnsweredRequest[] = []
  const flush = logger.collectLines(() => {
    const taken = waiting
    waiting = []
    return taken.map(makeLine).join('')
  })
  return (request) => {
    const { route, status, ms, tenant, isQuiet } = request
    metrics.request(route, status, ms, tenant?.tier)
    if (isQuiet || !isLogging) return
    waiting.push(request)
    flush(waiting.length >= maxWaiting)
  }
}

export function logRequests(app: FastifyInstance, accessLog: AccessLog): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { url: route = 'none', logLevel, config } = request.routeOptions
    if (config.contentQuery) return done() // the content handler logs its requests itself
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
