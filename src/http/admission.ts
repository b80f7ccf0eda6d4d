import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { RateDecision, RateLimit } from '../rate-limiter.ts'
import type { TokenHolder } from '../store/admin-tokens.ts'
import type { KeyHolder } from '../store/api-keys.ts'
import { networkOf } from './caller-address.ts'
import { asHook } from './hook.ts'

/** Who is served. */
export interface ServedTenant extends KeyHolder {
  /** All that its answers depend on besides its content. */
  scope: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only on requests that were admitted. */
    tenant?: ServedTenant
    /** Only on requests to the management API that were admitted. */
    manager?: TokenHolder
  }
}

export interface LimitDeps {
  takeToken: (subject: string, limit: RateLimit, nowMs?: number) => RateDecision
  config: Pick<Config, 'rateLimits' | 'manageRateLimit'>
}

export interface AdmissionDeps extends LimitDeps {
  authorize: {
    (apiKey: string): Promise<ServedTenant | undefined>
    /** The same at once, where it is known. */
    peek(apiKey: string, nowMs?: number): ServedTenant | undefined
  }
}

export interface ManageAdmissionDeps extends LimitDeps {
  authorizeManager(token: string): Promise<TokenHolder | undefined>
}

/** What `RateLimit-Policy` says: the rule (draft-ietf-httpapi-ratelimit-headers). */
export function writePolicy(policy: string, { burst, perSecond }: RateLimit): string {
  const windowSeconds = Math.max(1, Math.ceil(burst / perSecond))
  return `"${policy}";q=${burst};w=${windowSeconds}`
}

/** What `RateLimit` says: what is left. */
export const writeRate = (policy: string, { remaining, resetSeconds }: RateDecision): string =>
  `"${policy}";r=${remaining};t=${resetSeconds}`

/** Requests that were let in on the short way, and then took the long one: nobody pays twice. */
const charges = new WeakMap<IncomingMessage, RateDecision>()
export const noteCharge = (request: IncomingMessage, decision: RateDecision): void =>
  void charges.set(request, decision)

function showRate(reply: FastifyReply, policy: string, limit: RateLimit, decision: RateDecision): void {
  reply.header('ratelimit-policy', writePolicy(policy, limit))
  reply.header('ratelimit', writeRate(policy, decision))
}

function refuseRate(reply: FastifyReply, policy: string, limit: RateLimit, decision: RateDecision): never {
  showRate(reply, policy, limit, decision)
  const message = 'Too many requests. Wait the seconds in Retry-After and try again.'
  throw new AppError('RateLimited', message, { retryAfterSeconds: decision.retryAfterSeconds })
}

/** Charges the caller, and says so on the answer. */
function limitRate(deps: LimitDeps, reply: FastifyReply, subject: string, policy: string, limit: RateLimit): void {
  const decision = charges.get(reply.request.raw) ?? deps.takeToken(subject, limit)
  if (!decision.allowed) refuseRate(reply, policy, limit, decision)
  showRate(reply, policy, limit, decision)
}

/** How limits name a caller that no key vouches for. */
export const anonymousCaller = (address: string): string => `address ${networkOf(address)}`
const managerCaller = ({ userId }: TokenHolder): string => `user ${userId}`

/** Whom limits count a request for. */
export function callerOf({ tenant, manager, ip }: FastifyRequest): string {
  if (tenant) return tenant.groupID
  return manager ? managerCaller(manager) : anonymousCaller(ip)
}

/** Callers that no key vouches for are limited by their address. */
export function limitAnonymous(deps: LimitDeps, request: FastifyRequest, reply: FastifyReply): void {
  limitRate(deps, reply, anonymousCaller(request.ip), 'anonymous', deps.config.rateLimits.anonymous)
}

const isBearer = (header: string): boolean => /^bearer\b/i.test(header)

function refusalOf(header: string | undefined): AppError {
  if (!header) {
    return new AppError('Unauthorized', 'The Authorization header is missing. Send the API key of the group in it.')
  }
  if (isBearer(header)) {
    return new AppError('Unauthorized', 'Send the bare API key in the Authorization header, without "Bearer".')
  }
  return new AppError('Unauthorized', 'The API key is not valid.')
}

/** The door of all `/tenant` endpoints: who is it, how often, and is the group frozen. In this order. */
export function admitTenants(app: FastifyInstance, deps: AdmissionDeps): void {
  function admit(tenant: ServedTenant | undefined, request: FastifyRequest, reply: FastifyReply): void {
    if (!tenant) {
      limitAnonymous(deps, request, reply)
      throw refusalOf(request.headers.authorization)
    }
    limitRate(deps, reply, tenant.groupID, tenant.tier, deps.config.rateLimits[tenant.tier])
    if (tenant.frozen) throw new AppError('GroupFrozen', 'The group is frozen')
    request.tenant = tenant
  }
  const check = asHook((request, reply) => {
    const key = request.headers.authorization ?? ''
    const known = deps.authorize.peek(key)
    return known ? admit(known, request, reply) : deps.authorize(key).then((tenant) => admit(tenant, request, reply))
  })
  app.addHook('onRequest', check)
}

function tokenOf(header: string | undefined): string {
  return /^bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? ''
}

/** Whom the token of a request lets in at this moment. What takes long asks again. */
export async function identifyManager(
  deps: ManageAdmissionDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<TokenHolder> {
  const token = tokenOf(request.headers.authorization)
  const manager = await deps.authorizeManager(token)
  if (manager) return manager
  limitAnonymous(deps, request, reply)
  reply.header('WWW-Authenticate', 'Bearer')
  const message =
    token === '' ? 'Send an admin token as "Authorization: Bearer <token>".' : 'The admin token is not valid.'
  throw new AppError('Unauthorized', message)
}

/** All tokens of a group together may do as much as so many of them: who makes more tokens gets no more. */
const tokensOfGroup = 4
const limitOfGroup = ({ perSecond, burst }: RateLimit): RateLimit => ({
  perSecond: perSecond * tokensOfGroup,
  burst: burst * tokensOfGroup,
})

/** By token, so that nobody uses up what is another's, and by group; of a group nobody is charged who has no role in it. */
function limitManager(deps: LimitDeps, request: FastifyRequest, reply: FastifyReply, manager: TokenHolder): void {
  const { manageRateLimit } = deps.config
  limitRate(deps, reply, `token ${manager.tokenId}`, 'manage', manageRateLimit)
  const groupId = manager.onlyGroup ?? (request.params as { groupId?: string } | undefined)?.groupId
  if (manager.administrator || groupId === undefined || !manager.roleIn(groupId)) return
  const limit = limitOfGroup(manageRateLimit)
  const decision = deps.takeToken(`managed ${groupId}`, limit)
  if (!decision.allowed) refuseRate(reply, 'manage-group', limit, decision)
}

/** The door of the management API. */
export function admitManagers(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const manager = await identifyManager(deps, request, reply)
    limitManager(deps, request, reply, manager)
    request.manager = manager
  })
}

/** The door of what needs no token. Who sends one is who they are. */
export function admitAnybody(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization === undefined) return limitAnonymous(deps, request, reply)
    const manager = await identifyManager(deps, request, reply)
    limitManager(deps, request, reply, manager)
    request.manager = manager
  })
}
