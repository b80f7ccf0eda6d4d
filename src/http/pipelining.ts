import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'

/** So many requests may wait on a connection for the answers to those before them; one more, and it is closed. */
const maxWaitingRequests = 32

/**
 * Requests that come on one connection without waiting for answers are worked on one after the other, so a connection has one
 * answer under way at most. Node would begin with all of them at once, and pile up what nobody reads.
 */
export function answerInTurn(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (request, response) => {
    if (response.socket) return handle(request, response)
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxWaitingRequests) return void socket.destroy()
    waiting.set(socket, count)
    // Node assigns the socket when the answer before this one is sent.
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      process.nextTick(handle, request, response)
    })
  }
}
