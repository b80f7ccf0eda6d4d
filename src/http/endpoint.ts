import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { ok } from '../envelope.ts'
import type { ErrorCode } from '../errors.ts'
import type { Mail } from '../mail/mail.ts'
import type { CurrentFiles, Signing } from '../media/current-files.ts'
import type { Payments } from '../payments/payments.ts'
import type { ContentMemory } from '../store/content-memory.ts'
import { type GroupStore, openGroup, type Tenant } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import type { ServedTenant } from './admission.ts'
import { heldTag } from './answer.ts'
import type { AnswerCache } from './answer-cache.ts'
import { contentHeaders, securityHeaders } from './answer-headers.ts'
import { failureAnswers } from './answer-schemas.ts'
import type { Content } from './content.ts'
import { idempotencyHeader, readIdempotencyKey } from './idempotency-key.ts'
import { findTimed } from './timing.ts'

/** An answer that is not there by then is given up with 503. Files may take as long as they take. */
const handlerTimeoutMs = 25_000

const jsonType = 'application/json; charset=utf-8'

/** What the endpoints work with. */
export interface EndpointDeps {
  store: Store
  memory: ContentMemory
  currentFiles: CurrentFiles
  payments: Payments
  mail: Mail
  answers: AnswerCache
  config: Pick<Config, 'submissionHourlyLimits'>
  clock: Clock
}

/** One call of an endpoint: whose it is, what is asked, and the group's own content and signatures. */
export interface Call<Query, Body> {
  tenant: Tenant
  group: GroupStore
  /** What this process remembers of content. */
  memory: ContentMemory
  /** Makes ready the files that are to be delivered, as of when the keys were read. */
  signing(keys: readonly string[], at?: { group: GroupStore; mediaRevision: number }): Promise<Signing>
  query: Query
  /** Undefined where the endpoint takes none. */
  body: Body
  /** Only where the endpoint honours it. */
  idempotencyKey: string | undefined
  /** The `Origin` header: what a browser says of the page that it asks for. */
  origin: string | undefined
  nowMs: number
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
  /** Finds the content. It depends on nothing but the tenant, the query, the group's revision and the moment. */
  read(call: Call<Static<Query>, undefined>): Promise<Content>
}

export type Endpoint = (deps: EndpointDeps) => Omit<RouteOptions, 'method' | 'url'>

/** What a body, and a key to ask again with, can be wrong in. */
const bodyFailures: ErrorCode[] = ['PayloadTooLarge', 'UnsupportedMediaType']
const idempotencyFailures: ErrorCode[] = ['IdempotencyMismatch']

function tenantOf({ tenant }: FastifyRequest): ServedTenant {
  if (!tenant) throw new Error('An endpoint was reached without admission.')
  return tenant
}

async function callOf<Query, Body>(
  { store, memory, currentFiles }: EndpointDeps,
  request: FastifyRequest,
  nowMs: number,
  idempotencyKey?: string,
): Promise<Call<Query, Body>> {
  const tenant = tenantOf(request)
  const group = await openGroup(store, tenant)
  return {
    tenant,
    group,
    memory,
    async signing(keys, at) {
      request.timing?.begin('sign')
      const moment = at && { ...at, nowMs }
      const signing = await currentFiles.prepare(at?.group ?? group, tenant.bucketName, keys, moment)
      request.timing?.begin('read')
      return signing
    },
    query: request.query as Query, // as the route's schemas have read them
    body: request.body as Body,
    idempotencyKey,
    origin: request.headers.origin,
    nowMs,
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
      request.timing?.begin('read')
      const data = await handle(await callOf(deps, request, deps.clock(), key))
      request.timing?.begin('serialise')
      return reply
        .code(status)
        .type(jsonType)
        .send(JSON.stringify(isBare ? data : ok(data)))
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
export function defineContentEndpoint<Query extends TObject>(definition: ContentEndpointDefinition<Query>): Endpoint {
  const { summary, description, query, answer: answerSchema, failures, read } = definition
  return (deps) => ({
    schema: { summary, description, querystring: query, response: { 200: answerSchema, ...failureAnswers(failures) } },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: true,
    async handler(request, reply) {
      const { answers } = deps
      const { groupID: groupId, scope } = tenantOf(request)
      const { url: route = '' } = request.routeOptions
      const question = { groupId, scope, route, url: request.url, query: request.query as object }
      const make = async (nowMs: number) => read(await callOf(deps, request, nowMs))
      const answer = await findTimed(request.timing, answers, question, make)
      const etag = heldTag(answer, request.headers['if-none-match'])
      if (etag !== undefined) return sendUnchanged(reply, etag)
      const form = await answers.formOf(answer, request.headers['accept-encoding'])
      return reply.headers(form.headers).send(form.body)
    },
  })
}
