import { once } from 'node:events'
import { createServer } from 'node:http'
import Fastify from 'fastify'

/** Servers that do nothing but answer, to measure Sluice by: `node:http` alone, and Fastify without anything added. */
export type PlainKind = 'bare' | 'fastify'

/** The one answer of a server. */
export interface PlainAnswer {
  status: number
  headers: Record<string, string>
  /** Empty for an answer without one. */
  body: Buffer
}

const host = '127.0.0.1'

async function serveBare({ status, headers, body }: PlainAnswer): Promise<string> {
  const complete = body.length > 0 ? { ...headers, 'Content-Length': body.length } : headers
  const server = createServer((_, response) => {
    response.writeHead(status, complete)
    response.end(body.length > 0 ? body : undefined)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('There is no port.')
  return `http://${host}:${address.port}`
}

function serveByFastify({ status, headers, body }: PlainAnswer): Promise<string> {
  const app = Fastify()
  app.get('/*', (_, reply) => {
    reply.code(status).headers(headers)
    return reply.send(body.length > 0 ? body : undefined)
  })
  return app.listen({ host, port: 0 })
}

const serve = { bare: serveBare, fastify: serveByFastify }

/** Started as a process of its own: the answers come as a message, and where they are served goes back as one. */
if (import.meta.main) {
  const kind = process.argv[2] === 'fastify' ? 'fastify' : 'bare'
  const [answers] = (await once(process, 'message')) as [PlainAnswer[]]
  const origins = await Promise.all(
    answers.map(({ status, headers, body }) => serve[kind]({ status, headers, body: Buffer.from(body) })),
  )
  process.send?.(origins)
  process.on('disconnect', () => process.exit()) // who started us is gone
}
