import type { FastifyInstance } from 'fastify'
import { anonymousCaller, type ManageAdmissionDeps } from './admission.ts'
import type { EncodedContent } from './answer.ts'
import type { AnswerCache, KeptAnswer, Question } from './answer-cache.ts'
import { asHook } from './hook.ts'

/** Carries the token of an administrator who wants to know where the time of a delivery request goes. */
const timingHeader = 'x-sluice-timing'

const steps = ['auth', 'cache', 'read', 'sign', 'serialise'] as const
type Step = (typeof steps)[number]

/** Where the time of one request goes: each moment belongs to the step that was begun last. */
export interface Timing {
  begin(step: Step): void
  /** Whether the answer was at hand; one that was not and was not read either was made for somebody else already. */
  noteCache(isHit: boolean): void
  /** What `Server-Timing` says at the end. */
  describe(totalMs: number): string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Only where an administrator asked for it. */
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
    noteCache(wasAtHand) {
      isHit = wasAtHand
    },
    describe(totalMs) {
      begin(undefined)
      const outcome = isHit ? 'hit' : spentMs.has('read') ? 'miss' : 'joined'
      const told = steps
        .filter((step) => spentMs.has(step))
        .map((step) => `${step}${step === 'cache' ? `;desc=${outcome}` : ''};dur=${spentMs.get(step)?.toFixed(3)}`)
      return [...told, `total;dur=${totalMs.toFixed(3)}`].join(', ')
    },
  }
}

/** Asks the cache for an answer, with an eye on the clock where somebody wants to know. */
export async function findTimed(
  timing: Timing | undefined,
  answers: AnswerCache,
  question: Question,
  make: (nowMs: number) => Promise<EncodedContent>,
): Promise<KeptAnswer> {
  if (!timing) return answers.find(question, make)
  const { hits } = answers.counts
  timing.begin('cache')
  const finding = answers.find(question, (nowMs) => {
    timing.begin('read')
    return make(nowMs)
  })
  timing.noteCache(answers.counts.hits > hits) // which is counted at once
  const answer = await finding
  timing.begin('serialise')
  return answer
}

/**
 * Times the requests of who is an administrator besides being admitted. Any other token is charged like a stranger's, and
 * ignored: a header that was left in a client must not take its site down.
 */
export function timeForAdministrators(app: FastifyInstance, deps: ManageAdmissionDeps): void {
  const { authorizeManager, takeToken, config } = deps
  const permit = asHook((request, reply) => {
    const token = request.headers[timingHeader]
    if (typeof token !== 'string') return undefined
    const authMs = reply.elapsedTime
    const decide = (isAdministrator: boolean | undefined): void => {
      if (isAdministrator) request.timing = createTiming(authMs)
      else takeToken(anonymousCaller(request.ip), config.rateLimits.anonymous)
    }
    return authorizeManager(token).then(
      (manager) => decide(manager?.administrator),
      () => {}, // a database that is away is told by whoever needs it for the answer
    )
  })
  app.addHook('onRequest', permit)
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.timing) reply.header('server-timing', request.timing.describe(reply.elapsedTime))
    done(null, payload)
  })
}
