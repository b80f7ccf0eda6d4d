import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { RateDecision, RateLimit } from '../rate-limiter.ts'
import type { KeyHolder } from '../store/api-keys.ts'

/** Who is served. `revision` counts the writes to the group's content, at most a second ago. */
export interface ServedTenant extends KeyHolder {
  revision: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only on requests that were admitted. */
    tenant?: ServedTenant
  }
}

export interface AdmissionDeps {
  authorize(apiKey: string): Promise<ServedTenant | undefined>
  takeToken: (subject: string, limit: RateLimit) => RateDecision
  config: Pick<Config, 'rateLimits'>
}

/** Charges the caller, and says on the answer what is left (draft-ietf-httpapi-ratelimit-headers). */
function limitRate(deps: AdmissionDeps, reply: FastifyReply, subject: string, tier: keyof Config['rateLimits']): void {
  const limit = deps.config.rateLimits[tier]
  const { allowed, remaining, resetSeconds, retryAfterSeconds } = deps.takeToken(subject, limit)
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond))
  reply.header('RateLimit-Policy', `"${tier}";q=${limit.burst};w=${windowSeconds}`)
  reply.header('RateLimit', `"${tier}";r=${remaining};t=${resetSeconds}`)
  if (!allowed) {
    const message = 'Too many requests. Wait the seconds in Retry-After and try again.'
    throw new AppError('RateLimited', message, { retryAfterSeconds })
  }
}

/** Callers that no key vouches for are limited by their address. */
export function limitAnonymous(deps: AdmissionDeps, request: FastifyRequest, reply: FastifyReply): void {
  limitRate(deps, reply, `address ${request.ip}`, 'anonymous')
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
    limitRate(deps, reply, tenant.groupID, tenant.tier)
    if (tenant.frozen) throw new AppError('GroupFrozen', 'The group is frozen')
    request.tenant = tenant
  })
}
