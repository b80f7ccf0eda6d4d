import type { IncomingMessage } from 'node:http'
import type { KeptAnswer } from './answer-cache.ts'

/**
 * Answers that the short way has begun for a request before it handed it over: the long way waits for the same one, or words its
 * failure. Nothing is made twice for one request.
 */
const begun = new WeakMap<IncomingMessage, Promise<KeptAnswer>>()

export function noteBegun(request: IncomingMessage, answer: Promise<KeptAnswer>): void {
  answer.catch(() => {}) // whoever takes it over hears of it
  begun.set(request, answer)
}

export const begunFor = (request: IncomingMessage): Promise<KeptAnswer> | undefined => begun.get(request)
