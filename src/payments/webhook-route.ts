import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { ok } from '../envelope.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { type LimitDeps, limitAnonymous } from '../http/admission.ts'
import { idPattern } from '../ids.ts'
import { type ContentWriter, writeContent } from '../store/changes.ts'
import { findPlacedIntegration, noteSync } from '../store/integrations.ts'
import { insertJob } from '../store/jobs.ts'
import type { Store } from '../store/open.ts'
import { noteEvent } from '../store/provider-events.ts'
import { orderJob, refreshJob } from './jobs.ts'
import { type Payments, webhookSecretField } from './payments.ts'
import type { ProviderEvent } from './provider.ts'

const bodyLimitBytes = 1024 * 1024
const handlerTimeoutMs = 15_000

export interface WebhookDeps extends LimitDeps {
  store: Store
  payments: Pick<Payments, 'vault' | 'readEvent'>
  clock: Clock
}

interface WebhookParams {
  type: string
  integrationId: string
}

/** One that is not there, is of another type, or whose group is about to go: the same answer. */
async function findCalled({ store }: WebhookDeps, { type, integrationId }: WebhookParams) {
  const found = idPattern.test(integrationId) ? await findPlacedIntegration(store, integrationId) : undefined
  if (found?.integration.type !== type || found.owner.deletingMs !== null)
    throw notFound('There is no such integration. Does the address have the id that it was connected under?')
  return found
}

/** Each event is taken once. What it is about is looked up later, so neither order nor duplicates matter. */
async function take(writer: ContentWriter, integrationId: string, event: ProviderEvent): Promise<void> {
  const { concerns } = event
  if (!concerns || !(await noteEvent(writer, integrationId, event))) return
  await noteSync(writer, integrationId, { lastEventMs: writer.nowMs })
  const jobFor = concerns.kind === 'product' ? refreshJob : orderJob
  await insertJob(writer, jobFor(integrationId, concerns.id))
}

/** Takes a call of a provider, or throws why not. Nothing is asked of the provider here: it waits for the answer. */
async function receive(deps: WebhookDeps, request: FastifyRequest): Promise<void> {
  const { payments, clock } = deps
  const { owner, group, integration } = await findCalled(deps, request.params as WebhookParams)
  const { id, type, live } = integration
  const secret = await payments.vault.take(group, id, webhookSecretField)
  if (secret === undefined) throw invalid('No webhook secret is configured for this integration, so calls are refused.')
  const signature = request.headers[`${type}-signature`]
  if (typeof signature !== 'string') throw invalid(`The ${type}-signature header is missing.`)
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const nowMs = clock()
  const event = await payments.readEvent(type, { body, signature, secret, nowMs })
  if (event.live !== live || !event.concerns) return // not about what we keep
  const author = { id: null, name: type, address: request.ip }
  const { versionsKept } = owner
  await writeContent(group, { author, verb: 'webhook', nowMs, versionsKept }, (writer) => take(writer, id, event))
}

/** Who is refused is a stranger until shown otherwise. The provider itself may call as often as it likes. */
function chargeRefused(deps: WebhookDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof AppError && error.status < 500) limitAnonymous(deps, request, reply)
}

/** Where payment providers tell us what has happened. Their signature over the very bytes is all that counts. */
export function registerWebhookRoute(app: FastifyInstance, deps: WebhookDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) => body)
    scope.post(
      '/webhooks/:type/:integrationId',
      { schema: { hide: true }, bodyLimit: bodyLimitBytes, handlerTimeout: handlerTimeoutMs },
      async (request, reply) => {
        try {
          await receive(deps, request)
        } catch (error) {
          chargeRefused(deps, error, request, reply)
          throw error
        }
        return ok({ received: true })
      },
    )
  })
}
