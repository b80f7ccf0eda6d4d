import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { RateDecision, RateLimit } from '../rate-limiter.ts'
import type { TokenHolder } from '../store/admin-tokens.ts'
import type { KeyHolder } from '../store/api-keys.ts'

/** Who is served. `revision` counts the writes to the group's content, at most a second ago. */
export interface ServedTenant extends KeyHolder {
  revision: number
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
  takeToken: (subject: string, limit: RateLimit) => RateDecision
  config: Pick<Config, 'rateLimits' | 'manageRateLimit'>
}

export interface AdmissionDeps extends LimitDeps {
  authorize(apiKey: string): Promise<ServedTenant | undefined>
}

export interface ManageAdmissionDeps extends LimitDeps {
  authorizeManager(token: string): Promise<TokenHolder | undefined>
}

/** Charges the caller, and says on the answer what is left (draft-ietf-httpapi-ratelimit-headers). */
function limitRate(deps: LimitDeps, reply: FastifyReply, subject: string, policy: string, limit: RateLimit): void {
  const { allowed, remaining, resetSeconds, retryAfterSeconds } = deps.takeToken(subject, limit)
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond))
  reply.header('RateLimit-Policy', `"${policy}";q=${limit.burst};w=${windowSeconds}`)
  reply.header('RateLimit', `"${policy}";r=${remaining};t=${resetSeconds}`)
  if (!allowed) {
    const message = 'Too many requests. Wait the seconds in Retry-After and try again.'
    throw new AppError('RateLimited', message, { retryAfterSeconds })
  }
}

/** Callers that no key vouches for are limited by their address. */
export function limitAnonymous(deps: LimitDeps, request: FastifyRequest, reply: FastifyReply): void {
  limitRate(deps, reply, `address ${request.ip}`, 'anonymous', deps.config.rateLimits.anonymous)
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
  app.addHook('onRequest', async (request, reply) => {
    const { authorization } = request.headers
    const tenant = await deps.authorize(authorization ?? '')
    if (!tenant) {
      limitAnonymous(deps, request, reply)
      throw refusalOf(authorization)
    }
    limitRate(deps, reply, tenant.groupID, tenant.tier, deps.config.rateLimits[tenant.tier])
    if (tenant.frozen) throw new AppError('GroupFrozen', 'The group is frozen')
    request.tenant = tenant
  })
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

/** The door of the management API. */
export function admitManagers(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const manager = await identifyManager(deps, request, reply)
    limitRate(deps, reply, `user ${manager.userId}`, 'manage', deps.config.manageRateLimit)
    request.manager = manager
  })
}
