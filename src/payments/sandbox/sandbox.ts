import type { FastifyInstance } from 'fastify'
import type { Sandbox } from '../payments.ts'
import { sandboxHandlers } from './handlers.ts'
import { secretKeyOf } from './keys.ts'
import { registerCheckoutPages } from './pages.ts'
import { buildServer, type SandboxDeps } from './server.ts'

/** A local stand-in for the payment provider: its API on loopback, its checkout page among our own pages. */
export function createSandbox(deps: SandboxDeps): Sandbox {
  let listening: Promise<{ app: FastifyInstance; url: string }> | undefined

  async function listen() {
    const app = buildServer(deps)
    return { app, url: await app.listen({ host: '127.0.0.1', port: 0 }) }
  }

  return {
    secretKeyOf: (integrationId) => secretKeyOf(deps.signingKey, integrationId),
    async url() {
      listening ??= listen()
      return (await listening).url
    },
    registerPages: (app, limit) => registerCheckoutPages(app, deps, limit),
    handlers: sandboxHandlers(deps),
    async close() {
      const server = await listening
      await server?.app.close()
    },
  }
}
