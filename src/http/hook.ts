import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'

/** A hook that returns or throws. As a callback, because each promise costs every request, and few hooks have to wait. */
export function asHook(
  check: (request: FastifyRequest, reply: FastifyReply) => Promise<void> | void,
): onRequestHookHandler {
  return (request, reply, done) => {
    try {
      const waiting = check(request, reply)
      if (waiting) {
        waiting.then(() => done(), done)
        return
      }
    } catch (error) {
      // Not before the parser has finished: it may yet find that this is not a valid request, which then is the answer.
      queueMicrotask(() => done(error as Error))
      return
    }
    done()
  }
}

/**
 * Node emits no `close` for a request without a body (`optimizeEmptyRequests`), and Fastify would keep the timer of a request whose
 * client has disconnected until its handler times out.
 */
export function emitCloseOnDisconnect(app: FastifyInstance): void {
  const listen = asHook(({ raw: request }, { raw: response }) => {
    response.once('close', () => {
      if (!response.writableFinished) request.emit('close')
    })
  })
  app.addHook('onRequest', listen)
}
