import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../concurrency-limit.ts'
import { invalid } from '../errors.ts'
import { takePiece } from '../heavy-work.ts'
import { admitAnybody, admitManagers, callerOf, identifyManager, type ManageAdmissionDeps } from '../http/admission.ts'
import { asHook } from '../http/hook.ts'
import { answerJson } from '../http/list-json.ts'
import { parseQuery, type QuerySchema, type RawQuery } from '../http/query.ts'
import type { TokenHolder } from '../store/admin-tokens.ts'
import { createTurns, type Turns } from '../store/turns.ts'
import { verbs } from './index.ts'
import { leaveBodiesUnread, letGoOfBody, openUpload, uploadTimeoutMs } from './multipart.ts'
import { registerManageDocs } from './openapi.ts'
import { type Actor, defaultBodyBytes, type ManageDeps, runVerb, type Verb } from './verb.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb of a management route. */
    verb?: string
  }
}

const readTimeoutMs = 25_000
/** A change of many objects may take long; it ends before the connection is given up for silence. */
const writeTimeoutMs = 85_000

/** An upload may last an hour: who holds many places must leave some to others. By user. */
const uploadRule = {
  perHolder: 8,
  inAll: 64,
  holderMessage: 'You are sending 8 files already. Try again when one of them has arrived.',
  busyMessage: 'Many files are coming in from others. Try again in a moment.',
  retryAfterSeconds: 5,
}
/** A large body is in memory several times over until it is stored. By group. */
const largeBodyRule = {
  perHolder: 4,
  inAll: 16,
  holderMessage: 'This group is being sent 4 large bodies already. Try again when one of them is stored.',
  busyMessage: 'Many large bodies are coming in from others. Try again in a moment.',
  retryAfterSeconds: 1,
}
/** What goes over everything that a group has. By verb and group. */
const exclusiveRule = {
  perHolder: 1,
  inAll: 4,
  holderMessage: 'This is being done for the group already. Try again when it has ended.',
  busyMessage: 'The same is being done for several other groups. Try again in a moment.',
  retryAfterSeconds: 5,
}
/** From this cost on a body is heavy: what is done with it takes many times as long as to parse it. */
const heavyBodyCost = 100_000
/** Writes of a group take turns in the database in any case. By group. */
const heavyWriteTurns = {
  maxWaiting: 50,
  refusal: 'Too much is being written to this group. Try again in a moment.',
}
/** A list or an object is in memory several times over until it is sent. By group. */
const readTurns = {
  atOnce: 2,
  maxWaiting: 200,
  refusal: 'Too many requests to this group are being answered. Try again in a moment.',
}
interface Limits {
  reads: Turns
  heavyWrites: Turns
  uploads: ConcurrencyLimit
  exclusive: ConcurrencyLimit
  largeBodies: ConcurrencyLimit
}

function timeoutOf({ takesFile, method }: Verb): number {
  if (takesFile) return uploadTimeoutMs
  return method === 'GET' ? readTimeoutMs : writeTimeoutMs
}

/** Who asks, for a verb. */
function actorOf(holder: TokenHolder, address: string): Actor {
  const { userId, name, administrator, narrowed, roleIn, expiresMs } = holder
  return { id: userId, name, address, administrator, narrowed, roleIn, tokenExpiresMs: expiresMs }
}

/** Who came without a token, where none is needed. */
const guest = (address: string): Actor => ({
  id: null,
  name: 'somebody without a token',
  address,
  administrator: false,
  narrowed: false,
  roleIn: () => undefined,
  tokenExpiresMs: null,
})

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

/** Whether it may be large: also where nobody says how long it is. */
function announcesLargeBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': declared, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || Number(declared ?? 0) > defaultBodyBytes
}

