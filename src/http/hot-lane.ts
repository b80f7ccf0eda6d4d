import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import type { StallWatch } from '../metrics/stalls.ts'
import type { RateDecision } from '../rate-limiter.ts'
import { tiers } from '../tiers.ts'
import type { AccessLog } from './access-log.ts'
import { type AdmissionDeps, noteCharge, type ServedTenant, writePolicy, writeRate } from './admission.ts'
import { type Form, heldTag, writeHead } from './answer.ts'
import type { AnswerCache, KeptAnswer } from './answer-cache.ts'
import { contentHeaders } from './answer-headers.ts'
import { noteBegun } from './begun-answers.ts'
import type { MakeContent } from './content-maker.ts'
import type { KnownQuestion, KnownQuestions } from './known-questions.ts'
import type { Places } from './places.ts'
import { isAmbiguous } from './protocol-faults.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

export interface HotLaneDeps extends AdmissionDeps {
  answers: AnswerCache
  questions: KnownQuestions
  makeContent: MakeContent
  places: Places
  unsent: UnsentAnswers
  stalls: Pick<StallWatch, 'begin' | 'end'>
  accessLog: AccessLog
  makeRequestId(): string
  clock: Clock
  /** From then on each client is asked to close its connection. */
  isClosing(): boolean
  /** For how long clients are told that a connection stays open that nothing is asked on. */
  keepAliveSeconds: number
  /** Who calls; undefined where that is not plain. */
  readAddress(peer: string, forwardedFor: string | string[] | undefined): string | undefined
}

/** Answers a request and says so, or leaves it alone. What it has taken it may still hand over to the long way. */
export type HotLane = (request: IncomingMessage, response: ServerResponse, takeLongWay: () => void) => boolean

/** After this time the long way is taken, which gives up at some point and says so. */
const mostWaitMs = 5000

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
function sendAnswer(
  response: ServerResponse,
  status: number,
  head: string,
  body: Buffer | undefined,
  onSent?: () => void,
): void {
  response.statusCode = status
  Object.assign(response, { _header: head })
  response.end(body, onSent)
}

/**
 * Gives back the memory of an answer at once. V8 lets answers that nobody needs pile up to 64 MB, and then looks through all
 * that there is. Whoever would still use the body finds it empty.
 */
const letGoOf = ({ buffer }: Buffer): void => void (buffer as ArrayBuffer).transfer(0)

interface Asking {
  request: IncomingMessage
  response: ServerResponse
  tenant: ServedTenant
  startedMs: number
}

/** A request that is let in. */
interface Admitted extends Asking {
  address: string
  decision: RateDecision
}

/**
 * The short way of a request whose answer is at hand, or whose URL was answered before, so that what it asks for is known. The
 * framework never sees it. Here nothing is refused and no question is read: whatever is not plain is left to the long way,
 * which decides and words everything. Both give the same answer.
 */
