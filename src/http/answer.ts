import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ok } from '../envelope.ts'

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}

/**
 * Sends content with a strong ETag over its bytes, or 304 to who has it already. Private, because it depends on the key;
 * no-cache, because time alone can change it. An answer cache will stand here: bytes and ETag by revision and query.
 */
export function sendContent(request: FastifyRequest, reply: FastifyReply, data: unknown): FastifyReply {
  const body = JSON.stringify(ok(data))
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 27)}"`
  reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' })
  if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}
