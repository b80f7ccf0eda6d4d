import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Content } from './content.ts'

function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^W\//, '')
    return tag === etag || tag === '*'
  })
}

/**
 * Sends content with a strong ETag over its bytes, or 304 to who has it already. Private, because it depends on the key;
 * no-cache, because time alone can change it.
 */
export function sendContent(request: FastifyRequest, reply: FastifyReply, { json }: Content): FastifyReply {
  const body = `{"success":true,"data":${json},"error":null}`
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 27)}"`
  reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' })
  if (matches(request.headers['if-none-match'], etag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}
