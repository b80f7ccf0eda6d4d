import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { AppError } from '../core/errors.ts'
import type { RateDecision, RateLimit } from '../security/rate-limiter.ts'
import type { TokenHolder } from '../store/control/admin-tokens.ts'
import type { KeyHolder } from '../store/control/api-keys.ts'
import { networkOf } from './caller-address.ts'

/** An admitted group. */
export interface ServedTenant extends KeyHolder {
  /** Everything its answers depend on besides its content. */
  scope: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only on admitted requests. */
    tenant?: ServedTenant
    /** Only on admitted requests to the management API. */
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
    /** The same without waiting, if the key was looked up within the last second. */
    peek(apiKey: string, nowMs?: number): ServedTenant | undefined
  }
}

export interface ManageAdmissionDeps extends LimitDeps {
  authorizeManager(token: string): Promise<TokenHolder | undefined>
}

/** The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
function writePolicy(policy: string, { burst, perSecond }: RateLimit): string {
  const windowSeconds = Math.max(1, Math.ceil(burst / perSecond))
  return `"${policy}";q=${burst};w=${windowSeconds}`
}

/** The value of `RateLimit`: the remaining requests. */
const writeRate = (policy: string, { remaining, resetSeconds }: RateDecision): string =>
  `"${policy}";r=${remaining};t=${resetSeconds}`

type SetHeader = (name: string, value: string) => void

const headersOf =
  (reply: FastifyReply): SetHeader =>
  (name, value) =>
    void reply.header(name, value)

/** Charges the caller, adds the remaining requests to the headers of the answer, and throws if there are none. */
function chargeRate(deps: LimitDeps, setHeader: SetHeader, subject: string, policy: string, limit: RateLimit): void {
  const decision = deps.takeToken(subject, limit)
  if (decision.allowed) showRate(setHeader, policy, limit, decision)
  else refuseRate(setHeader, policy, limit, decision)
}

function showRate(setHeader: SetHeader, policy: string, limit: RateLimit, decision: RateDecision): void {
  setHeader('ratelimit-policy', writePolicy(policy, limit))
  setHeader('ratelimit', writeRate(policy, decision))
}

function refuseRate(setHeader: SetHeader, policy: string, limit: RateLimit, decision: RateDecision): never {
  showRate(setHeader, policy, limit, decision)
  const message = 'Too many requests. Wait the seconds in Retry-After and try again.'
  throw new AppError('RateLimited', message, { retryAfterSeconds: decision.retryAfterSeconds })
}

/** The subject of limits for a caller without a valid key. */
export const anonymousCaller = (address: string): string => `address ${networkOf(address)}`

/** The subject of limits for a request. */
export function callerOf({ tenant, manager, ip }: FastifyRequest): string {
  if (tenant) return tenant.groupID
  return manager ? `user ${manager.userId}` : anonymousCaller(ip)
}

/** Callers without a valid key are limited by their address. */
function chargeAddress(deps: LimitDeps, setHeader: SetHeader, address: string): void {
  chargeRate(deps, setHeader, anonymousCaller(address), 'anonymous', deps.config.rateLimits.anonymous)
}

export const limitAnonymous = (deps: LimitDeps, request: FastifyRequest, reply: FastifyReply): void =>
  chargeAddress(deps, headersOf(reply), request.ip)

function describeInvalidKey(header: string | undefined): AppError {
  if (!header) {
    return new AppError('Unauthorized', 'The Authorization header is missing. Send the API key of the group in it.')
  }
  if (/^bearer\b/i.test(header)) {
    return new AppError('Unauthorized', 'Send the bare API key in the Authorization header, without "Bearer".')
  }
  return new AppError('Unauthorized', 'The API key is not valid.')
}

interface UnknownCaller {
  authorization: string | undefined
  address: string
}

/** Admission to all `/tenant` endpoints: a valid key, then the rate limit, then whether the group is frozen. */
export function admitTenant(
  deps: LimitDeps,
  tenant: ServedTenant | undefined,
  { authorization, address }: UnknownCaller,
  setHeader: SetHeader,
): ServedTenant {
  if (!tenant) {
    chargeAddress(deps, setHeader, address)
    throw describeInvalidKey(authorization)
  }
  chargeRate(deps, setHeader, tenant.groupID, tenant.tier, deps.config.rateLimits[tenant.tier])
  if (tenant.frozen) throw new AppError('GroupFrozen', 'The group is frozen')
  return tenant
}

export function admitTenants(app: FastifyInstance, deps: AdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const { authorization } = request.headers
    const tenant = await deps.authorize(authorization ?? '')
    request.tenant = admitTenant(deps, tenant, { authorization, address: request.ip }, headersOf(reply))
  })
}

const tokenOf = (header: string | undefined): string => /^bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? ''

/** The current holder of a request's token. Long operations check again. */
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

/** The limit of a group, as a multiple of a token's limit, so that creating tokens does not raise it without bound. */
const tokensPerGroup = 4
const groupLimit = ({ perSecond, burst }: RateLimit): RateLimit => ({
  perSecond: perSecond * tokensPerGroup,
  burst: burst * tokensPerGroup,
})

/** By token, so that no caller uses up another's limit, and by group; only callers with a role in the group are charged for it. */
function limitManager(deps: LimitDeps, request: FastifyRequest, reply: FastifyReply, manager: TokenHolder): void {
  const { manageRateLimit } = deps.config
  chargeRate(deps, headersOf(reply), `token ${manager.tokenId}`, 'manage', manageRateLimit)
  const groupId = manager.onlyGroup ?? (request.params as { groupId?: string } | undefined)?.groupId
  if (manager.administrator || groupId === undefined || !manager.roleIn(groupId)) return
  const limit = groupLimit(manageRateLimit)
  const decision = deps.takeToken(`managed ${groupId}`, limit)
  if (!decision.allowed) refuseRate(headersOf(reply), 'manage-group', limit, decision)
}

/** Admission to the management API. */
export function admitManagers(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const manager = await identifyManager(deps, request, reply)
    limitManager(deps, request, reply, manager)
    request.manager = manager
  })
}

/** Admission to verbs that need no token; a token that is sent must be valid. */
export function admitAnybody(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization === undefined) return limitAnonymous(deps, request, reply)
    const manager = await identifyManager(deps, request, reply)
    limitManager(deps, request, reply, manager)
    request.manager = manager
  })
}
