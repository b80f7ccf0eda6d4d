import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { ok } from '../envelope.ts'
import { invalid } from '../errors.ts'
import { admitManagers, identifyManager, type ManageAdmissionDeps } from '../http/admission.ts'
import { parseQuery, type QuerySchema, type RawQuery } from '../http/query.ts'
import type { TokenHolder } from '../store/admin-tokens.ts'
import { verbs } from './index.ts'
import { leaveBodiesUnread, letGoOfBody, openUpload, uploadTimeoutMs } from './multipart.ts'
import { registerManageDocs } from './openapi.ts'
import { createUploadPlaces, type UploadPlaces } from './upload-places.ts'
import { type Actor, type ManageDeps, runVerb, type Verb } from './verb.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb of a management route. */
    verb?: string
  }
}

const bodyLimitBytes = 8 * 1024 * 1024
const readTimeoutMs = 25_000
/** A change of many objects may take long; it ends before the connection is given up for silence. */
const writeTimeoutMs = 85_000

function timeoutOf({ takesFile, method }: Verb): number {
  if (takesFile) return uploadTimeoutMs
  return method === 'GET' ? readTimeoutMs : writeTimeoutMs
}

/** Who asks, for a verb. */
function actorOf({ userId, name, administrator, roleIn, expiresMs }: TokenHolder, address: string): Actor {
  return { id: userId, name, address, administrator, roleIn, tokenExpiresMs: expiresMs }
}

/** Of an object the parts are named in brackets, of nothing else. */
function isParameter(properties: Verb['input']['properties'], name: string): boolean {
  const [plain = ''] = name.split('[', 1)
  if (!Object.hasOwn(properties, plain)) return false
  return name === plain || (properties[plain] as { type?: string }).type === 'object'
}

/** What stands in the query string; a name that the verb does not know there is an error, and not ignored. */
function queryInput(properties: Verb['input']['properties'], required: string[], raw: RawQuery) {
  const unknown = Object.keys(raw).find((name) => !isParameter(properties, name))
  if (unknown !== undefined) {
    const known = Object.keys(properties).join(', ') || 'none'
    throw invalid(`${unknown.slice(0, 64)} is not a parameter here. Known: ${known}.`)
  }
  const parsed = parseQuery({ properties, required } as unknown as QuerySchema, raw)
  return Object.fromEntries(Object.entries(parsed).filter(([, value]) => value !== undefined))
}

function bodyInput(body: unknown, inPath: readonly string[]): Record<string, unknown> {
  if (body === undefined) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('The body must be a JSON object.')
  const doubled = inPath.find((name) => Object.hasOwn(body, name))
  if (doubled) throw invalid(`${doubled} stands in the path and cannot be given in the body.`)
  return body as Record<string, unknown>
}

/** The path, and the query string or the body, are the one input of a verb. Numbers in a path are read as such. */
export function inputOf(
  verb: Verb,
  request: Pick<FastifyRequest, 'params' | 'query' | 'body'>,
): Record<string, unknown> {
  const { inPath } = verb
  const pathProperties = Object.fromEntries(inPath.map((name) => [name, verb.input.properties[name]]))
  const path = parseQuery({ properties: pathProperties } as unknown as QuerySchema, request.params as RawQuery)
  if (verb.hasBody) {
    queryInput({}, [], request.query as RawQuery)
    return { ...bodyInput(request.body, inPath), ...path }
  }
  if (request.body !== undefined && !verb.takesFile)
    throw invalid('This takes no body; its parameters stand in the query string.')
  const { properties, required = [] } = verb.input
  const inQuery = Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name)))
  return { ...queryInput(inQuery, required, request.query as RawQuery), ...path }
}

type RouteDeps = ManageDeps & ManageAdmissionDeps

function routeOf(deps: RouteDeps, inUploadPlace: UploadPlaces, verb: Verb): RouteOptions {
  async function run(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { manager, ip } = request
    if (!manager) throw new Error('A verb was reached without admission.')
    const again = async () => actorOf(await identifyManager(deps, request, reply), ip)
    const actor = { ...actorOf(manager, ip), again }
    const input = inputOf(verb, request)
    if (!verb.takesFile) return runVerb(deps, actor, verb, input)
    return inUploadPlace(manager.userId, () =>
      runVerb(deps, actor, verb, input, () => openUpload(request)).finally(() => letGoOfBody(request)),
    )
  }

  return {
    method: verb.method,
    url: verb.path,
    schema: { hide: true },
    bodyLimit: bodyLimitBytes,
    handlerTimeout: timeoutOf(verb),
    config: { takesFile: verb.takesFile, verb: verb.name },
    exposeHeadRoute: false,
    async handler(request, reply) {
      const data = await run(request, reply)
      if (verb.contentType) return reply.type(verb.contentType).header('Content-Disposition', 'attachment').send(data)
      return reply.code(verb.isCreation ? 201 : 200).send(ok(data))
    },
  }
}

/** Each verb is a route: the table of verbs is the table of routes. */
export function registerManageRoutes(app: FastifyInstance, deps: RouteDeps): void {
  registerManageDocs(app)
  const inUploadPlace = createUploadPlaces()
  app.register(async (scope) => {
    admitManagers(scope, deps)
    scope.register(async (uploads) => {
      leaveBodiesUnread(uploads)
      for (const verb of verbs) if (verb.takesFile) uploads.route(routeOf(deps, inUploadPlace, verb))
    })
    for (const verb of verbs) if (!verb.takesFile) scope.route(routeOf(deps, inUploadPlace, verb))
  })
}
