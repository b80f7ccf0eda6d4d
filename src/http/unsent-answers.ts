import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { AppError } from '../core/errors.ts'
import { callerOf } from './admission.ts'
import { isHealthCheck } from './request-limits.ts'

/** The cost of an unsent answer besides its bytes: file buffers, its request, and requests pipelined behind it. */
const bytesPerAnswer = 128 * 1024
/** A caller's maximum share of all unsent bytes. */
const callerShare = 1 / 4
/** A client must read this much on average within the time limit. */
const minBytesPerSecond = 1024
const checksPerTimeLimit = 4

export const tooManyUnread = (): AppError =>
  new AppError('RateLimited', 'Too many answers to you wait to be read. Read them, and try again in a moment.', {
    retryAfterSeconds: 5,
  })

/** An answer still buffered because its client reads slowly. */
interface UnsentAnswer {
  response: ServerResponse
  socket: Socket
  caller: Caller
  bytes: number
  /** Bytes sent on this connection when the client last read fast enough. */
  takenBytes: number
  seenMs: number
}

/** Most answers leave in the same turn of the event loop, and are never counted. */
interface Sent {
  response: ServerResponse
  name: string
}

interface Caller {
  name: string
  bytes: number
  /** Ordered by the time since the client last read, longest first. */
  answers: Set<UnsentAnswer>
}

/**
 * Bounds the answers that clients have not read yet, per caller and in total: a caller above its share is refused before another
 * answer is built. If the bound is exceeded anyway, the connection without progress for longest is cut off.
 */
export interface UnsentAnswers {
  readonly counts: { bytes: number; cut: number }
  /** Counts the unsent bytes of an answer from the next turn of the event loop until its response is closed. */
  hold(response: ServerResponse, caller: string): void
  /** Whether a caller must read before it gets another answer. */
  isFull(caller: string): boolean
  close(): void
}

/**
 * Bytes that have left a connection. `bytesWritten` alone also counts what is buffered, so a client that reads one large answer
 * slowly would look stalled; Node's public API cannot distinguish the two.
 */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}

/** A reset also frees the system's buffers. A connection that is closing already cannot be reset. */
function cutOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

export function createUnsentAnswers(options: {
  maxBytes: number
  timeLimitMs: number
  logger: Pick<Logger, 'warn'>
}): UnsentAnswers {
  const { maxBytes, timeLimitMs, logger } = options
  const maxCallerBytes = maxBytes * callerShare
  const minBytes = (minBytesPerSecond * timeLimitMs) / 1000
  const counts = { bytes: 0, cut: 0 }
  const callers = new Map<string, Caller>()
  const held = new Map<ServerResponse, UnsentAnswer>()
  let cutSinceLook = 0

  function callerNamed(name: string): Caller {
    const caller = callers.get(name) ?? { name, bytes: 0, answers: new Set() }
    callers.set(name, caller)
    return caller
  }

  function release(answer: UnsentAnswer): void {
    if (!held.delete(answer.response)) return
    const { caller, bytes } = answer
    counts.bytes -= bytes
    caller.bytes -= bytes
    caller.answers.delete(answer)
    if (caller.answers.size === 0) callers.delete(caller.name)
  }

  function cut(answer: UnsentAnswer): void {
    release(answer)
    cutOff(answer.socket)
    counts.cut += 1
    cutSinceLook += 1
  }

  function cutStalest({ answers }: Caller): void {
    const [stalest] = answers
    if (stalest) cut(stalest)
  }

  function greediest(): Caller | undefined {
    let found: Caller | undefined
    for (const caller of callers.values()) if (!found || caller.bytes > found.bytes) found = caller
    return found
  }

  /** A caller's only answer may be larger than its share. */
  function makeRoom(caller: Caller): void {
    while (caller.bytes > maxCallerBytes && caller.answers.size > 1) cutStalest(caller)
    while (counts.bytes > maxBytes && held.size > 1) {
      const greedy = greediest()
      if (greedy) cutStalest(greedy)
    }
  }

  function look(): void {
    const nowMs = performance.now()
    for (const answer of held.values()) {
      const { socket, caller } = answer
      const takenBytes = takenOf(socket)
      if (socket.writableLength === 0 || takenBytes - answer.takenBytes >= minBytes) {
        Object.assign(answer, { takenBytes, seenMs: nowMs })
        caller.answers.delete(answer)
        caller.answers.add(answer)
      } else if (nowMs - answer.seenMs >= timeLimitMs) cut(answer)
    }
    if (cutSinceLook > 0) logger.warn({ connections: cutSinceLook }, 'slow readers were cut off')
    cutSinceLook = 0
  }
  const timer = setInterval(look, timeLimitMs / checksPerTimeLimit).unref()

  function holdNow({ response, name }: Sent): void {
    const { socket } = response
    if (response.writableFinished || response.destroyed || !socket || socket.destroyed || held.has(response)) return
    const caller = callerNamed(name)
    const bytes = response.writableLength + bytesPerAnswer
    const answer = { response, socket, caller, bytes, takenBytes: takenOf(socket), seenMs: performance.now() }
    held.set(response, answer)
    caller.answers.add(answer)
    caller.bytes += bytes
    counts.bytes += bytes
    response.once('close', () => release(answer))
    makeRoom(caller)
  }

  let sent: Sent[] = []
  function holdSent(): void {
    const due = sent
    sent = []
    for (const each of due) holdNow(each)
  }

  return {
    counts,
    hold(response, name) {
      if (sent.length === 0) setImmediate(holdSent)
      sent.push({ response, name })
    },
    isFull: (name) => counts.bytes >= maxCallerBytes && (callers.get(name)?.bytes ?? 0) >= maxCallerBytes,
    close: () => clearInterval(timer),
  }
}

const isStream = (payload: unknown): boolean => typeof (payload as { pipe?: unknown } | null)?.pipe === 'function'

/** Refuses callers that do not read their answers, and counts what is sent. */
export function limitUnsent(app: FastifyInstance, unsent: UnsentAnswers): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (!unsent.isFull(callerOf(request)) || isHealthCheck(request)) return done(null, payload)
    done(tooManyUnread())
  })
  app.addHook('onSend', (request, { raw: response }, payload, done) => {
    const hold = (): void => unsent.hold(response, callerOf(request))
    // A file is in transit until its end; any other answer has been written by now, and is either buffered or gone.
    if (isStream(payload)) setImmediate(() => response.closed || hold())
    else response.once('prefinish', () => void (response.writableLength > 0 && hold()))
    done(null, payload)
  })
}
