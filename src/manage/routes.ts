import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { createSemaphore, type Semaphore } from '../concurrency/semaphore.ts'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import { invalid } from '../core/errors.ts'
import { admitAnybody, admitManagers, callerOf, identifyManager, type ManageAdmissionDeps } from '../http/admission.ts'
import { answerJson } from '../http/list-json.ts'
import { parseQuery, type QuerySchema, type RawQuery } from '../http/query.ts'
import { asHook, uploadTimeoutMs } from '../http/server.ts'
import type { TokenHolder } from '../store/control/admin-tokens.ts'
import { verbs } from './index.ts'
import { discardBody, openUpload, skipBodyParsing } from './multipart.ts'
import { registerManageDocs } from './openapi.ts'
import { type Actor, defaultBodyBytes, type ManageDeps, runVerb, type Verb } from './verb.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The verb of a management route. */
    verb?: string
  }
}

const readTimeoutMs = 25_000
/** For a change of many objects; shorter than the timeout of an idle connection. */
const writeTimeoutMs = 85_000

/** By user: an upload may take an hour, and one user must not occupy all slots. */
const uploadLimit = {
  maxPerKey: 8,
  max: 64,
  keyMessage: 'You are uploading 8 files already. Try again when one of them has finished.',
  busyMessage: 'Others are uploading many files. Try again in a moment.',
  retryAfterSeconds: 5,
}
/** By group: a large body needs several times its size in memory until it is stored. */
const largeBodyLimit = {
  maxPerKey: 4,
  max: 16,
  keyMessage: 'This group is being sent 4 large bodies already. Try again when one of them is stored.',
  busyMessage: 'Many large bodies are coming in from others. Try again in a moment.',
  retryAfterSeconds: 1,
}
/** By verb and group: verbs that work on all of a group's content. */
const exclusiveLimit = {
  maxPerKey: 1,
  max: 4,
  keyMessage: 'This is already running for the group. Try again when it has finished.',
  busyMessage: 'This is running for several other groups. Try again in a moment.',
  retryAfterSeconds: 5,
}
/** From this cost on, processing a body takes many times as long as parsing it. */
const heavyBodyCost = 100_000
const maxWaitMs = 15_000
/** By group, whose writes run one after the other in the database anyway. */
const heavyWriteLimit = {
  maxPerKey: 1,
  maxWaitingPerKey: 50,
  maxWaitMs,
  busyMessage: 'Too much is being written to this group. Try again in a moment.',
}
/** By group: a list or an object needs several times its size in memory until it is sent. */
const readLimit = {
  maxPerKey: 2,
  maxWaitingPerKey: 200,
  maxWaitMs,
  busyMessage: 'Too many requests to this group are being answered. Try again in a moment.',
}
interface Limits {
  reads: Semaphore
  heavyWrites: Semaphore
  uploads: Semaphore
  exclusive: Semaphore
  largeBodies: Semaphore
}

function timeoutOf({ takesFile, method }: Verb): number {
  if (takesFile) return uploadTimeoutMs
  return method === 'GET' ? readTimeoutMs : writeTimeoutMs
}

function actorOf(holder: TokenHolder, address: string): Actor {
  const { userId, name, administrator, narrowed, roleIn, expiresMs } = holder
  return { id: userId, name, address, administrator, narrowed, roleIn, tokenExpiresMs: expiresMs }
}

const anonymousActor = (address: string): Actor => ({
  id: null,
  name: 'a caller without a token',
  address,
  administrator: false,
  narrowed: false,
  roleIn: () => undefined,
  tokenExpiresMs: null,
})

/** Only parameters of type object have names in brackets, as `filters[field]`. */
function isParameter(properties: Verb['input']['properties'], name: string): boolean {
  const [plain = ''] = name.split('[', 1)
  if (!Object.hasOwn(properties, plain)) return false
  return name === plain || (properties[plain] as { type?: string }).type === 'object'
}

/** Reads the query string; an unknown parameter is an error. */
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
  if (doubled) throw invalid(`${doubled} is part of the path and cannot be given in the body.`)
  return body as Record<string, unknown>
}

