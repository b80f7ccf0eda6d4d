import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import SMTPConnection, { type SentMessageInfo, type SMTPError } from 'nodemailer/lib/smtp-connection'
import { DeliveryFailure, type Parcel } from './courier.ts'
import { OutOfReach, type ReachOptions, reachServer } from './reach-server.ts'
import { isLoopback, type MailServerAddress } from './server-address.ts'
import { failureOf, wordsOf } from './server-refusals.ts'

/** More than any server has to say. */
const mostReplyBytes = 64 * 1024
const quitMs = 2000

export interface SessionOptions extends ReachOptions {
  /** Whose certificates are trusted, instead of those that everybody trusts. */
  ca?: string | undefined
  timeouts: {
    greetingMs: number
    /** Until an answer comes. A server may look long at a message, and who gives up then sends it twice. */
    silenceMs: number
  }
}

/** One connection to a mail server, which takes one message after the other. */
export interface SmtpSession {
  /** The server's words. When the signal aborts, the connection is cut at once. */
  send(parcel: Parcel, signal: AbortSignal): Promise<string>
  /** Whether it can take another message. */
  isOpen(): boolean
  /** Whether the server has got any part of the latest message: if so, it may have taken it. */
  hasBegun(): boolean
  /** How many messages it was given. */
  count(): number
  /** Says goodbye, and closes it. */
  quit(): void
}

export const nameOf = ({ host, port }: MailServerAddress): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** How we call ourselves: by a name that can be one on the Internet, else as who has none. */
function clientName(sender: string | undefined): string {
  const names = [sender?.split('@').at(-1) ?? '', hostname().toLowerCase()]
  return names.find((name) => /^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{1,62}$/.test(name)) ?? '[127.0.0.1]'
}

/** In each form in which a server could repeat it. */
function secretsOf({ login }: MailServerAddress): string[] {
  if (!login) return []
  const { user, password } = login
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return [base64(`\0${user}\0${password}`), base64(password), password]
}

/** Connects, has the connection encrypted and logs in. Throws a `DeliveryFailure`, or why the signal aborted. */
export async function openSession(
  server: MailServerAddress,
  options: SessionOptions,
  { sender, signal: opening }: { sender: string | undefined; signal: AbortSignal },
): Promise<SmtpSession> {
  const { host, port, tls, login } = server
  const { ca, timeouts } = options
  const name = nameOf(server)
  const secrets = secretsOf(server)
  let isLetIn = false
  let hasBegun = false
  let isBroken = false
  let count = 0

  /** Why it was ended, where we have ended it; else what the server, or its absence, says. */
  function explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof OutOfReach) return new DeliveryFailure(`${name} ${error.message}.`)
    return failureOf(error as SMTPError, { name, secrets, isOpen: isLetIn })
  }

  const socket = await reachServer(server, options, opening).catch((error) => {
    throw explain(error, opening)
  })
  const connection = new SMTPConnection({
    connection: socket, // so that it is ours to cut
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'off',
    // With nothing to hide from who listens, a server that does not keep what it offers is still good enough.
    opportunisticTLS: tls === 'optional' && login === undefined,
    name: clientName(sender),
    tls: {
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
      // On this machine nobody stands between us and the server, and it would do without any encryption.
      rejectUnauthorized: !(tls === 'optional' && isLoopback(host)),
    },
    connectionTimeout: 2 * timeouts.greetingMs, // the greeting, and the encryption
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.silenceMs,
    maxResponseSize: mostReplyBytes,
  })
  connection.on('error', () => {}) // who waits for an answer hears of it below

  function cut(): void {
    isBroken = true
    const current = connection._socket || socket // the one that encrypts, where there is one
    connection.close()
    current.destroy()
  }

  /** Waits for an answer: the library calls back with it, or tells that the connection has ended, or it is us who end it. */
  async function ask<Answer>(
    signal: AbortSignal,
    begin: (done: (error?: Error | null, answer?: Answer) => void) => void,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const stop = () => {
      cut()
      reject(signal.reason)
    }
    const lose = () => setImmediate(reject, new Error('The connection has ended.')) // unless it is told why
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    connection.once('error', reject)
    connection.once('end', lose)
    try {
      if (!signal.aborted) begin((error, answer) => (error ? reject(error) : resolve(answer as Answer)))
      return await promise
    } finally {
      signal.removeEventListener('abort', stop)
      connection.off('error', reject)
      connection.off('end', lose)
    }
  }

  /** After a clean no the connection is as good as before; after anything else nobody knows. */
  async function recover({ command = '', responseCode = 421 }: SMTPError, signal: AbortSignal): Promise<void> {
    if (isBroken || responseCode === 421 || !['MAIL FROM', 'RCPT TO', 'DATA'].includes(command)) return cut()
    await ask<boolean>(signal, (done) => connection.reset(done)).catch(cut)
  }

  try {
    await ask<void>(opening, (done) => connection.connect(done))
    if (login) {
      if (!connection.allowsAuth) throw new OutOfReach('offers no login')
      await ask<boolean>(opening, (done) => connection.login({ user: login.user, pass: login.password }, done))
    }
    isLetIn = true
  } catch (error) {
    cut()
    throw explain(error, opening)
  }

  return {
    isOpen: () => !isBroken && !connection.destroyed,
    hasBegun: () => hasBegun,
    count: () => count,
    async send({ sender: from, recipient, raw }, signal) {
      count += 1
      hasBegun = false
      const message = new Readable({
        read() {
          hasBegun = true
          this.push(raw)
          this.push(null)
        },
      })
      try {
        const envelope = { from, to: [recipient], size: raw.length }
        const { response } = await ask<SentMessageInfo>(signal, (done) => connection.send(envelope, message, done))
        return wordsOf(response)
      } catch (error) {
        await recover(error as SMTPError, signal)
        throw explain(error, signal)
      }
    },
    quit() {
      if (isBroken) return
      isBroken = true
      connection.quit()
      socket.unref()
      setTimeout(cut, quitMs).unref()
    },
  }
}
