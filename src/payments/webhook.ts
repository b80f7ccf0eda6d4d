import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { providerTypes } from '../content/product-edits.ts'
import type { Clock } from '../core/clock.ts'
import { ok } from '../core/envelope.ts'
import { AppError, invalid, notFound } from '../core/errors.ts'
import { idPattern } from '../core/ids.ts'
import { type LimitDeps, limitAnonymous } from '../http/admission.ts'
import { readBody } from '../http/json-body.ts'
import { findRegisteredIntegration, insertProviderEvent } from '../store/commerce/integrations.ts'
import { writeContent } from '../store/content/changes.ts'
import type { GroupStore, Store } from '../store/store.ts'
import { recordChange } from './jobs.ts'
import { type Payments, webhookSecretField } from './payments.ts'

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

const paramsOf = ({ params }: FastifyRequest): WebhookParams => params as WebhookParams

/** Empty if the call is not signed. */
function signatureOf(request: FastifyRequest): string {
  const signature = request.headers[`${paramsOf(request).type}-signature`]
  return typeof signature === 'string' ? signature : ''
}

/** The answer is the same for an unknown integration, another type, and a group under deletion. */
async function findCalled(store: Store, { type, integrationId }: WebhookParams) {
  const found = idPattern.test(integrationId) ? await findRegisteredIntegration(store, integrationId) : undefined
  if (found?.integration.type !== type || found.owner.deletingMs !== null)
    throw notFound('There is no such integration. Check the id in the URL.')
  return found
}

/** A vault that cannot be opened is an internal error. */
async function readSecret({ payments }: WebhookDeps, group: GroupStore, id: string): Promise<string | undefined> {
  try {
    return await payments.vault.read(group, id, webhookSecretField)
  } catch (error) {
    throw new Error('A webhook secret cannot be read.', { cause: error })
  }
}

/** Accepts each event once. The provider waits for the answer, so it is not called here. */
async function receiveEvent(deps: WebhookDeps, request: FastifyRequest): Promise<void> {
  const { store, payments, clock } = deps
  const { owner, group, integration } = await findCalled(store, paramsOf(request))
  const { id, type, live } = integration
  const secret = await readSecret(deps, group, id)
  if (secret === undefined) throw invalid('No webhook secret is configured for this integration, so calls are refused.')
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  if (!isUtf8(body)) throw invalid('The body is not text.') // the signature check would take much longer
  const nowMs = clock()
  const event = await payments.readEvent(type, { body, signature: signatureOf(request), secret, nowMs })
  const { concerns } = event
  if (event.live !== live || !concerns) return
  const author = { id: null, name: type, address: request.ip }
  const authoring = { author, verb: 'webhook', nowMs, versionsKept: owner.versionsKept }
  await writeContent(group, authoring, async (writer) => {
    if (await insertProviderEvent(writer, id, event)) await recordChange(writer, id, concerns)
  })
}

/** Refused calls count against the rate limit of anonymous clients; the provider itself is not limited. */
function chargeRefused(deps: WebhookDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof AppError && error.status < 500) limitAnonymous(deps, request, reply)
}

/** The webhook of payment providers, authenticated by a signature over the exact bytes. */
export function registerWebhookRoute(app: FastifyInstance, deps: WebhookDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: Readable) => readBody(request, payload))
    // An unsigned call is refused before a byte of its body is read.
    scope.addHook('onRequest', async (request, reply) => {
      const { type } = paramsOf(request)
      if (!(providerTypes as readonly string[]).includes(type)) return // answered with 404
      if (signatureOf(request) !== '') return
      const error = invalid(`The ${type}-signature header is missing.`)
      chargeRefused(deps, error, request, reply)
      throw error
    })
    scope.post(
      '/webhooks/:type/:integrationId',
      { bodyLimit: bodyLimitBytes, handlerTimeout: handlerTimeoutMs },
      async (request, reply) => {
        try {
          await receiveEvent(deps, request)
        } catch (error) {
          chargeRefused(deps, error, request, reply)
          throw error
        }
        return ok({ received: true })
      },
    )
  })
}
