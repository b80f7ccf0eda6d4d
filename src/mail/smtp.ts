import { raceWithAbort } from '../concurrency/race-with-abort.ts'
import { createSemaphore, type Release } from '../concurrency/semaphore.ts'
import type { MailServerAddress } from './server-address.ts'
import type { Sending, SmtpSession } from './smtp-session.ts'
import { DeliveryFailure, type MailTransport, type OutgoingMail } from './transport.ts'

const defaultConnections = 5
const maxMessagesPerConnection = 100
const defaultTimeouts = {
  connectMs: 10_000,
  greetingMs: 10_000,
  silenceMs: 60_000,
  /** For everything up to the message itself. */
  beforeBodyMs: 90_000,
  /** For the message itself. Servers may take long to scan it, and a timeout would then lead to a duplicate. */
  bodyMs: 300_000,
  /** Idle connections are closed after this time. */
  idleMs: 20_000,
  /** After a failure, deliveries fail at once for this time, so that the server does not block every permit. */
  pauseMs: 5_000,
}

export interface SmtpOptions {
  /** `public` requires a server on the public Internet. */
  hosts: 'public' | 'any'
  /** How error messages name the server; host and port by default. */
  name?: string
  /** Concurrent connections. */
  connections?: number
  timeouts?: Partial<typeof defaultTimeouts>
  /** Returns all addresses of a name. */
  resolve?: (host: string) => Promise<string[]>
  /** Replaces the default certificate authorities. */
  ca?: string
}

export interface SmtpTransport extends MailTransport {
  /** Connects and logs in, and sends nothing. */
  verify(signal: AbortSignal): Promise<void>
}

/** Against SMTP injection. Addresses are validated before they are stored; this only ensures one plain address. */
function checkAddress(address: string): void {
  if (!/^[!-;=?A-~]+@[!-;=?A-~]+$/.test(address) || address.split('@').length !== 2)
    throw new DeliveryFailure('The address is not a valid e-mail address.', { isPermanent: true })
}

const hostAndPort = ({ host, port }: MailServerAddress): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Delivers to one mail server through a small connection pool. */
export function createSmtpTransport(address: MailServerAddress, options: SmtpOptions): SmtpTransport {
  const timeouts = { ...defaultTimeouts, ...options.timeouts }
  const { hosts, resolve, ca, name = hostAndPort(address), connections = defaultConnections } = options
  const sessionOptions = { name, hosts, resolve, ca, connectMs: timeouts.connectMs, timeouts }
  const permits = createSemaphore({ maxPerKey: connections })
  const idle = new Map<SmtpSession, NodeJS.Timeout>()
  let isClosed = false
  /** A circuit breaker: until then, deliveries fail at once. */
  let outage: { failure: DeliveryFailure; untilMs: number } | undefined

  function pause(failure: DeliveryFailure): void {
    outage = { failure, untilMs: performance.now() + timeouts.pauseMs }
  }

  async function open(signal: AbortSignal, sender?: string): Promise<SmtpSession> {
    try {
      const { openSession } = await import('./smtp-session.ts')
      const session = await openSession(address, sessionOptions, { sender, signal })
      outage = undefined
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
    const quit = () => {
      idle.delete(session)
      session.quit()
    }
    if (isClosed || session.count() >= maxMessagesPerConnection) quit()
    else idle.set(session, setTimeout(quit, timeouts.idleMs).unref())
  }

  function closeIdle(): void {
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
    const session = takeIdle()
    if (session) {
      try {
        return await sendBy(session, mail, sending)
      } catch (error) {
        // The server may have closed an idle connection, which is no failure of the message.
        if (session.isOpen() || session.hasBegun() || signal.aborted) throw error
      }
    }
    if (outage && performance.now() < outage.untilMs) throw outage.failure
    return sendBy(await open(signal, mail.sender), mail, sending)
  }

  /** Aborts the work on timeout and then pauses the server. */
  async function withTimeout<Result>(
    outer: AbortSignal,
    work: (signal: AbortSignal, setTimeLimit: (ms: number) => void) => Promise<Result>,
  ): Promise<Result> {
    const timeout = new AbortController()
    let timer: NodeJS.Timeout | undefined
    function setTimeLimit(ms: number): void {
      const tooLong = new DeliveryFailure(`${name} took longer than ${ms / 1000} seconds.`, { isTimeout: true })
      clearTimeout(timer)
      timer = setTimeout(() => timeout.abort(tooLong), ms)
    }
    setTimeLimit(timeouts.beforeBodyMs)
    try {
      return await work(AbortSignal.any([outer, timeout.signal]), setTimeLimit)
    } catch (error) {
      const isNew = error !== outage?.failure // failing at once must not extend the pause
      if (isNew && error instanceof DeliveryFailure && error.isTimeout) {
        pause(error)
        closeIdle()
      }
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async function acquirePermit(signal: AbortSignal): Promise<Release> {
    const acquiring = permits.acquire(name)
    return raceWithAbort(acquiring, signal).catch((error) => {
      void acquiring.then((release) => release())
      throw error
    })
  }

  return {
    name,
    async deliver(mail, { signal: outer, isOurs }) {
      for (const each of [mail.sender, mail.recipient]) checkAddress(each)
      const release = await acquirePermit(outer)
      try {
        return await withTimeout(outer, (signal, setTimeLimit) =>
          deliver(mail, { signal, isOurs, onBody: () => setTimeLimit(timeouts.bodyMs) }),
        )
      } finally {
        release()
      }
    },
    verify: (outer) => withTimeout(outer, async (signal) => (await open(signal)).quit()),
    close() {
      isClosed = true
      closeIdle()
    },
  }
}

const probeTimeoutMs = 20_000

/** Connects and logs in, and sends nothing. Returns the problem, if any. */
export async function probeServer(address: MailServerAddress, options: SmtpOptions): Promise<string | undefined> {
  const transport = createSmtpTransport(address, options)
  const signal = AbortSignal.timeout(probeTimeoutMs)
  try {
    await transport.verify(signal)
    return undefined
  } catch (error) {
    if (signal.aborted) return `it did not answer within ${probeTimeoutMs / 1000} seconds.`
    if (error instanceof DeliveryFailure) return error.message
    throw error
  } finally {
    transport.close()
  }
}
