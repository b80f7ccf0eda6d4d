import { hideSecrets, type ServiceLogger } from '../logging.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Tier } from '../tiers.ts'

/** So many lines are put together at once at most. */
const mostWaiting = 256

/** What is noted of a request when it has been answered: the route, never the URL, whose query string may hold a token. */
export interface AnsweredRequest {
  id: string
  method: string
  route: string
  status: number
  /** By the clock on the wall. */
  answeredMs: number
  ms: number
  address: string
  /** Of requests that were admitted. */
  tenant: { groupID: string; tier: Tier } | undefined
  userId: string | undefined
  /** Nobody wants to read about it, as of the questions whether we are alive. */
  isQuiet: boolean
}

export type AccessLog = (request: AnsweredRequest) => void

const writeTime = (nowMs: number): string => `{"level":"info","time":"${new Date(nowMs).toISOString()}","requestId":"`

const writePlace = ({ method, route, status }: AnsweredRequest): string =>
  `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"ms":`

function writeCaller({ address, tenant, userId }: AnsweredRequest): string {
  const group = tenant ? `,"group":"${tenant.groupID}"` : ''
  const user = userId === undefined ? '' : `,"user":"${userId}"`
  return `,"address":${JSON.stringify(hideSecrets(address))}${group}${user},"msg":"request"}\n` // a proxy may pass on anything
}

const hasSamePlace = (one: AnsweredRequest, other: AnsweredRequest): boolean =>
  one.route === other.route && one.status === other.status && one.method === other.method

const hasSameCaller = (one: AnsweredRequest, other: AnsweredRequest): boolean =>
  one.address === other.address && one.tenant?.groupID === other.tenant?.groupID && one.userId === other.userId

/** A line as the logger itself would write it, of parts that are often the same as in the line before. */
function createLineMaker(): (request: AnsweredRequest) => string {
  let last: AnsweredRequest | undefined
  let time = ''
  let place = ''
  let caller = ''
  return (request) => {
    if (request.answeredMs !== last?.answeredMs) time = writeTime(request.answeredMs)
    if (!last || !hasSamePlace(request, last)) place = writePlace(request)
    if (!last || !hasSameCaller(request, last)) caller = writeCaller(request)
    last = request
    return time + request.id + place + Math.round(request.ms * 10) / 10 + caller
  }
}

/** Counts every request, and has one line written for it when there is time. */
export function createAccessLog({ logger, metrics }: { logger: ServiceLogger; metrics: Metrics }): AccessLog {
  const isLogging = logger.isLevelEnabled('info')
  const makeLine = createLineMaker()
  let waiting: AnsweredRequest[] = []
  const tell = logger.collectLines(() => {
    const taken = waiting
    waiting = []
    return taken.map(makeLine).join('')
  })
  return (request) => {
    const { route, status, ms, tenant, isQuiet } = request
    metrics.request(route, status, ms, tenant?.tier)
    if (isQuiet || !isLogging) return
    waiting.push(request)
    tell(waiting.length >= mostWaiting)
  }
}
