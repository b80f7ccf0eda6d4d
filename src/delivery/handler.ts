import type { IncomingMessage, ServerResponse } from 'node:http'
import { createLruMap } from '../cache/lru-map.ts'
import type { Clock } from '../core/clock.ts'
import { invalid } from '../core/errors.ts'
import type { ServiceLogger } from '../core/logging.ts'
import type { AccessLog } from '../http/access-log.ts'
import {
  type AdmissionDeps,
  admitTenant,
  anonymousCaller,
  type ManageAdmissionDeps,
  type ServedTenant,
} from '../http/admission.ts'
import { logFailure, requestTimedOut, toAppError, writeFailure } from '../http/failures.ts'
import { parseQuery, type QuerySchema, queryOf, splitQuery } from '../http/query.ts'
import { type InFlightRequests, limitBodyTime, startRequest } from '../http/request-limits.ts'
import { answerHeaders, contentHeaders, findProtocolFault } from '../http/server.ts'
import { findTimed, findTiming, type Timing, timingHeader } from '../http/timing.ts'
import { tooManyUnread, type UnsentAnswers } from '../http/unsent-answers.ts'
import type { StallWatch } from '../metrics/stalls.ts'
import { type EncodedContent, type Form, matchIfNoneMatch, previewHeadersOf } from './answer.ts'
import type { AnswerCache, CachedAnswer } from './answer-cache.ts'
import type { ContentRequest, MakeContent } from './make-content.ts'

/** A request that takes longer is answered with 503. */
const timeoutMs = 25_000

export interface ContentDeps extends AdmissionDeps, ManageAdmissionDeps {
  answers: AnswerCache
  makeContent: MakeContent
  makePreview: MakeContent
  /** Throws unless the token gives the tenant a preview of the site. Counts a limited use. */
  usePreview(tenant: ServedTenant, token: string, nowMs: number): Promise<void>
  unsent: UnsentAnswers
  stalls: Pick<StallWatch, 'begin' | 'end'>
  logger: ServiceLogger
  clock: Clock
}

/** With the parts of one HTTP server. */
interface ContentHandlerDeps extends ContentDeps {
  inFlight: InFlightRequests
  accessLog: AccessLog
  makeRequestId(): string
  readAddress(peer: string, forwardedFor: string | string[] | undefined): string
  /** If true, clients are asked to close their connections. */
  isClosing(): boolean
  keepAliveSeconds: number
  bodyTimeoutMs(): number
}

/** A content endpoint as the handler sees it. */
export interface ContentRoute {
  url: string
  query: QuerySchema
}

export type ContentHandler = (request: IncomingMessage, response: ServerResponse, route: ContentRoute) => void

/** A request in progress. */
interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  route: ContentRoute
  id: string
  startedMs: number
  address: string
  /** Headers of any answer to this request, as alternating names and values. */
  headers: string[]
  /** Once it is admitted. */
  tenant?: ServedTenant
  timing?: Timing | undefined
}

interface Reply {
  status: number
  headers: readonly string[]
  body?: Buffer
}

/** Queries by URL. A longer one gains nothing, and is parsed each time. */
const maxCachedQueries = 3000
const maxCachedUrlLength = 1000

const failureHeaders = Object.entries(answerHeaders).flat()
const unchangedHeaders = Object.entries(contentHeaders).flat()

const replyWith = ({ headers, body }: Form): Reply => ({ status: 200, headers, body })
const replyUnchanged = (etag: string): Reply => ({ status: 304, headers: [...unchangedHeaders, 'etag', etag] })

/**
 * Frees the memory of an answer that has no other user. V8 would let such buffers pile up to 64 MB and then scan its whole heap.
 */
const free = ({ buffer }: Buffer): void => void (buffer as ArrayBuffer).transfer(0)

