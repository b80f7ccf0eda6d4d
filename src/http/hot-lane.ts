import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { tiers } from '../tiers.ts'
import type { AccessLog } from './access-log.ts'
import { type AdmissionDeps, writePolicy, writeRate } from './admission.ts'
import { heldTag, writeHead } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import { contentHeaders } from './answer-headers.ts'

export interface HotLaneDeps extends AdmissionDeps {
  answers: AnswerCache
  accessLog: AccessLog
  makeRequestId(): string
  clock: Clock
  /** For how long clients are told that a connection stays open that nothing is asked on. */
  keepAliveSeconds: number
  /** Who calls; undefined where that is not plain. */
  readAddress(peer: string, forwardedFor: string | string[] | undefined): string | undefined
}

/** Answers a request at once and says so, or leaves it alone. */
export type HotLane = (request: IncomingMessage, response: ServerResponse) => boolean

const unchangedHead = writeHead('HTTP/1.1 304 Not Modified', contentHeaders)

/** Whether a request asks for more than an answer that is at hand. */
const isMore = (headers: IncomingHttpHeaders): boolean =>
  headers['content-length'] !== undefined ||
  headers['transfer-encoding'] !== undefined ||
  headers.expect !== undefined ||
  headers.upgrade !== undefined ||
  headers['x-sluice-timing'] !== undefined ||
  headers.host === undefined

/** The lines that end the head of an answer, after which the connection stays open. They are the same for a second. */
function createHeadEnd(keepAliveSeconds: number): (nowMs: number) => string {
  let second = Number.NaN
  let end = ''
  return (nowMs) => {
    if (Math.floor(nowMs / 1000) === second) return end
    second = Math.floor(nowMs / 1000)
    const keepAlive = `keep-alive: timeout=${keepAliveSeconds}\r\nConnection: keep-alive`
    end = `\r\nDate: ${new Date(nowMs).toUTCString()}\r\n${keepAlive}\r\n\r\n`
    return end
  }
}

/**
 * Sends a head that is complete. `writeHead` would check each name and each value once more, letter by letter, and takes longer
 * than all that the short way does. It leaves its result in `_header`, from where `end` sends it; so this is put there at once.
 */
function sendAnswer(response: ServerResponse, status: number, head: string, body: Buffer | undefined): void {
  response.statusCode = status
  Object.assign(response, { _header: head })
  response.end(body)
}

/**
 * The short way of a request whose answer is at hand, before the framework has seen it. Here nothing is refused, waited for
 * or worked out: whatever is not plain is left to the long way, which decides and words everything. Both give the same answer.
 */
export function createHotLane(deps: HotLaneDeps): HotLane {
  const { authorize, takeToken, config, answers, accessLog, makeRequestId, clock, keepAliveSeconds, readAddress } = deps
  const policies = new Map(tiers.map((tier) => [tier, writePolicy(tier, config.rateLimits[tier])]))
  const endHead = createHeadEnd(keepAliveSeconds)
  return (request, response) => {
    const startedMs = performance.now()
    const { method = '', url = '' } = request
    if (!response.shouldKeepAlive) return false
    if ((method !== 'GET' && method !== 'HEAD') || request.httpVersion !== '1.1') return false
    const { headers } = request
    if (headers.authorization === undefined || isMore(headers)) return false
    const nowMs = clock()
    const tenant = authorize.peek(headers.authorization, nowMs)
    if (!tenant || tenant.frozen) return false
    const answer = answers.peek(tenant.groupID, tenant.scope, url, nowMs)
    if (!answer) return false
    const etag = heldTag(answer, headers['if-none-match'])
    const form = etag === undefined ? answers.peekForm(answer, headers['accept-encoding']) : undefined
    if (etag === undefined && !form) return false
    const address = readAddress(request.socket.remoteAddress ?? '', headers['x-forwarded-for'])
    if (address === undefined) return false
    const limit = config.rateLimits[tenant.tier]
    const decision = takeToken(tenant.groupID, limit, nowMs)
    if (!decision.allowed) return false // which has taken nothing, so the long way refuses it once more
    const id = makeRequestId()
    const status = form ? 200 : 304
    const begin = form ? form.head : `${unchangedHead}etag: ${etag}\r\n`
    const ofRequest = `x-request-id: ${id}\r\nratelimit-policy: ${policies.get(tenant.tier)}\r\nratelimit: `
    const head = begin + ofRequest + writeRate(tenant.tier, decision) + endHead(nowMs)
    sendAnswer(response, status, head, method === 'HEAD' ? undefined : form?.body)
    answers.use(answer)
    accessLog({
      id,
      method,
      route: answer.route,
      status,
      answeredMs: nowMs,
      ms: performance.now() - startedMs,
      address,
      tenant,
      userId: undefined,
      isQuiet: false,
    })
    return true
  }
}
