import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { createSemaphore, type Release } from '../concurrency/semaphore.ts'
import type { MailServerAddress } from './server-address.ts'
import type { Sending, SmtpSession } from './smtp-session.ts'
import { DeliveryFailure, type MailTransport, type OutgoingMail } from './transport.ts'

const usualConnections = 5
const mostMessagesPerConnection = 100
const usualTimeouts = {
  connectMs: 10_000,
  greetingMs: 10_000,
  silenceMs: 60_000,
  /** For one message with all that it waits for, until it goes out. */
  beforeBodyMs: 90_000,
  /** From then on. A server may look long at a message, and who gives up then sends it twice. */
  bodyMs: 300_000,
  /** How long a connection is kept that nobody uses. */
  idleMs: 20_000,
  /** How long nobody tries a server that could not be used, so that it does not hold the places of all. */
  pauseMs: 5_000,
}

export interface SmtpOptions {
  /** Whether the server must be on the public Internet. */
  hosts: 'public' | 'any'
  /** How people are told of the server. Without a name, by host and port. */
  name?: string
  /** How many there may be at once. */
  connections?: number
  timeouts?: Partial<typeof usualTimeouts>
  /** All addresses of a name. */
  resolve?: (host: string) => Promise<string[]>
  /** Whose certificates are trusted, instead of those that everybody trusts. */
  ca?: string
}

export interface SmtpTransport extends MailTransport {
  /** Connects and logs in, and sends nothing. */
  verify(signal: AbortSignal): Promise<void>
}

/** It was checked before it was stored. Here it is only seen to that the library gets one plain address, and no more. */
function checkAddress(address: string): void {
  if (!/^[!-;=?A-~]+@[!-;=?A-~]+$/.test(address) || address.split('@').length !== 2)
    throw new DeliveryFailure('The address cannot be one of an e-mail.', { isPermanent: true })
}

const placeOf = ({ host, port }: MailServerAddress): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Takes messages to one mail server, by a few connections that are kept for a while. */
export function createSmtpTransport(address: MailServerAddress, options: SmtpOptions): SmtpTransport {
  const timeouts = { ...usualTimeouts, ...options.timeouts }
  const { hosts, resolve, ca, name = placeOf(address), connections = usualConnections } = options
  const sessionOptions = { name, hosts, resolve, ca, connectMs: timeouts.connectMs, timeouts }
  const slots = createSemaphore({ maxPerKey: connections })
  /** Those that wait for a message, and when each is given up. */
  const idle = new Map<SmtpSession, NodeJS.Timeout>()
  let isClosed = false
  let trouble: { failure: DeliveryFailure; untilMs: number } | undefined

  function pause(failure: DeliveryFailure): void {
    trouble = { failure, untilMs: performance.now() + timeouts.pauseMs }
  }

  async function open(signal: AbortSignal, sender?: string): Promise<SmtpSession> {
    try {
      const { openSession } = await import('./smtp-session.ts')
      const session = await openSession(address, sessionOptions, { sender, signal })
      trouble = undefined
      return session
    } catch (error) {
      if (error instanceof DeliveryFailure) pause(error)
      throw error
    }
  }

  function takeIdle(): SmtpSession | undefined {
    for (const [session, timer] of idle) {
      clearTimeout(timer)
      idle.delete(session)
      if (session.isOpen()) return session
    }
    return undefined
  }

  function putBack(session: SmtpSession): void {
    if (!session.isOpen()) return
    const giveUp = () => {
      idle.delete(session)
      session.quit()
    }
    if (isClosed || session.count() >= mostMessagesPerConnection) giveUp()
    else idle.set(session, setTimeout(giveUp, timeouts.idleMs).unref())
  }

  function leaveIdle(): void {
    for (const [session, timer] of idle) {
      clearTimeout(timer)
      session.quit()
    }
    idle.clear()
  }

  async function sendBy(session: SmtpSession, mail: OutgoingMail, sending: Sending): Promise<string> {
    try {
      return await session.send(mail, sending)
    } finally {
      putBack(session)
    }
  }

  async function deliver(mail: OutgoingMail, sending: Sending): Promise<string> {
    const { signal } = sending
    const kept = takeIdle()
    if (kept) {
      try {
        return await sendBy(kept, mail, sending)
      } catch (error) {
        // The server may have closed a connection that was not used for a while. That says nothing of the message.
        if (kept.isOpen() || kept.hasBegun() || signal.aborted) throw error
      }
    }
    if (trouble && performance.now() < trouble.untilMs) throw trouble.failure
    return sendBy(await open(signal, mail.sender), mail, sending)
  }

  /** Ends the work when it takes too long, and leaves the server alone for a while when that, or its silence, ended it. */
  async function withLimit<Result>(
    outer: AbortSignal,
    work: (signal: AbortSignal, limitTo: (ms: number) => void) => Promise<Result>,
  ): Promise<Result> {
    const limit = new AbortController()
    let timer: NodeJS.Timeout | undefined
    function limitTo(ms: number): void {
      const tooLong = new DeliveryFailure(`${name} took longer than ${ms / 1000} seconds.`, { isTimeout: true })
      clearTimeout(timer)
      timer = setTimeout(() => limit.abort(tooLong), ms)
    }
    limitTo(timeouts.beforeBodyMs)
    try {
      return await work(AbortSignal.any([outer, limit.signal]), limitTo)
    } catch (error) {
      const isNews = error !== trouble?.failure // a pause is not made longer by who is told of it
      if (isNews && error instanceof DeliveryFailure && error.isTimeout) {
        pause(error)
        leaveIdle()
      }
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async function acquireSlot(signal: AbortSignal): Promise<Release> {
    const acquiring = slots.acquire(name)
    return raceWithAbort(acquiring, signal).catch((error) => {
      void acquiring.then((release) => release())
      throw error
    })
  }

  return {
    name,
    async deliver(mail, { signal: outer, isOurs }) {
      for (const each of [mail.sender, mail.recipient]) checkAddress(each)
      const release = await acquireSlot(outer)
      try {
        return await withLimit(outer, (signal, limitTo) =>
          deliver(mail, { signal, isOurs, onBody: () => limitTo(timeouts.bodyMs) }),
        )
      } finally {
        release()
      }
    },
    verify: (outer) => withLimit(outer, async (signal) => (await open(signal)).quit()),
    close() {
      isClosed = true
      leaveIdle()
    },
  }
}
