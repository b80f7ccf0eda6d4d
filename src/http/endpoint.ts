import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { answerTooLong } from '../content/answer-limit.ts'
import { ok } from '../envelope.ts'
import type { ErrorCode } from '../errors.ts'
import { takePiece } from '../heavy-work.ts'
import type { Mail } from '../mail/mail.ts'
import type { Payments } from '../payments/payments.ts'
import type { Store } from '../store/open.ts'
import type { ServedTenant } from './admission.ts'
import { heldTag } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import { contentHeaders, securityHeaders } from './answer-headers.ts'
import { failureAnswers } from './answer-schemas.ts'
import { begunFor } from './begun-answers.ts'
import { type MakeContent, type ReadCall, type ReadContent, type ReadDeps, readCallOf } from './content-maker.ts'
import { createAnswerTurns } from './fair-maker.ts'
import { idempotencyHeader, readIdempotencyKey } from './idempotency-key.ts'
import type { KnownQuestions } from './known-questions.ts'
import { findTimed } from './timing.ts'

/** An answer that is not there by then is given up with 503. Files may take as long as they take. */
const handlerTimeoutMs = 25_000

/** Reads that are not cached, of one group at once: each may be large. */
const maxReadsAtOnce = 2

const jsonType = 'application/json; charset=utf-8'

/** What the endpoints work with. */
export interface EndpointDeps extends ReadDeps {
  store: Store
  payments: Payments
  mail: Mail
  answers: AnswerCache
  questions: KnownQuestions
  makeContent: MakeContent
  config: Pick<Config, 'submissionHourlyLimits' | 'maxAnswerBytes' | 'databaseQuotas'>
  clock: Clock
}

/** One call of an endpoint, with all that a request can bring along. */
export interface Call<Query, Body> extends ReadCall<Query> {
  /** Undefined where the endpoint takes none. */
  body: Body
  /** Only where the endpoint honours it. */
  idempotencyKey: string | undefined
  /** The `Origin` header: what a browser says of the page that it asks for. */
  origin: string | undefined
}

interface EndpointDefinition<Query extends TObject, Body extends TObject> {
  summary: string
  description: string
  /** Validates, types and documents the query string. */
  query: Query
  /** The same for the JSON body of a POST. */
  body?: Body
  /** Whether asking twice with one `Idempotency-Key` is asking once; the endpoint itself sees to it. */
  honoursIdempotencyKey?: boolean
  /** Documents the answer; tests hold real answers against it. */
  answer: TSchema
  /** Of success; 200 where it is not said. */
  status?: 200 | 201
  /** Whether the answer is the data alone, without the envelope, as spec §4.7 has it. */
  isBare?: boolean
  /** Failures of this endpoint besides those that all have. */
  failures: ErrorCode[]
  /** Gives the answer's `data`. */
  handle(call: Call<Static<Query>, Static<Body>>): Promise<unknown>
}

interface ContentEndpointDefinition<Query extends TObject>
  extends Pick<EndpointDefinition<Query, never>, 'summary' | 'description' | 'query' | 'answer' | 'failures'> {
  read: ReadContent<Static<Query>>
}

export type Endpoint = (deps: EndpointDeps) => Omit<RouteOptions, 'method' | 'url'>

/** An endpoint whose content can also be read without a request. */
export type ContentEndpoint<Query> = Endpoint & { read: ReadContent<Query> }

/** What a body, and a key to ask again with, can be wrong in. */
const bodyFailures: ErrorCode[] = ['PayloadTooLarge', 'UnsupportedMediaType']
const idempotencyFailures: ErrorCode[] = ['IdempotencyMismatch']

function tenantOf({ tenant }: FastifyRequest): ServedTenant {
  if (!tenant) throw new Error('An endpoint was reached without admission.')
  return tenant
}

async function callOf<Query, Body>(
  deps: EndpointDeps,
  request: FastifyRequest,
  idempotencyKey: string | undefined,
): Promise<Call<Query, Body>> {
  const { query, body, headers, timing } = request // as the route's schemas have read them
  const asked = { tenant: tenantOf(request), query: query as Query, timing }
  return {
    ...(await readCallOf(deps, asked, deps.clock())),
    body: body as Body,
    idempotencyKey,
    origin: headers.origin,
  }
}

/** What is not content is stored nowhere, and not asked for by HEAD. */
export function defineEndpoint<Query extends TObject, Body extends TObject = never>(
  definition: EndpointDefinition<Query, Body>,
): Endpoint {
  const { summary, description, query, body, honoursIdempotencyKey = false, answer, status = 200 } = definition
  const { failures, isBare = false, handle } = definition
  const allFailures = [
    ...failures,
    ...(body ? bodyFailures : []),
    ...(honoursIdempotencyKey ? idempotencyFailures : []),
  ]
  const inTurn = createAnswerTurns(maxReadsAtOnce)
  return (deps) => ({
    schema: {
      summary,
      description,
      querystring: query,
      ...(body && { body }),
      ...(honoursIdempotencyKey && { headers: idempotencyHeader }),
      response: { [status]: answer, ...failureAnswers(allFailures) },
    },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: false,
    async handler(request, reply) {
      const key = honoursIdempotencyKey ? readIdempotencyKey(request.headers['idempotency-key']) : undefined
      await takePiece(request.bodyCost)
      request.timing?.begin('read')
      const call = await callOf<Static<Query>, Static<Body>>(deps, request, key)
      const answered = await inTurn(body ? undefined : tenantOf(request).groupID, async () => {
        const data = await handle(call)
        request.timing?.begin('serialise')
        // As bytes: a text that waits for a slow reader is there twice, and is given back late.
        return Buffer.from(JSON.stringify(isBare ? data : ok(data)))
      })
      if (!body && answered.length > deps.config.maxAnswerBytes) throw answerTooLong(deps.config.maxAnswerBytes)
      return reply.code(status).type(jsonType).send(answered)
    },
  })
}

function sendUnchanged(reply: FastifyReply, etag: string): FastifyReply {
  for (const name of Object.keys(securityHeaders)) reply.removeHeader(name)
  reply.code(304).headers(contentHeaders).header('etag', etag)
  // To HEAD the framework would say that the content is 0 bytes long, unless it cannot know.
  return reply.send(reply.request.method === 'HEAD' ? Readable.from([]) : undefined)
}

/** Content is answered from the cache as long as it is right, and can be revalidated by its ETag. */
export function defineContentEndpoint<Query extends TObject>(
  definition: ContentEndpointDefinition<Query>,
): ContentEndpoint<Static<Query>> {
  const { summary, description, query: querySchema, answer: answerSchema, failures, read } = definition
  const response = { 200: answerSchema, ...failureAnswers(failures) }
  const endpoint: Endpoint = ({ answers, questions, makeContent }) => ({
    schema: { summary, description, querystring: querySchema, response },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: true,
    async handler(request, reply) {
      const { url, timing, headers } = request
      const tenant = tenantOf(request)
      const known = { route: request.routeOptions.url ?? '', query: request.query as object }
      const question = { ...known, groupId: tenant.groupID, scope: tenant.scope, url }
      const make = (nowMs: number) => makeContent({ ...known, tenant }, nowMs, timing)
      const answer = await (begunFor(request.raw) ?? findTimed(timing, answers, question, make))
      questions.note(url, known)
      const etag = heldTag(answer, headers['if-none-match'])
      if (etag !== undefined) return sendUnchanged(reply, etag)
      const form = await answers.formOf(answer, headers['accept-encoding'])
      return reply.headers(form.headers).send(form.body)
    },
  })
  return Object.assign(endpoint, { read })
}
