import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { RateDecision, RateLimit } from '../rate-limiter.ts'
import type { AuthorizedTenant } from '../store/api-keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    tenant: AuthorizedTenant
  }
}

export interface AdmissionDeps {
  authorize(apiKey: string): Promise<AuthorizedTenant | undefined>
  takeToken: (subject: string, limit: RateLimit) => RateDecision
  config: Pick<Config, 'rateLimits'>
}

/** The limit of callers that no key vouches for, by address. */
const anonymousTier = 'anonymous'

function readKey(header: string | undefined): string {
  if (header === undefined || header === '') {
    throw new AppError('Unauthorized', 'The Authorization header is missing. Send the API key of the group in it.')
  }
  if (/^bearer\b/i.test(header)) {
    throw new AppError('Unauthorized', 'Send the bare API key in the Authorization header, without "Bearer".')
  }
  return header
}

/** Charges the caller, and says on the answer what is left (draft-ietf-httpapi-ratelimit-headers). */
export function limitRate(deps: AdmissionDeps, reply: FastifyReply, subject: string, tier: string): void {
  const limit = deps.config.rateLimits[tier] ?? deps.config.rateLimits.free
  if (!limit) throw new Error(`There is no rate limit for the tier "${tier}".`)
  const { allowed, remaining, resetSeconds, retryAfterSeconds } = deps.takeToken(subject, limit)
  const windowSeconds = Math.max(1, Math.ceil(limit.burst / limit.perSecond))
  reply.header('RateLimit-Policy', `"${tier}";q=${limit.burst};w=${windowSeconds}`)
  reply.header('RateLimit', `"${tier}";r=${remaining};t=${resetSeconds}`)
  if (!allowed) {
    throw new AppError('RateLimited', 'Too many requests. Wait the seconds in Retry-After and try again.', {
      retryAfterSeconds,
    })
  }
}

export function limitAnonymous(deps: AdmissionDeps, request: FastifyRequest, reply: FastifyReply): void {
  limitRate(deps, reply, `address ${request.ip}`, anonymousTier)
}

/** The door of all `/tenant` endpoints: who is it, how often, and is the group frozen. In this order. */
export function admitTenants(app: FastifyInstance, deps: AdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    let tenant: AuthorizedTenant | undefined
    try {
      tenant = await deps.authorize(readKey(request.headers.authorization))
      if (!tenant) throw new AppError('Unauthorized', 'The API key is not valid.')
    } catch (error) {
      if (error instanceof AppError) limitAnonymous(deps, request, reply)
      throw error
    }
    limitRate(deps, reply, tenant.groupID, tenant.tier)
    if (tenant.frozen) throw new AppError('GroupFrozen', 'The group is frozen')
    request.tenant = tenant
  })
}
