import type { RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import type { SignMedia } from '../content/delivery.ts'
import { ok } from '../envelope.ts'
import type { ErrorCode } from '../errors.ts'
import type { CurrentFiles } from '../media/current-files.ts'
import { type GroupStore, openGroup, type Tenant } from '../store/groups.ts'
import type { Store } from '../store/open.ts'
import { sendContent } from './answer.ts'
import { failureAnswers } from './answer-schemas.ts'

/** An answer that is not there by then is given up with 503. Files may take as long as they take. */
const handlerTimeoutMs = 25_000

/** What the endpoints work with. */
export interface EndpointDeps {
  store: Store
  currentFiles: CurrentFiles
  clock: Clock
}

/** One call of an endpoint: whose it is, what is asked, and the group's own content and signatures. */
export interface Call<Query> {
  tenant: Tenant
  group: GroupStore
  /** Makes ready the files that are to be delivered. */
  signing(keys: readonly string[]): Promise<SignMedia>
  query: Query
  nowMs: number
}

interface EndpointDefinition<Query extends TObject> {
  summary: string
  description: string
  /** Validates, types and documents the query string. */
  query: Query
  /** Documents the answer; tests hold real answers against it. */
  answer: TSchema
  /** Failures of this endpoint besides those that all have. */
  failures: ErrorCode[]
  /** Content can be revalidated by its ETag; what is not content is stored nowhere, and not asked for by HEAD. */
  isContent: boolean
  /** Gives the answer's `data`. */
  handle(call: Call<Static<Query>>): Promise<unknown>
}

export type Endpoint = (deps: EndpointDeps) => Omit<RouteOptions, 'method' | 'url'>

export function defineEndpoint<Query extends TObject>(definition: EndpointDefinition<Query>): Endpoint {
  const { summary, description, query, answer, failures, isContent, handle } = definition
  return ({ store, currentFiles, clock }) => ({
    schema: { summary, description, querystring: query, response: { 200: answer, ...failureAnswers(failures) } },
    handlerTimeout: handlerTimeoutMs,
    exposeHeadRoute: isContent,
    async handler(request, reply) {
      const { tenant } = request
      if (!tenant) throw new Error('An endpoint was reached without admission.')
      const group = await openGroup(store, tenant)
      const data = await handle({
        tenant,
        group,
        signing: (keys) => currentFiles.prepare(group, tenant.bucketName, keys),
        query: request.query as Static<Query>, // as the route's schema has read it
        nowMs: clock(),
      })
      return isContent ? sendContent(request, reply, data) : reply.send(ok(data))
    },
  })
}
