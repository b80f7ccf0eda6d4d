import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok } from '../envelope.ts'
import { AppError, invalid } from '../errors.ts'
import { providerTypes } from '../payments/payments.ts'
import { type ReceiveDeps, receiveEvent } from '../payments/receive-event.ts'
import { type LimitDeps, limitAnonymous } from './admission.ts'
import { readBody } from './json-body.ts'

const bodyLimitBytes = 256 * 1024
const handlerTimeoutMs = 15_000

export interface WebhookDeps extends LimitDeps, ReceiveDeps {}

interface WebhookParams {
  type: string
  integrationId: string
}

/** Empty where the call is not signed. */
function signatureOf({ params, headers }: FastifyRequest): string {
  const signature = headers[`${(params as WebhookParams).type}-signature`]
  return typeof signature === 'string' ? signature : ''
}

/** Takes a call of a provider, or throws why not. */
async function receive(deps: WebhookDeps, request: FastifyRequest): Promise<void> {
  const { type, integrationId } = request.params as WebhookParams
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const call = { type, integrationId, body, signature: signatureOf(request), address: request.ip }
  await receiveEvent(deps, call)
}

/** Who is refused is a stranger until shown otherwise. The provider itself may call as often as it likes. */
function chargeRefused(deps: WebhookDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof AppError && error.status < 500) limitAnonymous(deps, request, reply)
}

/** Where payment providers tell us what has happened. Their signature over the very bytes is all that counts. */
export function registerWebhookRoute(app: FastifyInstance, deps: WebhookDeps): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: Readable) => readBody(request, payload))
    // Who does not even try to sign is refused before a byte of the body is read.
    scope.addHook('onRequest', async (request, reply) => {
      const { type } = request.params as WebhookParams
      if (!(providerTypes as readonly string[]).includes(type)) return // nobody is called there at all
      if (signatureOf(request) !== '') return
      const error = invalid(`The ${type}-signature header is missing.`)
      chargeRefused(deps, error, request, reply)
      throw error
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