/** Handles all requests to the content endpoints, GET and HEAD: admission, answer, failure and log line. */
export function createContentHandler(deps: ContentHandlerDeps): ContentHandler {
  const {
    authorize,
    answers,
    makeContent,
    makePreview,
    usePreview,
    inFlight,
    unsent,
    stalls,
    accessLog,
    logger,
    clock,
  } = deps

  const queries = createLruMap<string, Record<string, unknown>>(maxCachedQueries)

  /** Returns the same object for the same URL, by which endpoints memoize results. */
  function readQuery({ url: route, query: schema }: ContentRoute, url: string): Record<string, unknown> {
    const key = `${route} ${queryOf(url)}`
    const cached = queries.get(key)
    if (cached) return cached
    const query = parseQuery(schema, splitQuery(queryOf(url)))
    if (key.length <= maxCachedUrlLength) queries.set(key, query)
    return query
  }

  function begin(request: IncomingMessage, response: ServerResponse, route: ContentRoute): Exchange {
    const id = deps.makeRequestId()
    const headers = ['x-request-id', id]
    if (deps.isClosing()) headers.push('connection', 'close')
    else if (response.shouldKeepAlive) headers.push('keep-alive', `timeout=${deps.keepAliveSeconds}`)
    const { socket } = request
    const address = deps.readAddress(socket.remoteAddress ?? '', request.headers['x-forwarded-for'])
    return { request, response, route, id, startedMs: performance.now(), address, headers }
  }

  const callerOf = ({ tenant, address }: Exchange): string => tenant?.groupID ?? anonymousCaller(address)

  function checkUnread(exchange: Exchange): void {
    if (unsent.isFull(callerOf(exchange))) throw tooManyUnread()
  }

  function admit(exchange: Exchange, tenant: ServedTenant | undefined): ServedTenant {
    const { authorization } = exchange.request.headers
    const setHeader = (name: string, value: string): void => void exchange.headers.push(name, value)
    const admitted = admitTenant(deps, tenant, { authorization, address: exchange.address }, setHeader)
    exchange.tenant = admitted
    checkUnread(exchange)
    return admitted
  }

  function send(exchange: Exchange, { status, headers, body }: Reply): void {
    const { request, response, route, id, startedMs, address, tenant, timing } = exchange
    const { method = '' } = request
    const ms = performance.now() - startedMs
    if (timing) exchange.headers.push('server-timing', timing.describe(ms))
    const sent = method === 'HEAD' ? undefined : body
    response.writeHead(status, [...headers, ...exchange.headers])
    response.end(sent, sent && status === 200 && answers.isOff ? () => free(sent) : undefined)
    if (response.writableLength > 0) unsent.hold(response, callerOf(exchange))
    const line = { id, method, route: route.url, status, answeredMs: clock(), ms, address, tenant }
    accessLog({ ...line, userId: undefined, isQuiet: false })
  }

  function sendFailure(exchange: Exchange, error: unknown): void {
    const failure = toAppError(error as Error)
    logFailure(logger, failure, exchange.id)
    const { headers, body } = writeFailure(failure)
    const bytes = Buffer.from(body)
    const all = [...failureHeaders, ...Object.entries(headers).flat(), 'content-length', String(bytes.length)]
    send(exchange, { status: failure.status, headers: all, body: bytes })
  }

  /** The answer that can be sent without waiting: its form is cached, or the client has it. */
  function findReady({ request }: Exchange, tenant: ServedTenant): [CachedAnswer, Reply] | undefined {
    const { headers, url = '' } = request
    if (headers[timingHeader] !== undefined) return undefined
    const answer = answers.peek(tenant.groupID, tenant.scope, url, clock())
    if (!answer) return undefined
    const etag = matchIfNoneMatch(answer, headers['if-none-match'])
    if (etag !== undefined) return [answer, replyUnchanged(etag)]
    const form = answers.peekForm(answer, headers['accept-encoding'])
    return form && [answer, replyWith(form)]
  }

  /** In the main thread, which can read anything; each request by itself. */
  async function preparePreview(
    content: ContentRequest,
    tenant: ServedTenant,
    token: string,
    timing: Timing | undefined,
  ): Promise<Reply> {
    const nowMs = clock()
    await usePreview(tenant, token, nowMs)
    const { body } = await makePreview({ ...content, isPreview: true }, nowMs, timing)
    return { status: 200, headers: previewHeadersOf(body), body }
  }

  async function prepareReply(exchange: Exchange, known: ServedTenant | undefined): Promise<Reply> {
    const { request, route, startedMs, address } = exchange
    const { headers, url = '' } = request
    const tenant = admit(exchange, known ?? (await authorize(headers.authorization ?? '')))
    if (headers[timingHeader] !== undefined)
      exchange.timing = await findTiming(deps, headers, address, performance.now() - startedMs)
    const { timing } = exchange
    const query = readQuery(route, url)
    const content = { route: route.url, query, tenant }
    if (typeof query.preview === 'string') return preparePreview(content, tenant, query.preview, timing)
    const answerRequest = { groupId: tenant.groupID, scope: tenant.scope, route: route.url, query, url }
    const make = (nowMs: number): Promise<EncodedContent> => makeContent(content, nowMs, timing)
    const answer = await (timing ? findTimed(timing, answers, answerRequest, make) : answers.find(answerRequest, make))
    const etag = matchIfNoneMatch(answer, headers['if-none-match'])
    if (etag !== undefined) return replyUnchanged(etag)
    return replyWith(await answers.formOf(answer, headers['accept-encoding']))
  }

  /** The reply, built under the group's permit and within the time limit; slower work is not repeated. */
  async function prepareInTime(exchange: Exchange, known: ServedTenant | undefined): Promise<Reply> {
    const { request, route } = exchange
    startRequest(inFlight)
    const work = stalls.begin(() => ({ what: `${request.method} ${route.url}`, group: exchange.tenant?.groupID }))
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(requestTimedOut()), timeoutMs)
    try {
      return await Promise.race([prepareReply(exchange, known), late])
    } finally {
      clearTimeout(timer)
      inFlight.count -= 1
      stalls.end(work)
    }
  }

  async function answer(exchange: Exchange): Promise<void> {
    const { request, response, headers } = exchange
    limitBodyTime(request, response, deps.bodyTimeoutMs())
    const fault = findProtocolFault(request)
    if (fault !== undefined) {
      headers.push('connection', 'close') // it is unknown where the next request begins
      throw invalid(fault)
    }
    const tenant = authorize.peek(request.headers.authorization ?? '')
    const ready = tenant && findReady(exchange, tenant)
    if (ready) {
      const [found, reply] = ready
      admit(exchange, tenant)
      send(exchange, reply)
      answers.use(found)
      return
    }
    const reply = await prepareInTime(exchange, tenant)
    checkUnread(exchange) // other answers to this caller may have piled up meanwhile
    send(exchange, reply)
  }

  return (request, response, route) => {
    const exchange = begin(request, response, route)
    answer(exchange).catch((error) => {
      if (!response.headersSent) return sendFailure(exchange, error)
      logger.error({ requestId: exchange.id, err: error }, 'an answer could not be sent')
      response.destroy()
    })
  }
}
