import type { FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import type { ErrorCode } from '../errors.ts'
import type { MediaSigner } from '../media/signer.ts'
import type { Store } from '../store/open.ts'
import { failureAnswers } from './answer-schemas.ts'
import { compileQuery } from './query.ts'

/** What the endpoints work with. */
export interface EndpointDeps {
  store: Store
  signer: MediaSigner
  clock: Clock
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
  handle(
    deps: EndpointDeps,
    request: FastifyRequest & { query: Static<Query> },
    reply: FastifyReply,
  ): Promise<FastifyReply>
}

export type Endpoint = (deps: EndpointDeps) => Pick<RouteOptions, 'schema' | 'validatorCompiler' | 'handler'>

export function defineEndpoint<Query extends TObject>(definition: EndpointDefinition<Query>): Endpoint {
  const { summary, description, query, answer, failures, handle } = definition
  return (deps) => ({
    schema: {
      summary,
      description,
      querystring: query,
      response: { 200: answer, ...failureAnswers(failures) },
    },
    validatorCompiler: compileQuery as NonNullable<RouteOptions['validatorCompiler']>,
    // The route's schema has checked the query when a handler runs.
    handler: ((request, reply) => handle(deps, request as never, reply)) satisfies RouteHandlerMethod,
  })
}
