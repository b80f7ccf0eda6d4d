import { randomBytes } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../core/envelope.ts'
import { AppError, internalErrorMessage } from '../core/errors.ts'
import type { ServiceLogger } from '../core/logging.ts'
import { databasePeer, storePeer } from '../core/outage-log.ts'
import { S3Failure } from '../media/s3/failure.ts'
import { ProviderFailure } from '../payments/provider.ts'
import { isDatabaseUnavailable } from '../store/engine/unavailable.ts'
import { answerHeaders, asHook, findProtocolFault } from './server.ts'

export const requestTimedOut = (): AppError =>
  new AppError('Unavailable', 'This took too long. Try again in a moment.', { retryAfterSeconds: 1 })

/** Our messages for Fastify's own refusals. */
const frameworkFailures: Record<string, () => AppError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('PayloadTooLarge', 'The body is too large.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('UnsupportedMediaType', 'Send the body as Content-Type: application/json.'),
  FST_ERR_CTP_INVALID_JSON_BODY: () => new AppError('ValidationError', 'The body is not valid JSON.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new AppError('ValidationError', 'The body is empty; send a JSON object.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new AppError('ValidationError', 'The body is not as long as Content-Length says.'),
  FST_ERR_BAD_URL: () => new AppError('ValidationError', 'The URL is not valid.'),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('UriTooLong', 'The URL is too long.'),
  FST_ERR_HANDLER_TIMEOUT: requestTimedOut,
}

/** Accepts any thrown value, which need not be an error. */
export function toAppError(error: Partial<FastifyError> | null | undefined): AppError {
  if (error instanceof AppError) return error
  const { code = '', statusCode = 500 } = error ?? {}
  const known = Object.hasOwn(frameworkFailures, code) ? frameworkFailures[code] : undefined
  if (known) return known()
  // Failures of other peers are translated by their callers, so the remaining ones of this kind are the database's.
  if (isDatabaseUnavailable(error)) {
    return new AppError('Unavailable', 'The service is not available right now. Try again in a moment.', {
      cause: error,
      retryAfterSeconds: 1,
    })
  }
  if (code.startsWith('FST_') && statusCode < 500) {
    return new AppError('ValidationError', 'The request is not valid.', { cause: error })
  }
  return new AppError('InternalError', internalErrorMessage, { cause: error ?? new Error(`${error} was thrown`) })
}

/** Names the unavailable peer for the log. */
function peerOf(failure: AppError): string {
  if (isDatabaseUnavailable(failure.cause)) return databasePeer
  if (failure instanceof S3Failure) return storePeer
  return failure.cause instanceof ProviderFailure ? 'a payment provider' : 'a request'
}

const tooLate = new AppError('RequestTimeout', 'The request did not arrive in time.')
const clientGone = new AppError('ValidationError', 'The client closed the connection before the request was complete.')

/**
 * Failures caused by the client: it disconnected in the middle of its body or of a file, or did not send its body in time. They
 * are neither ours nor the database's.
 */
function findClientFailure(error: Partial<FastifyError> | null, { raw }: FastifyRequest): AppError | undefined {
  if (!error) return undefined
  if (error === raw.errored) return clientGone
  if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' && raw.socket.destroyed) return clientGone
  return error.code === 'FST_ERR_HANDLER_TIMEOUT' && raw.complete === false ? tooLate : undefined
}

export function logFailure(logger: ServiceLogger, failure: AppError, requestId: string): void {
  const { code, cause } = failure
  if (code === 'Unavailable') logger.noteOutage(peerOf(failure), cause ?? failure, { requestId })
  else if (cause !== undefined) logger.error({ requestId, err: cause }, code)
  else if (failure.status >= 500) logger.warn({ requestId }, `${code}: ${failure.message}`)
}

/** The envelope of a failure, and the headers that only failures have. */
export function writeFailure({ code, message, details, retryAfterSeconds }: AppError): {
  headers: Record<string, string>
  body: string
} {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    ...(code === 'Unauthorized' && { 'www-authenticate': 'ApiKey' }),
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  }
  return { headers, body: JSON.stringify(fail(code, message, details)) }
}

function sendFailure(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const failure = findClientFailure(error, request) ?? toAppError(error)
  logFailure(request.log as ServiceLogger, failure, request.id) // the app's own logger
  const challenge = reply.getHeader('www-authenticate') // the management API has another one
  const { headers, body } = writeFailure(failure)
  reply.removeHeader('ETag')
  reply.code(failure.status).headers({ 'cache-control': 'no-store', ...headers })
  if (challenge !== undefined) reply.header('www-authenticate', challenge)
  reply.send(body)
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Also for endpoints that must remain hidden. */
export function noSuchEndpoint(app: FastifyInstance): AppError {
  const documents = ['/openapi.json', '/manage/openapi.json'].filter((url) => app.findRoute({ method: 'GET', url }))
  const lists = documents.length > 1 ? 'list' : 'lists'
  return new AppError('NotFound', `There is no such endpoint. GET ${documents.join(' and ')} ${lists} all of them.`)
}

/** 405 with `Allow` if the path exists under another method, 404 otherwise. */
function refuseUnknownRoute(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): never {
  const [path = '/'] = request.url.split('?')
  const allowed = methods.filter((method) => app.findRoute({ method, url: path }) !== null)
  if (allowed.length === 0) throw noSuchEndpoint(app)
  reply.header('Allow', allowed.join(', '))
  throw new AppError('MethodNotAllowed', `This endpoint takes ${allowed.join(', ')}.`)
}

/** One error handler for all of Fastify's routes. A request without an endpoint is refused before its body is read. */
export function handleFailures(
  app: FastifyInstance,
  onUnknownRoute: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.setErrorHandler(sendFailure)
  // Node would answer 417 with an empty body; unknown expectations may be ignored (RFC 9110 §10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const check = asHook((request, reply) => {
    const fault = findProtocolFault(request.raw)
    if (fault !== undefined) {
      reply.header('connection', 'close') // it is unknown where the next request begins
      throw new AppError('ValidationError', fault)
    }
    if (!request.is404) return
    onUnknownRoute(request, reply)
    refuseUnknownRoute(app, request, reply)
  })
  app.addHook('onRequest', check)
}

/** For failures before routing. No hook runs, so nothing would wait for the body. */
export function handleFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers({ 'X-Request-Id': request.id, ...answerHeaders, Connection: 'close' })
  sendFailure(error, request, reply)
}

const connectionFailures: Record<string, AppError> = {
  HPE_HEADER_OVERFLOW: new AppError('HeadersTooLarge', 'The headers or the URL are too long.'),
  ERR_HTTP_REQUEST_TIMEOUT: tooLate,
}
const unreadable = new AppError('ValidationError', 'This is not a valid HTTP request.')

/** For input that is no HTTP request: writes the envelope directly to the socket. */
export function handleConnectionError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure = connectionFailures[error.code ?? ''] ?? unreadable
  const body = JSON.stringify(fail(failure.code, failure.message))
  const headers = Object.entries({
    'X-Request-Id': randomBytes(12).toString('hex'),
    ...answerHeaders,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${headers.join('')}\r\n${body}`)
  socket.destroySoon() // `end` would wait for the peer to close its side
}
