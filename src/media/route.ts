import send from '@fastify/send'
import type { FastifyInstance } from 'fastify'
import { bucketNamePattern, encodeMediaKey } from '../content/media-keys.ts'
import type { Clock } from '../core/clock.ts'
import { AppError, notFound } from '../core/errors.ts'
import { contentTypeOf, dispositionOf } from './content-types.ts'
import type { LocalMedia } from './open.ts'

/** `GET /media/<bucket>/<key>?expires=…&signature=…`: the signature is the permission, no API key is needed. */
export function registerMediaRoute(app: FastifyInstance, { signer, storage }: LocalMedia, clock: Clock): void {
  app.get<{ Params: { bucket: string; '*': string }; Querystring: { expires?: unknown; signature?: unknown } }>(
    '/media/:bucket/*',
    async (request, reply) => {
      const { bucket, '*': key } = request.params
      const { expires, signature } = request.query
      const secondsLeft =
        bucketNamePattern.test(bucket) && typeof expires === 'string' && typeof signature === 'string'
          ? signer.verify(bucket, key, expires, signature, clock())
          : undefined
      if (secondsLeft === undefined) {
        throw new AppError('Forbidden', 'This media URL is invalid or has expired. Request a new one from the API.')
      }
      const file = await send(request.raw, encodeMediaKey(key), {
        root: storage.folderOf(bucket),
        index: false,
        cacheControl: false,
      })
      if (file.type === 'error' && file.statusCode === 416) {
        reply.header('Content-Range', file.headers['Content-Range'] ?? 'bytes */*')
        throw new AppError('RangeNotSatisfiable', 'The file does not have the bytes requested by the Range header.')
      }
      if (file.type === 'error' && file.statusCode === 412) {
        throw new AppError('PreconditionFailed', 'The file does not match If-Match or If-Unmodified-Since.')
      }
      if (file.type === 'error' && file.statusCode >= 500) throw file.metadata.error
      if (file.type !== 'file') throw notFound('There is no such file.')
      reply
        .code(file.statusCode)
        .headers(file.headers)
        .header('Cache-Control', `private, max-age=${Math.floor(secondsLeft)}, immutable`)
      if (file.statusCode === 304) return reply.send() // a cache would adopt a type given here
      const type = contentTypeOf(key)
      return reply.header('Content-Type', type).header('Content-Disposition', dispositionOf(type)).send(file.stream)
    },
  )
}
