import { hash } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../../clock.ts'
import { findIntegrationPlace } from '../../store/integrations.ts'
import type { Store } from '../../store/open.ts'
import type { ProviderCall } from '../receive-event.ts'
import { type Books, type OpenBooks, readBooks, secondsOf, writeBooks } from './books.ts'
import { type Call, type Endpoint, readingEndpoints, writingEndpoints } from './endpoints.ts'
import { parseForm } from './form.ts'
import { integrationOfKey, webhookSecretOf } from './keys.ts'
import { newId } from './objects.ts'
import { Refusal } from './refusal.ts'

const keptAnswerSeconds = 24 * 3600
const longestIdempotencyKey = 255
const longestParameter = 500

export interface SandboxDeps {
  store: Store
  clock: Clock
  /** All secrets of the sandbox are made from it. */
  signingKey: Buffer
  /** Where this service is reached: its pages are there. */
  baseUrl(): string
  /** Hands an event to this service, as a provider's call to its webhook would. */
  receive(call: ProviderCall): Promise<void>
  /** Hears of what should not have happened. */
  onError?(error: unknown): void
}

const keyIn = ({ authorization = '' }: FastifyRequest['headers']): string =>
  /^bearer (\S+)$/i.exec(authorization)?.[1] ?? ''

const pathOf = ({ url }: FastifyRequest): string => url.split('?')[0] ?? ''

function textOf({ url, body }: FastifyRequest): string {
  const [, query = ''] = url.split('?')
  return [query, typeof body === 'string' ? body : ''].filter((text) => text !== '').join('&')
}

/** The same call says the same in any order. */
function fingerprintOf(request: FastifyRequest): string {
  const parameters = new URLSearchParams(textOf(request))
  parameters.sort()
  return hash('sha256', `${request.method} ${pathOf(request)} ${parameters}`)
}

/** A server that answers as the payment provider does, for the accounts whose keys it can tell. */
export function buildServer({ store, clock, signingKey, baseUrl, onError }: SandboxDeps): FastifyInstance {
  const app = Fastify({
    genReqId: () => newId('req_', 14),
    routerOptions: { maxParamLength: longestParameter },
    forceCloseConnections: true,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request: FastifyRequest, body: string | Buffer, done: (error: null, body: string) => void) =>
      done(null, String(body)),
  )
  app.addHook('onRequest', async (request, reply) => {
    const version = request.headers['stripe-version']
    reply.headers({ 'Request-Id': request.id, ...(typeof version === 'string' && { 'Stripe-Version': version }) })
  })
  app.setErrorHandler((error, _request, reply) => sendRefusal(reply, asRefusal(error, onError)))
  app.setNotFoundHandler((request, reply) =>
    sendRefusal(reply, new Refusal(404, `Unrecognized request URL (${request.method}: ${pathOf(request)}).`)),
  )

  async function admit(request: FastifyRequest) {
    const key = keyIn(request.headers)
    if (key === '') throw new Refusal(401, 'You did not provide an API key.')
    const integrationId = integrationOfKey(signingKey, key)
    const place = integrationId === undefined ? undefined : await findIntegrationPlace(store, integrationId)
    if (integrationId === undefined || !place) throw new Refusal(401, 'Invalid API Key provided: sk_test_********')
    const { id = '' } = request.params as { id?: string } // of the route
    const call: Call = {
      id,
      path: pathOf(request),
      owner: place.owner,
      pageOf: (sessionId) => `${baseUrl()}${checkoutPath(integrationId, sessionId)}`,
      webhookSecretOf: (endpointId) => webhookSecretOf(signingKey, integrationId, endpointId),
    }
    return { integrationId, group: place.group, call }
  }

  function addReading({ method, path, prepare }: Endpoint<Books>): void {
    app.route({
      method,
      url: path,
      handler: async (request) => {
        const { integrationId, group, call } = await admit(request)
        return prepare(parseForm(textOf(request)))(readBooks(group, integrationId, clock()), call)
      },
    })
  }

  const inProgress = new Set<string>()

  function addWriting({ method, path, prepare, addSecret = (answer) => answer }: Endpoint<OpenBooks>): void {
    app.route({
      method,
      url: path,
      handler: async (request, reply) => {
        const { integrationId, group, call } = await admit(request)
        const run = prepare(parseForm(textOf(request)))
        const key = idempotencyKeyIn(request)
        const write = (work: (books: OpenBooks) => Promise<object>): Promise<object> =>
          writeBooks(group, integrationId, clock(), work)
        if (key === undefined) return addSecret(await write((books) => run(books, call)), call)
        reply.header('Idempotency-Key', key)
        const mark = `${integrationId} ${key}`
        if (inProgress.has(mark)) throw keyInUse()
        inProgress.add(mark)
        try {
          return addSecret(await write((books) => answerOnce(books, key, request, reply, () => run(books, call))), call)
        } finally {
          inProgress.delete(mark)
        }
      },
    })
  }

  readingEndpoints.forEach(addReading)
  writingEndpoints.forEach(addWriting)
  return app
}

export const checkoutPath = (integrationId: string, sessionId: string): string =>
  `/sandbox/checkout/${integrationId}/${sessionId}`

function idempotencyKeyIn({ method, headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (method !== 'POST' || typeof key !== 'string') return undefined
  if (key.length > longestIdempotencyKey)
    throw new Refusal(400, `Idempotency keys can have ${longestIdempotencyKey} characters at most.`)
  return key
}

const keyInUse = (): Refusal =>
  new Refusal(409, 'There is currently another in-progress request using this idempotency key.', {
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
  })

/** The same key gives the same answer; what was refused was not done, and may be tried again. */
async function answerOnce(
  books: OpenBooks,
  key: string,
  request: FastifyRequest,
  reply: FastifyReply,
  run: () => Promise<object>,
): Promise<object> {
  const id = `kept_${hash('sha256', key)}`
  const fingerprint = fingerprintOf(request)
  const now = secondsOf(books)
  const kept = await books.find('kept_answer', id)
  if (kept && now - kept.created < keptAnswerSeconds) {
    if (kept.request !== fingerprint)
      throw new Refusal(
        400,
        `Keys for idempotent requests can only be used with the same parameters they were first used with. Use another key than '${key}' for another request.`,
        { type: 'idempotency_error' },
      )
    reply.headers({ 'Idempotent-Replayed': 'true', 'Original-Request': kept.requestId })
    return kept.answer
  }
  const answer = await run()
  await books.put('kept_answer', id, { request: fingerprint, requestId: request.id, created: now, answer })
  return answer
}

function asRefusal(error: unknown, onError: SandboxDeps['onError']): Refusal {
  if (error instanceof Refusal) return error
  const { statusCode = 500 } = error as { statusCode?: number }
  if (statusCode < 500) return new Refusal(statusCode, 'The request is not valid.')
  onError?.(error)
  return new Refusal(500, 'Something went wrong in the sandbox.', { type: 'api_error' })
}

function sendRefusal(reply: FastifyReply, { status, message, details }: Refusal): FastifyReply {
  if (status === 401) reply.header('WWW-Authenticate', 'Bearer realm="Sandbox"')
  return reply.code(status).send({ error: { ...details, message } })
}