/** Merges the path with the query string or the body into the input of a verb. Numbers in a path are parsed. */
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
    throw invalid('This endpoint takes no body; its parameters are in the query string.')
  const { properties, required = [] } = verb.input
  const inQuery = Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name)))
  return { ...queryInput(inQuery, required, request.query as RawQuery), ...path }
}

type RouteDeps = ManageDeps & ManageAdmissionDeps

/** Whether the body may be large; one of unknown length counts as large. */
function announcesLargeBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': declared, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || Number(declared ?? 0) > defaultBodyBytes
}

/** Checks the role and the limit of large bodies before any byte of the body is read. */
function admit(verb: Verb, { largeBodies }: Limits) {
  return asHook((request, reply) => {
    const { groupId = '' } = request.params as { groupId?: string }
    // A verb without a token has a small body, and checks its caller itself.
    if (verb.needs !== 'anonymous') verb.checkRole(actorOf(managerOf(request), request.ip), groupId)
    if (verb.maxBodyBytes <= defaultBodyBytes || !announcesLargeBody(request)) return
    reply.raw.once('close', largeBodies.acquireOrThrow(groupId))
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
      return runVerb(deps, anonymousActor(request.ip), verb, inputOf(verb, request))
    const manager = managerOf(request)
    const again = async () => actorOf(await identifyManager(deps, request, reply), request.ip)
    const actor = { ...actorOf(manager, request.ip), again }
    const input = inputOf(verb, request)
    if (!verb.takesFile && !verb.isExclusive) return runVerb(deps, actor, verb, input)
    const release = verb.takesFile
      ? limits.uploads.acquireOrThrow(manager.userId)
      : limits.exclusive.acquireOrThrow(`${verb.name} ${input.groupId}`)
    try {
      return await runVerb(deps, actor, verb, input, () => openUpload(request))
    } finally {
      discardBody(request)
      release()
    }
  }

  /** Builds the answer inside the group's semaphore; it is sent outside of it, however slowly it is read. */
  async function make(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const data = await run(request, reply)
    if (verb.contentType) return data
    // A committed change is not refused for the length of its answer.
    const maxBytes = (isRead ? deps.maxAnswerBytes : undefined) ?? Number.POSITIVE_INFINITY
    return answerJson(data, maxBytes)
  }

  return {
    method: verb.method,
    url: verb.path,
    bodyLimit: verb.maxBodyBytes,
    handlerTimeout: timeoutOf(verb),
    config: { takesFile: verb.takesFile, verb: verb.name },
    exposeHeadRoute: false,
    onRequest: admit(verb, limits),
    async handler(request, reply) {
      const { groupId } = request.params as { groupId?: string }
      const { bodyCost } = request
      const isHeavy = bodyCost >= heavyBodyCost
      const semaphore = isRead ? limits.reads : limits.heavyWrites
      const answer = await semaphore.run(isRead || isHeavy ? (groupId ?? callerOf(request)) : undefined, async () => {
        await yieldForHeavyWork(bodyCost)
        return make(request, reply)
      })
      if (verb.contentType) reply.type(verb.contentType).header('Content-Disposition', 'attachment')
      else reply.code(verb.isCreation ? 201 : 200).type('application/json; charset=utf-8')
      return reply.send(answer)
    },
  }
}

/** Registers a route for each verb; `verb-table.ts` lists them. */
export function registerManageRoutes(app: FastifyInstance, deps: RouteDeps): void {
  registerManageDocs(app)
  const limits = {
    uploads: createSemaphore(uploadLimit),
    exclusive: createSemaphore(exclusiveLimit),
    reads: createSemaphore(readLimit),
    heavyWrites: createSemaphore(heavyWriteLimit),
    largeBodies: createSemaphore(largeBodyLimit),
  }
  app.register(async (scope) => {
    admitManagers(scope, deps)
    scope.register(async (uploads) => {
      skipBodyParsing(uploads)
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