export function createHotLane(deps: HotLaneDeps): HotLane {
  const { authorize, takeToken, config, answers, questions, makeContent, places, unsent, stalls } = deps
  const { accessLog, makeRequestId, clock, keepAliveSeconds, readAddress, isClosing } = deps
  const policies = new Map(tiers.map((tier) => [tier, writePolicy(tier, config.rateLimits[tier])]))
  const endHead = createHeadEnd(keepAliveSeconds)

  function admit(asked: Asking, nowMs: number): Admitted | undefined {
    const { request, response, tenant, startedMs } = asked
    const address = readAddress(request.socket.remoteAddress ?? '', request.headers['x-forwarded-for'])
    if (address === undefined || unsent.isFull(tenant.groupID)) return undefined
    const decision = takeToken(tenant.groupID, config.rateLimits[tenant.tier], nowMs)
    if (!decision.allowed) return undefined // which has taken nothing, so the long way refuses it once more
    return { request, response, tenant, address, decision, startedMs }
  }

  /** Without a form the client has it already, under this tag. */
  function send(admitted: Admitted, route: string, form: Form | undefined, etag: string | undefined): void {
    const { request, response, tenant, address, decision, startedMs } = admitted
    const { method = '' } = request
    const answeredMs = clock()
    const id = makeRequestId()
    const status = form ? 200 : 304
    const begin = form ? form.head : `${unchangedHead}etag: ${etag}\r\n`
    const ofRequest = `x-request-id: ${id}\r\nratelimit-policy: ${policies.get(tenant.tier)}\r\nratelimit: `
    const head = begin + ofRequest + writeRate(tenant.tier, decision) + endHead(answeredMs)
    const body = method === 'HEAD' ? undefined : form?.body
    sendAnswer(response, status, head, body, body && answers.keepsNothing ? () => letGoOf(body) : undefined)
    if (response.writableLength > 0) unsent.hold(response, tenant.groupID)
    accessLog({
      id,
      method,
      route,
      status,
      answeredMs,
      ms: performance.now() - startedMs,
      address,
      tenant,
      userId: undefined,
      isQuiet: false,
    })
  }

  function find({ request, tenant }: Admitted, { route, query }: KnownQuestion): Promise<KeptAnswer> {
    const question = { groupId: tenant.groupID, scope: tenant.scope, route, url: request.url ?? '', query }
    return answers.find(question, (nowMs) => makeContent({ route, query, tenant }, nowMs))
  }

  async function formFor(
    { headers }: IncomingMessage,
    answer: KeptAnswer,
  ): Promise<[form: Form | undefined, etag: string | undefined]> {
    const etag = heldTag(answer, headers['if-none-match'])
    return [etag === undefined ? await answers.formOf(answer, headers['accept-encoding']) : undefined, etag]
  }

  /**
   * What fails here, or takes long, is handed over to the long way, which words the failure, or goes on waiting and gives up in
   * words. It is charged once, made once, and has one place.
   */
  async function answerKnown(admitted: Admitted, known: KnownQuestion, takeLongWay: () => void): Promise<void> {
    const { request, tenant, decision } = admitted
    let isOurs = true
    places.taken += 1
    const work = stalls.begin(() => ({ what: `${request.method} ${known.route}`, group: tenant.groupID }))
    const letGo = (): boolean => {
      const wasOurs = isOurs
      isOurs = false
      if (wasOurs) {
        places.taken -= 1
        stalls.end(work)
      }
      return wasOurs
    }
    const answering = find(admitted, known)
    const handOver = (isToGoOn = true): void => {
      if (!letGo() || request.socket.destroyed) return // who has gone gets nothing, and would never be done with
      noteCharge(request, decision)
      if (isToGoOn) noteBegun(request, answering)
      takeLongWay()
    }
    const timer = setTimeout(() => handOver(), mostWaitMs)
    try {
      const [form, etag] = await formFor(request, await answering)
      if (isClosing() || unsent.isFull(tenant.groupID)) handOver()
      else if (letGo()) send(admitted, known.route, form, etag)
    } catch (error) {
      questions.forget(request.url ?? '')
      handOver(error instanceof AppError) // a fault of the moment may be over
    } finally {
      clearTimeout(timer)
    }
  }

  return (request, response, takeLongWay) => {
    const startedMs = performance.now()
    const { method = '', url = '' } = request
    if (!response.shouldKeepAlive || isClosing()) return false
    if ((method !== 'GET' && method !== 'HEAD') || request.httpVersion !== '1.1') return false
    const { headers } = request
    if (headers.authorization === undefined || isMore(headers) || isAmbiguous(request)) return false
    const nowMs = clock()
    const tenant = authorize.peek(headers.authorization, nowMs)
    if (!tenant || tenant.frozen) return false
    const asked = { request, response, tenant, startedMs }
    const answer = answers.peek(tenant.groupID, tenant.scope, url, nowMs)
    if (!answer) {
      const known = places.taken < places.most ? questions.peek(url) : undefined
      const admitted = known && admit(asked, nowMs)
      if (admitted) void answerKnown(admitted, known, takeLongWay)
      return admitted !== undefined
    }
    const etag = heldTag(answer, headers['if-none-match'])
    const form = etag === undefined ? answers.peekForm(answer, headers['accept-encoding']) : undefined
    if (etag === undefined && !form) return false
    const admitted = admit(asked, nowMs)
    if (!admitted) return false
    send(admitted, answer.route, form, etag)
    answers.use(answer)
    return true
  }
}
