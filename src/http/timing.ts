import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { EncodedContent } from '../delivery/answer.ts'
import type { AnswerCache, AnswerRequest, CachedAnswer } from '../delivery/answer-cache.ts'
import { anonymousCaller, type ManageAdmissionDeps } from './admission.ts'

/** Contains the token of an administrator who requests the timing of a delivery request. */
export const timingHeader = 'x-sluice-timing'

const steps = ['auth', 'cache', 'read', 'sign', 'serialise'] as const
type Step = (typeof steps)[number]

/** The time of a request by step: time counts for the step that began last. */
export interface Timing {
  begin(step: Step): void
  /** Whether the answer was cached. An answer neither cached nor read was being built for another request. */
  noteCache(isHit: boolean): void
  /** The value of `Server-Timing` at the end. */
  describe(totalMs: number): string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only if an administrator requested it. */
    timing?: Timing
  }
}

export function createTiming(authMs: number): Timing {
  const spentMs = new Map<Step, number>([['auth', authMs]])
  let current: Step | undefined
  let begunMs = 0
  let isHit = false

  function begin(step: Step | undefined): void {
    const nowMs = performance.now()
    if (current) spentMs.set(current, (spentMs.get(current) ?? 0) + nowMs - begunMs)
    current = step
    begunMs = nowMs
  }

  return {
    begin,
    noteCache(wasCached) {
      isHit = wasCached
    },
    describe(totalMs) {
      begin(undefined)
      const outcome = isHit ? 'hit' : spentMs.has('read') ? 'miss' : 'joined'
      const entries = steps
        .filter((step) => spentMs.has(step))
        .map((step) => `${step}${step === 'cache' ? `;desc=${outcome}` : ''};dur=${spentMs.get(step)?.toFixed(3)}`)
      return [...entries, `total;dur=${totalMs.toFixed(3)}`].join(', ')
    },
  }
}

/** Finds an answer through the cache, and times the steps. */
export async function findTimed(
  timing: Timing,
  answers: AnswerCache,
  request: AnswerRequest,
  make: (nowMs: number) => Promise<EncodedContent>,
): Promise<CachedAnswer> {
  const { hits } = answers.counts
  timing.begin('cache')
  const finding = answers.find(request, (nowMs) => {
    timing.begin('read')
    return make(nowMs)
  })
  timing.noteCache(answers.counts.hits > hits) // which is counted at once
  const answer = await finding
  timing.begin('serialise')
  return answer
}

/**
 * Starts a timing for an administrator's token. Any other token is charged to the address and otherwise ignored: a header left in
 * a client must not take its site down.
 */
export async function findTiming(
  { authorizeManager, takeToken, config }: ManageAdmissionDeps,
  headers: IncomingHttpHeaders,
  address: string,
  authMs: number,
): Promise<Timing | undefined> {
  const token = headers[timingHeader]
  if (typeof token !== 'string') return undefined
  try {
    if ((await authorizeManager(token))?.administrator) return createTiming(authMs)
    takeToken(anonymousCaller(address), config.rateLimits.anonymous)
  } catch {} // an unavailable database shows when the answer needs it
  return undefined
}

export function timeForAdministrators(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const timing = await findTiming(deps, request.headers, request.ip, reply.elapsedTime)
    if (timing) request.timing = timing
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.timing) reply.header('server-timing', request.timing.describe(reply.elapsedTime))
    done(null, payload)
  })
}
