import { createSlots } from '../slots.ts'
import { unlessEnded } from '../unless-ended.ts'
import { type Courier, DeliveryFailure, type Parcel } from './courier.ts'
import type { MailServerAddress } from './server-address.ts'
import { nameOf, openSession, type SmtpSession } from './smtp-session.ts'

const mostConnections = 5
const mostMessagesPerConnection = 100
const usualTimeouts = {
  connectMs: 10_000,
  greetingMs: 10_000,
  silenceMs: 60_000,
  /** For one message, with all that it waits for. */
  deliveryMs: 90_000,
  /** How long a connection is kept that nobody uses. */
  idleMs: 20_000,
  /** How long nobody tries a server that could not be used, so that it does not hold the places of all. */
  pauseMs: 5_000,
}

export interface SmtpOptions {
  /** Whether the server must be on the public Internet. */
  hosts: 'public' | 'any'
  timeouts?: Partial<typeof usualTimeouts>
  /** All addresses of a name. */
  resolve?: (host: string) => Promise<string[]>
  /** Whose certificates are trusted, instead of those that everybody trusts. */
  ca?: string
}

export interface SmtpCourier extends Courier {
  /** Connects and logs in, and sends nothing. */
  verify(signal: AbortSignal): Promise<void>
}

/** It was checked before it was stored. Here it is only seen to that the library gets one plain address, and no more. */
function checkAddress(address: string): void {
  if (!/^[!-;=?A-~]+@[!-;=?A-~]+$/.test(address) || address.split('@').length !== 2)
    throw new DeliveryFailure('The address cannot be one of an e-mail.', { isPermanent: true })
}

/** Takes messages to one mail server, by a few connections that are kept for a while. */
export function createSmtpCourier(address: MailServerAddress, options: SmtpOptions): SmtpCourier {
  const name = nameOf(address)
  const timeouts = { ...usualTimeouts, ...options.timeouts }
  const { hosts, resolve, ca } = options
  const sessionOptions = { hosts, resolve, ca, connectMs: timeouts.connectMs, timeouts }
  const slots = createSlots(mostConnections)
  /** Those that wait for a message, and when each is given up. */
  const idle = new Map<SmtpSession, NodeJS.Timeout>()
  let isClosed = false
  let trouble: { failure: DeliveryFailure; untilMs: number } | undefined

  async function open(signal: AbortSignal, sender?: string): Promise<SmtpSession> {
    try {
      const session = await openSession(address, sessionOptions, { sender, signal })
      trouble = undefined
      return session
    } catch (error) {
      if (error instanceof DeliveryFailure) trouble = { failure: error, untilMs: performance.now() + timeouts.pauseMs }
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

  async function sendBy(session: SmtpSession, parcel: Parcel, signal: AbortSignal): Promise<string> {
    try {
      return await session.send(parcel, signal)
    } finally {
      putBack(session)
    }
  }

  async function deliver(parcel: Parcel, signal: AbortSignal): Promise<string> {
    const kept = takeIdle()
    if (kept) {
      try {
        return await sendBy(kept, parcel, signal)
      } catch (error) {
        // The server may have closed a connection that was not used for a while. That says nothing of the message.
        if (kept.isOpen() || kept.hasBegun() || signal.aborted) throw error
      }
    }
    if (trouble && performance.now() < trouble.untilMs) throw trouble.failure
    return sendBy(await open(signal, parcel.sender), parcel, signal)
  }

  /** Ends the work when it takes too long. */
  async function withLimit<Result>(
    outer: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { deliveryMs } = timeouts
    const limit = new AbortController()
    const tooLong = new DeliveryFailure(`${name} took longer than ${deliveryMs / 1000} seconds.`)
    const timer = setTimeout(() => limit.abort(tooLong), deliveryMs)
    try {
      return await work(AbortSignal.any([outer, limit.signal]))
    } finally {
      clearTimeout(timer)
    }
  }

  async function takeSlot(signal: AbortSignal): Promise<void> {
    const taking = slots.take()
    await unlessEnded(taking, signal).catch((error) => {
      void taking.then(slots.release)
      throw error
    })
  }

  return {
    name,
    deliver: (parcel, outer) =>
      withLimit(outer, async (signal) => {
        for (const each of [parcel.sender, parcel.recipient]) checkAddress(each)
        await takeSlot(signal)
        try {
          return await deliver(parcel, signal)
        } finally {
          slots.release()
        }
      }),
    verify: (outer) => withLimit(outer, async (signal) => (await open(signal)).quit()),
    close() {
      isClosed = true
      for (const [session, timer] of idle) {
        clearTimeout(timer)
        session.quit()
      }
      idle.clear()
    },
  }
}
