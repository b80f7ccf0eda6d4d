import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import { createAnswerSemaphore } from '../concurrency/semaphore.ts'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import type { Config } from '../config/config.ts'
import { answerTooLong } from '../content/answer-limit.ts'
import type { Clock } from '../core/clock.ts'
import { ok } from '../core/envelope.ts'
import { type ErrorCode, invalid } from '../core/errors.ts'
import { Type } from '../core/type.ts'
import { createReadCall, type ReadCall, type ReadContent, type ReadDeps } from '../delivery/make-content.ts'
import type { Mail } from '../mail/types.ts'
import type { Payments } from '../payments/payments.ts'
import { settleIfDue } from '../store/content/due.ts'
import { openGroup, type Store } from '../store/store.ts'
import type { ServedTenant } from './admission.ts'
import { failureAnswers } from './answer-schemas.ts'
import type { QuerySchema } from './query.ts'

/** A request that takes longer is answered with 503. Uploads and downloads have no such limit. */
export const handlerTimeoutMs = 25_000

/** Uncached reads of one group at once: each may be large. */
const maxReadsAtOnce = 2

const jsonType = 'application/json; charset=utf-8'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The schema of a content endpoint's query; the content handler answers these routes. */
    contentQuery?: QuerySchema
  }
}

/** The dependencies of endpoints. */
export interface EndpointDeps extends ReadDeps {
  store: Store
  payments: Payments
  mail: Mail
  config: Pick<Config, 'submissionHourlyLimits' | 'maxAnswerBytes' | 'databaseQuotas'>
  clock: Clock
}

/** One call of an endpoint, with everything that a request can contain. */
export interface Call<Query, Body> extends ReadCall<Query> {
  /** Undefined if the endpoint has none. */
  body: Body
  /** Only if the endpoint supports it. */
  idempotencyKey: string | undefined
  /** The `Origin` header: the site of the page in a browser. */
  origin: string | undefined
}

interface EndpointDefinition<Query extends TObject, Body extends TObject> {
  summary: string
  description: string
  /** Validates, types and documents the query string. */
  query: Query
  /** The same for the JSON body of a POST. */
  body?: Body
  /** Whether a repeated `Idempotency-Key` repeats the answer; the endpoint implements it. */
  honoursIdempotencyKey?: boolean
  /** Documents the answer; tests validate real answers by it. */
  answer: TSchema
  /** The status of success; 200 by default. */
  status?: 200 | 201
  /** Whether the answer is the data without the envelope (spec §4.7). */
  isBare?: boolean
  /** Failures of this endpoint besides those common to all. */
  failures: ErrorCode[]
  /** Returns the answer's `data`. */
  handle(call: Call<Static<Query>, Static<Body>>): Promise<unknown>
}

interface ContentEndpointDefinition<Query extends TObject>
  extends Pick<EndpointDefinition<Query, never>, 'summary' | 'description' | 'query' | 'answer' | 'failures'> {
  read: ReadContent<Static<Query>>
}

export type Endpoint = (deps: EndpointDeps) => Omit<RouteOptions, 'method' | 'url'>

/** An endpoint whose content can also be read without a request. */
export type ContentEndpoint<Query> = Endpoint & { read: ReadContent<Query> }

/** Failures of endpoints with a body, and of those that support an idempotency key. */
const bodyFailures: ErrorCode[] = ['PayloadTooLarge', 'UnsupportedMediaType']
const idempotencyFailures: ErrorCode[] = ['IdempotencyMismatch']

function tenantOf({ tenant }: FastifyRequest): ServedTenant {
  if (!tenant) throw new Error('An endpoint was reached without admission.')
  return tenant
}

async function createCall<Query, Body>(
  deps: EndpointDeps,
  request: FastifyRequest,
  idempotencyKey: string | undefined,
): Promise<Call<Query, Body>> {
  const { query, body, headers, timing } = request // as the route's schemas have parsed them
  const tenant = tenantOf(request)
  const group = await openGroup(deps.store, tenant)
  const nowMs = deps.clock()
  await settleIfDue(group, nowMs)
  return {
    ...createReadCall(deps, { tenant, query: query as Query, timing }, group, nowMs),
    body: body as Body,
    idempotencyKey,
    origin: headers.origin,
  }
}

/** An endpoint whose answers are not cached; it has no HEAD. */
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
  const reads = createAnswerSemaphore(maxReadsAtOnce)
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
      await yieldForHeavyWork(request.bodyCost)
      request.timing?.begin('read')
      const call = await createCall<Static<Query>, Static<Body>>(deps, request, key)
      const answered = await reads.run(body ? undefined : tenantOf(request).groupID, async () => {
        const data = await handle(call)
        request.timing?.begin('serialise')
        // As bytes: text that waits for a slow reader is in memory twice, and is freed late.
        return Buffer.from(JSON.stringify(isBare ? data : ok(data)))
      })
      if (!body && answered.length > deps.config.maxAnswerBytes) throw answerTooLong(deps.config.maxAnswerBytes)
      return reply.code(status).type(jsonType).send(answered)
    },
  })
}

/** Answers are cached as long as they are valid, and can be revalidated by ETag. See `delivery/handler.ts`, which serves these routes. */
export function defineContentEndpoint<Query extends TObject>(
  definition: ContentEndpointDefinition<Query>,
): ContentEndpoint<Static<Query>> {
  const { summary, description, query, answer, failures, read } = definition
  const endpoint: Endpoint = () => ({
    schema: { summary, description, querystring: query, response: { 200: answer, ...failureAnswers(failures) } },
    config: { contentQuery: query as unknown as QuerySchema },
    exposeHeadRoute: true,
    handler() {
      throw new Error('The content handler serves this route.')
    },
  })
  return Object.assign(endpoint, { read })
}

const pattern = /^[\x20-\x7e]{1,255}$/

/** Documents the header; `readIdempotencyKey` reads it. */
export const idempotencyHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A unique text for each operation, such as a random id for each order. A repeated request with it within 24 hours gets the same answer, and nothing is done twice.',
      examples: ['5f1c9d0e-order-1042'],
    }),
  ),
})

/** Undefined if the caller did not send one. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && pattern.test(header)) return header
  throw invalid('Idempotency-Key must be 1 to 255 printable ASCII characters.')
}
