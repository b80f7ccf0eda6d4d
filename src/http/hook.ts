import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'

/** A hook that lets in or throws. As a callback, because each promise costs every request; few of them have to wait. */
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
      // Not before the parser is done: it may yet find that this is no request at all, and then that is the answer.
      queueMicrotask(() => done(error as Error))
      return
    }
    done()
  }
}
