import type { RouteOptions } from 'fastify'
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
  /** Content can be revalidated by its ETag; what is not content is stored nowhere, and not asked for by HEAD. */
  isContent: boolean
  /** Gives the answer's `data`. */
  handle(call: Call<Static<Query>, Static<Body>>): Promise<unknown>
}

export type Endpoint = (deps: EndpointDeps) => Omit<RouteOptions, 'method' | 'url'>

/** What a body, and a key to ask again with, can be wrong in. */
const bodyFailures: ErrorCode[] = ['PayloadTooLarge', 'UnsupportedMediaType']
const idempotencyFailures: ErrorCode[] = ['IdempotencyMismatch']

export function defineEndpoint<Query extends TObject, Body extends TObject = never>(
  definition: EndpointDefinition<Query, Body>,
): Endpoint {
  const { summary, description, query, body, honoursIdempotencyKey = false, answer, status = 200 } = definition
  const { failures, isContent, isBare = false, handle } = definition
  const allFailures = [
    ...failures,
    ...(body ? bodyFailures : []),
    ...(honoursIdempotencyKey ? idempotencyFailures : []),
  ]
  return ({ store, currentFiles, clock }) => ({
    schema: {
      summary,
      description,
      querystring: query,
      ...(body && { body }),
      ...(honoursIdempotencyKey && { headers: idempotencyHeader }),
      response: { [status]: answer, ...failureAnswers(allFailures) },
    },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: isContent,
    async handler(request, reply) {
      const { tenant, headers } = request
      if (!tenant) throw new Error('An endpoint was reached without admission.')
      const group = await openGroup(store, tenant)
      const data = await handle({
        tenant,
        group,
        signing: (keys) => currentFiles.prepare(group, tenant.bucketName, keys),
        query: request.query as Static<Query>, // as the route's schemas have read them
        body: request.body as Static<Body>,
        idempotencyKey: honoursIdempotencyKey ? readIdempotencyKey(headers['idempotency-key']) : undefined,
        origin: headers.origin,
        nowMs: clock(),
      })
      return isContent
        ? sendContent(request, reply, data)
        : reply
            .code(status)
            .type(jsonType)
            .send(JSON.stringify(isBare ? data : ok(data)))
    },
  })
}
