import { once } from 'node:events'
import { createServer } from 'node:http'
import Fastify from 'fastify'

/** Minimal servers as a baseline: `node:http` alone, and Fastify without plugins. */
export type PlainKind = 'bare' | 'fastify'

export interface PlainAnswer {
  status: number
  headers: Record<string, string>
  /** Empty if the answer has none. */
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

/** Runs as a child process: receives the answers as a message and replies with their origins. */
if (import.meta.main) {
  const kind = process.argv[2] === 'fastify' ? 'fastify' : 'bare'
  const [answers] = (await once(process, 'message')) as [PlainAnswer[]]
  const origins = await Promise.all(
    answers.map(({ status, headers, body }) => serve[kind]({ status, headers, body: Buffer.from(body) })),
  )
  process.send?.(origins)
  process.on('disconnect', () => process.exit()) // the parent has exited
}
