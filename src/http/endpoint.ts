import type { FastifyRequest, RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { SignMedia } from '../content/delivery.ts'
import { ok } from '../envelope.ts'
import type { ErrorCode } from '../errors.ts'
import type { Mail } from '../mail/mail.ts'
import type { CurrentFiles } from '../media/current-files.ts'
import type { Payments } from '../payments/payments.ts'
import { type GroupStore, openGroup, type Tenant } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { sendContent } from './answer.ts'
import { failureAnswers } from './answer-schemas.ts'
import type { Content } from './content.ts'
import { idempotencyHeader, readIdempotencyKey } from './idempotency-key.ts'

/** An answer that is not there by then is given up with 503. Files may take as long as they take. */
const handlerTimeoutMs = 25_000

const jsonType = 'application/json; charset=utf-8'

/** What the endpoints work with. */
export interface EndpointDeps {
  store: Store
  currentFiles: CurrentFiles
  payments: Payments
  mail: Mail
  config: Pick<Config, 'submissionHourlyLimits'>
  clock: Clock
}

/** One call of an endpoint: whose it is, what is asked, and the group's own content and signatures. */
export interface Call<Query, Body> {
  tenant: Tenant
  group: GroupStore
  /** Makes ready the files that are to be delivered. */
  signing(keys: readonly string[]): Promise<SignMedia>
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

async function callOf<Query, Body>(
  { store, currentFiles, clock }: EndpointDeps,
  request: FastifyRequest,
  idempotencyKey?: string,
): Promise<Call<Query, Body>> {
  const { tenant, headers } = request
  if (!tenant) throw new Error('An endpoint was reached without admission.')
  const group = await openGroup(store, tenant)
  return {
    tenant,
    group,
    signing: (keys) => currentFiles.prepare(group, tenant.bucketName, keys),
    query: request.query as Query, // as the route's schemas have read them
    body: request.body as Body,
    idempotencyKey,
    origin: headers.origin,
    nowMs: clock(),
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
      const data = await handle(await callOf(deps, request, key))
      return reply
        .code(status)
        .type(jsonType)
        .send(JSON.stringify(isBare ? data : ok(data)))
    },
  })
}

/** Content can be revalidated by its ETag. */
export function defineContentEndpoint<Query extends TObject>(definition: ContentEndpointDefinition<Query>): Endpoint {
  const { summary, description, query, answer, failures, read } = definition
  return (deps) => ({
    schema: { summary, description, querystring: query, response: { 200: answer, ...failureAnswers(failures) } },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: true,
    async handler(request, reply) {
      return sendContent(request, reply, await read(await callOf(deps, request)))
    },
  })
}
