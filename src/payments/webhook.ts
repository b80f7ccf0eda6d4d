import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
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
import { type Payments, providerTypes, webhookSecretField } from './payments.ts'

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

/** Empty where the call is not signed. */
function signatureOf(request: FastifyRequest): string {
  const signature = request.headers[`${paramsOf(request).type}-signature`]
  return typeof signature === 'string' ? signature : ''
}

/** An integration that does not exist, is of another type, or belongs to a group under deletion: the same answer. */
async function findCalled(store: Store, { type, integrationId }: WebhookParams) {
  const found = idPattern.test(integrationId) ? await findRegisteredIntegration(store, integrationId) : undefined
  if (found?.integration.type !== type || found.owner.deletingMs !== null)
    throw notFound('There is no such integration. Does the address have the id that it was connected under?')
  return found
}

/** A vault that does not open is no mistake of the caller's, and is not explained to them. */
async function readSecret({ payments }: WebhookDeps, group: GroupStore, id: string): Promise<string | undefined> {
  try {
    return await payments.vault.read(group, id, webhookSecretField)
  } catch (error) {
    throw new Error('A webhook secret cannot be read.', { cause: error })
  }
}

/** Accepts an event, each once, or throws why not. The provider waits for the answer, so it is not asked anything here. */
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

/** A caller whose call is refused is limited as a stranger. The provider itself may call as often as it likes. */
function chargeRefused(deps: WebhookDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof AppError && error.status < 500) limitAnonymous(deps, request, reply)
}

/** Where payment providers call us when something changes. Only their signature over the exact bytes counts. */
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
