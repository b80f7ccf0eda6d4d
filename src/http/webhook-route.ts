import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { ok } from '../envelope.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { idPattern } from '../ids.ts'
import { orderJob, refreshJob } from '../payments/jobs.ts'
import { type Payments, providerTypes, webhookSecretField } from '../payments/payments.ts'
import type { ProviderEvent } from '../payments/provider.ts'
import { type ContentWriter, writeContent } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { findPlacedIntegration, noteSync } from '../store/integrations.ts'
import { insertJob } from '../store/jobs.ts'
import type { Store } from '../store/open.ts'
import { noteEvent } from '../store/provider-events.ts'
import { type LimitDeps, limitAnonymous } from './admission.ts'

const bodyLimitBytes = 256 * 1024
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

/** A vault that does not open is none of the caller's business. */
async function readSecret({ vault }: WebhookDeps['payments'], group: GroupStore, id: string) {
  try {
    return await vault.read(group, id, webhookSecretField)
  } catch (error) {
    throw new Error('A webhook secret cannot be read.', { cause: error })
  }
}

function signatureOf({ params, headers }: FastifyRequest): string {
  const { type } = params as WebhookParams
  const signature = headers[`${type}-signature`]
  if (typeof signature !== 'string' || signature === '') throw invalid(`The ${type}-signature header is missing.`)
  return signature
}

/** Takes a call of a provider, or throws why not. Nothing is asked of the provider here: it waits for the answer. */
async function receive(deps: WebhookDeps, request: FastifyRequest): Promise<void> {
  const { payments, clock } = deps
  const { owner, group, integration } = await findCalled(deps, request.params as WebhookParams)
  const { id, type, live } = integration
  const secret = await readSecret(payments, group, id)
  if (secret === undefined) throw invalid('No webhook secret is configured for this integration, so calls are refused.')
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (!isUtf8(body)) throw invalid('The body is not text.') // to check that by its signature would take much longer
  const signature = signatureOf(request)
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
    // Who does not even try to sign is refused before a byte of the body is read.
    scope.addHook('onRequest', async (request, reply) => {
      const { type } = request.params as WebhookParams
      if (!(providerTypes as readonly string[]).includes(type)) return // nobody is called there at all
      try {
        signatureOf(request)
      } catch (error) {
        chargeRefused(deps, error, request, reply)
        throw error
      }
    })
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
