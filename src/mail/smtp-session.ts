import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import SMTPConnection, { type SentMessageInfo, type SMTPError } from 'nodemailer/lib/smtp-connection'
import { isLoopback } from '../security/public-address.ts'
import { type ConnectOptions, connectToServer, ServerUnreachable } from './connect.ts'
import type { MailServerAddress } from './server-address.ts'
import { failureOf, singleLine } from './server-refusals.ts'
import { type DeliveryContext, DeliveryFailure, type OutgoingMail } from './transport.ts'

const maxReplyBytes = 64 * 1024
const quitTimeoutMs = 2000
const chunkBytes = 16 * 1024

export interface SessionOptions extends ConnectOptions {
  /** How error messages name the server. */
  name: string
  /** Replaces the default certificate authorities. */
  ca?: string | undefined
  timeouts: {
    greetingMs: number
    /** For each reply, except the one to the message itself. */
    silenceMs: number
  }
}

export interface Sending extends DeliveryContext {
  /** Called when the message itself begins to be sent. From then on the caller limits the time. */
  onBody(): void
}

/** A connection to a mail server, for one message at a time. */
export interface SmtpSession {
  /** Returns the server's reply. */
  send(mail: OutgoingMail, sending: Sending): Promise<string>
  /** Whether another message can be sent. */
  isOpen(): boolean
  /** Whether sending the latest message itself began: if so, the server may have accepted it. */
  hasBegun(): boolean
  /** Number of messages so far. */
  count(): number
  quit(): void
}

/** The EHLO name: a public host name, or an address literal. */
function clientName(sender: string | undefined): string {
  const names = [sender?.split('@').at(-1) ?? '', hostname().toLowerCase()]
  return names.find((name) => /^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{1,62}$/.test(name)) ?? '[127.0.0.1]'
}

/** The login in each form that a server may echo. Redacting very short words would mangle others. */
function secretsOf({ login }: MailServerAddress): string[] {
  if (!login) return []
  const { user, password } = login
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const words = [base64(`\0${user}\0${password}`), base64(password), base64(user), password, user]
  return words.filter((word) => word.length > 2)
}

/** Calls `mayContinue` before each chunk and before the end. */
function streamOf(raw: Buffer, mayContinue: () => boolean): Readable {
  let start = 0
  return new Readable({
    highWaterMark: 1, // so that `mayContinue` is called just before a chunk is sent
    read() {
      if (!mayContinue()) return
      this.push(start < raw.length ? raw.subarray(start, start + chunkBytes) : null)
      start += chunkBytes
    },
  })
}

/** Connects, negotiates TLS and logs in. Throws a `DeliveryFailure`, or the reason why the signal aborted. */
export async function openSession(
  server: MailServerAddress,
  options: SessionOptions,
  { sender, signal: opening }: { sender: string | undefined; signal: AbortSignal },
): Promise<SmtpSession> {
  const { host, port, tls, login } = server
  const { ca, timeouts, name } = options
  const secrets = secretsOf(server)
  let isLoggedIn = false
  let hasBegun = false
  let isBroken = false
  let count = 0

  /** The reason of our own abort, or the server's failure. */
  function explain(error: unknown, signal: AbortSignal, recipient = ''): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof DeliveryFailure) return error
    if (error instanceof ServerUnreachable) return new DeliveryFailure(`${name} ${error.message}.`)
    // The failure is logged; the recipient is stored with the message only.
    const redacted = recipient === '' ? secrets : [...secrets, recipient]
    return failureOf(error as SMTPError, { name, secrets: redacted, isOpen: isLoggedIn })
  }

  const socket = await connectToServer(server, options, opening).catch((error) => {
    throw explain(error, opening)
  })
  const connection = new SMTPConnection({
    connection: socket, // so that we can destroy it
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'off',
    // Without a login, plain text is acceptable when STARTTLS is announced but fails.
    opportunisticTLS: tls === 'optional' && login === undefined,
    name: clientName(sender),
    tls: {
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
      // A connection on this machine cannot be intercepted, and plain text would be accepted, too.
      rejectUnauthorized: !(tls === 'optional' && isLoopback(host)),
    },
    connectionTimeout: 2 * timeouts.greetingMs, // greeting and TLS
    greetingTimeout: timeouts.greetingMs,
    maxResponseSize: maxReplyBytes,
  })
  connection.on('error', () => {}) // `ask` has its own listener

  function cut(): void {
    isBroken = true
    connection.close()
    socket.destroy()
  }

  /** Resolves with the reply; rejects if the connection breaks, the server is silent for too long or the signal aborts. */
  async function ask<Answer>(
    signal: AbortSignal,
    begin: (done: (error?: Error | null, answer?: Answer) => void) => void,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const stop = (reason: unknown) => {
      cut()
      reject(reason)
    }
    const onAbort = () => stop(signal.reason)
    const onSilence = () => stop(new DeliveryFailure(`${name} was silent for too long`, { isTimeout: true }))
    const onEnd = () => setImmediate(reject, new Error('The connection has ended.')) // after an `error` event
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    socket.once('timeout', onSilence)
    connection.once('error', reject)
    connection.once('end', onEnd)
    try {
      socket.setIdleTimeout(timeouts.silenceMs)
      if (!signal.aborted) begin((error, answer) => (error ? reject(error) : resolve(answer as Answer)))
      return await promise
    } finally {
      socket.setIdleTimeout(0)
      signal.removeEventListener('abort', onAbort)
      socket.off('timeout', onSilence)
      connection.off('error', reject)
      connection.off('end', onEnd)
    }
  }

  /** After a regular refusal the connection can be reset and reused; after anything else its state is unknown. */
  async function recover({ command = '', responseCode = 421 }: SMTPError, signal: AbortSignal): Promise<void> {
    if (isBroken || responseCode === 421 || !['MAIL FROM', 'RCPT TO', 'DATA'].includes(command)) return cut()
    await ask<boolean>(signal, (done) => connection.reset(done)).catch(cut)
  }

  try {
    await ask<void>(opening, (done) => connection.connect(done))
    if (login) {
      if (!connection.allowsAuth) throw new ServerUnreachable('offers no login')
      await ask<boolean>(opening, (done) => connection.login({ user: login.user, pass: login.password }, done))
    }
    isLoggedIn = true
  } catch (error) {
    cut()
    throw explain(error, opening)
  }

  return {
    isOpen: () => !isBroken && !connection.destroyed,
    hasBegun: () => hasBegun,
    count: () => count,
    async send({ sender: from, recipient, raw }, { signal: outer, isOurs, onBody }) {
      count += 1
      hasBegun = false
      const leaseLost = new AbortController()
      const signal = AbortSignal.any([outer, leaseLost.signal])
      function mayContinue(): boolean {
        if (!isOurs()) leaseLost.abort(new DeliveryFailure('Not sent: this process was blocked for too long.'))
        if (!hasBegun) {
          hasBegun = true
          socket.setIdleTimeout(0)
          onBody()
        }
        return !signal.aborted
      }
      try {
        const envelope = { from, to: [recipient], size: raw.length }
        const message = streamOf(raw, mayContinue)
        const { response } = await ask<SentMessageInfo>(signal, (done) => connection.send(envelope, message, done))
        return singleLine(response)
      } catch (error) {
        await recover(error as SMTPError, signal)
        throw explain(error, signal, recipient)
      }
    },
    quit() {
      if (isBroken) return
      isBroken = true
      connection.quit()
      socket.unref()
      setTimeout(cut, quitTimeoutMs).unref()
    },
  }
}
