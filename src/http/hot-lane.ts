import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { tiers } from '../tiers.ts'
import type { AccessLog } from './access-log.ts'
import { type AdmissionDeps, writePolicy, writeRate } from './admission.ts'
import { heldTag, placesInHead } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import { contentHeaders } from './answer-headers.ts'

export interface HotLaneDeps extends AdmissionDeps {
  answers: AnswerCache
  accessLog: AccessLog
  makeRequestId(): string
  clock: Clock
  /** Who calls; undefined where that is not plain. */
  readAddress(peer: string, forwardedFor: string | undefined): string | undefined
}

/** Answers a request at once and says so, or leaves it alone. */
export type HotLane = (request: IncomingMessage, response: ServerResponse) => boolean

interface ReadHeaders {
  key: string
  ifNoneMatch: string | undefined
  acceptEncoding: string | undefined
  forwardedFor: string | undefined
}

/** The head of a 304, with places for what differs: the tag, and what `fillIn` knows. */
const unchangedHead = [...placesInHead, 'etag', '', ...Object.entries(contentHeaders).flat()]
const placeOfTag = placesInHead.length + 1

/**
 * The few headers that matter here, from the list in which they came: to make the usual object of all of them takes longer.
 * Undefined where one is missing, comes twice, or asks for more than an answer that is at hand.
 */
function readHeaders({ rawHeaders }: IncomingMessage): ReadHeaders | undefined {
  let key: string | undefined
  let host: string | undefined
  let ifNoneMatch: string | undefined
  let acceptEncoding: string | undefined
  let forwardedFor: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const value = rawHeaders[at + 1] ?? ''
    switch (rawHeaders[at]?.toLowerCase()) {
      case 'authorization':
        if (key !== undefined) return undefined
        key = value
        break
      case 'host':
        if (host !== undefined) return undefined
        host = value
        break
      case 'if-none-match':
        if (ifNoneMatch !== undefined) return undefined
        ifNoneMatch = value
        break
      case 'accept-encoding':
        if (acceptEncoding !== undefined) return undefined
        acceptEncoding = value
        break
      case 'x-forwarded-for':
        if (forwardedFor !== undefined) return undefined
        forwardedFor = value
        break
      case 'content-length':
      case 'transfer-encoding':
      case 'expect':
      case 'upgrade':
      case 'x-sluice-timing':
        return undefined
    }
  }
  return key === undefined || host === undefined ? undefined : { key, ifNoneMatch, acceptEncoding, forwardedFor }
}

/**
 * The short way of a request whose answer is at hand, before the framework has seen it. Here nothing is refused, waited for
 * or worked out: whatever is not plain is left to the long way, which decides and words everything. Both give the same answer.
 */
export function createHotLane(deps: HotLaneDeps): HotLane {
  const { authorize, takeToken, config, answers, accessLog, makeRequestId, clock, readAddress } = deps
  const policies = new Map(tiers.map((tier) => [tier, writePolicy(tier, config.rateLimits[tier])]))
  return (request, response) => {
    const startedMs = performance.now()
    const { method = '', url = '' } = request
    if ((method !== 'GET' && method !== 'HEAD') || request.httpVersion !== '1.1') return false
    const headers = readHeaders(request)
    if (!headers) return false
    const tenant = authorize.peek(headers.key)
    if (!tenant || tenant.frozen) return false
    const answer = answers.peek(tenant.groupID, tenant.scope, url, clock())
    if (!answer) return false
    const etag = heldTag(answer, headers.ifNoneMatch)
    const form = etag === undefined ? answers.peekForm(answer, headers.acceptEncoding) : undefined
    if (etag === undefined && !form) return false
    const address = readAddress(request.socket.remoteAddress ?? '', headers.forwardedFor)
    if (address === undefined) return false
    const limit = config.rateLimits[tenant.tier]
    const decision = takeToken(tenant.groupID, limit)
    if (!decision.allowed) return false // which has taken nothing, so the long way refuses it once more
    const id = makeRequestId()
    const head = (form?.head ?? unchangedHead).slice() // which is much cheaper than to put it together
    head[1] = id
    head[3] = policies.get(tenant.tier) ?? ''
    head[5] = writeRate(tenant.tier, decision)
    if (etag !== undefined) head[placeOfTag] = etag
    response.writeHead(form ? 200 : 304, head)
    response.end(method === 'HEAD' ? undefined : form?.body)
    answers.use(answer)
    accessLog({
      id,
      method,
      route: answer.route,
      status: form ? 200 : 304,
      answeredMs: Date.now(),
      ms: performance.now() - startedMs,
      address,
      tenant,
      userId: undefined,
      isQuiet: false,
    })
    return true
  }
}