/** Who may not do it is refused before anything of the body is read, and so are more large bodies than memory is for. */
function admit(verb: Verb, { largeBodies }: Limits) {
  return asHook((request, reply) => {
    const { groupId = '' } = request.params as { groupId?: string }
    // What needs no token has a small body, and says itself who may.
    if (verb.needs !== 'anonymous') verb.checkRole(actorOf(managerOf(request), request.ip), groupId)
    if (verb.maxBodyBytes <= defaultBodyBytes || !announcesLargeBody(request)) return
    reply.raw.once('close', largeBodies.take(groupId))
  })
}

function managerOf({ manager }: FastifyRequest): TokenHolder {
  if (!manager) throw new Error('A verb was reached without admission.')
  return manager
}

function routeOf(deps: RouteDeps, limits: Limits, verb: Verb): RouteOptions {
  const isRead = verb.method === 'GET'

  async function run(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (!request.manager && verb.needs === 'anonymous')
      return runVerb(deps, guest(request.ip), verb, inputOf(verb, request))
    const manager = managerOf(request)
    const again = async () => actorOf(await identifyManager(deps, request, reply), request.ip)
    const actor = { ...actorOf(manager, request.ip), again }
    const input = inputOf(verb, request)
    if (!verb.takesFile && !verb.isExclusive) return runVerb(deps, actor, verb, input)
    const release = verb.takesFile
      ? limits.uploads.take(manager.userId)
      : limits.exclusive.take(`${verb.name} ${input.groupId}`)
    try {
      return await runVerb(deps, actor, verb, input, () => openUpload(request))
    } finally {
      letGoOfBody(request)
      release()
    }
  }

  /** What is sent: made within the group's turn, and sent outside of it, however slowly it is read. */
  async function make(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const data = await run(request, reply)
    if (verb.contentType) return data
    // What was changed is not refused afterwards, however long it is.
    const maxBytes = (isRead ? deps.maxAnswerBytes : undefined) ?? Number.POSITIVE_INFINITY
    return answerJson(data, maxBytes)
  }

  return {
    method: verb.method,
    url: verb.path,
    schema: { hide: true },
    bodyLimit: verb.maxBodyBytes,
    handlerTimeout: timeoutOf(verb),
    config: { takesFile: verb.takesFile, verb: verb.name },
    exposeHeadRoute: false,
    onRequest: admit(verb, limits),
    async handler(request, reply) {
      const { groupId } = request.params as { groupId?: string }
      const { bodyCost } = request
      const isHeavy = bodyCost >= heavyBodyCost
      const inTurn = isRead ? limits.reads : limits.heavyWrites
      const answer = await inTurn(isRead || isHeavy ? (groupId ?? callerOf(request)) : undefined, async () => {
        await takePiece(bodyCost)
        return make(request, reply)
      })
      if (verb.contentType) reply.type(verb.contentType).header('Content-Disposition', 'attachment')
      else reply.code(verb.isCreation ? 201 : 200).type('application/json; charset=utf-8')
      return reply.send(answer)
    },
  }
}

/** Each verb is a route: the table of verbs is the table of routes. */
export function registerManageRoutes(app: FastifyInstance, deps: RouteDeps): void {
  registerManageDocs(app)
  const limits = {
    uploads: createConcurrencyLimit(uploadRule),
    exclusive: createConcurrencyLimit(exclusiveRule),
    reads: createTurns(readTurns),
    heavyWrites: createTurns(heavyWriteTurns),
    largeBodies: createConcurrencyLimit(largeBodyRule),
  }
  app.register(async (scope) => {
    admitManagers(scope, deps)
    scope.register(async (uploads) => {
      leaveBodiesUnread(uploads)
      for (const verb of verbs) if (verb.takesFile) uploads.route(routeOf(deps, limits, verb))
    })
    for (const verb of verbs)
      if (!verb.takesFile && verb.needs !== 'anonymous') scope.route(routeOf(deps, limits, verb))
  })
  app.register(async (scope) => {
    admitAnybody(scope, deps)
    for (const verb of verbs) if (verb.needs === 'anonymous') scope.route(routeOf(deps, limits, verb))
  })
}
