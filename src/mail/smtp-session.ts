import { hostname } from 'node:os'
import { Readable } from 'node:stream'
import SMTPConnection, { type SentMessageInfo, type SMTPError } from 'nodemailer/lib/smtp-connection'
import { isLoopback } from '../security/public-address.ts'
import { type ConnectOptions, connectToServer, ServerUnreachable } from './connect.ts'
import type { MailServerAddress } from './server-address.ts'
import { failureOf, singleLine } from './server-refusals.ts'
import { type DeliveryContext, DeliveryFailure, type OutgoingMail } from './transport.ts'

/** More than any server has to say. */
const mostReplyBytes = 64 * 1024
const quitMs = 2000
/** So much of a message is handed over at once. */
const pieceBytes = 16 * 1024

export interface SessionOptions extends ConnectOptions {
  /** How people are told of the server. */
  name: string
  /** Whose certificates are trusted, instead of those that everybody trusts. */
  ca?: string | undefined
  timeouts: {
    greetingMs: number
    /** Until an answer comes, except to the message itself. */
    silenceMs: number
  }
}

export interface Sending extends DeliveryContext {
  /** Called when the message itself begins to go out. From then on it is up to the caller how long to wait. */
  onBody(): void
}

/** One connection to a mail server, which takes one message after the other. */
export interface SmtpSession {
  /** The server's words. */
  send(mail: OutgoingMail, sending: Sending): Promise<string>
  /** Whether it can take another message. */
  isOpen(): boolean
  /** Whether it came to handing over the latest message: if so, the server may have taken it. */
  hasBegun(): boolean
  /** How many messages it was given. */
  count(): number
  /** Says goodbye, and closes it. */
  quit(): void
}

/** How we call ourselves: by a name that can be one on the Internet, else as who has none. */
function clientName(sender: string | undefined): string {
  const names = [sender?.split('@').at(-1) ?? '', hostname().toLowerCase()]
  return names.find((name) => /^(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{1,62}$/.test(name)) ?? '[127.0.0.1]'
}

/** Who we are, in each form in which a server could repeat it. A word of two letters is no secret, but part of others. */
function secretsOf({ login }: MailServerAddress): string[] {
  if (!login) return []
  const { user, password } = login
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const words = [base64(`\0${user}\0${password}`), base64(password), base64(user), password, user]
  return words.filter((word) => word.length > 2)
}

/** In pieces. Before each, and before the end of the last, it is asked whether it may go on. */
function streamOf(raw: Buffer, mayGoOn: () => boolean): Readable {
  const pieces = Array.from({ length: Math.ceil(raw.length / pieceBytes) }, (_, index) =>
    raw.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
  return new Readable({
    highWaterMark: 1, // so that it is not asked much earlier than the piece goes out
    read() {
      if (mayGoOn()) this.push(pieces.shift() ?? null)
    },
  })
}

/** Connects, has the connection encrypted and logs in. Throws a `DeliveryFailure`, or why the signal aborted. */
export async function openSession(
  server: MailServerAddress,
  options: SessionOptions,
  { sender, signal: opening }: { sender: string | undefined; signal: AbortSignal },
): Promise<SmtpSession> {
  const { host, port, tls, login } = server
  const { ca, timeouts, name } = options
  const secrets = secretsOf(server)
  let isLetIn = false
  let hasBegun = false
  let isBroken = false
  let count = 0

  /** Why it was ended, where we have ended it; else what the server, or its absence, says. */
  function explain(error: unknown, signal: AbortSignal, recipient = ''): unknown {
    if (signal.aborted) return signal.reason
    if (error instanceof DeliveryFailure) return error
    if (error instanceof ServerUnreachable) return new DeliveryFailure(`${name} ${error.message}.`)
    // Who it was for stands with the message. Its failure goes into the log.
    const discreet = recipient === '' ? secrets : [...secrets, recipient]
    return failureOf(error as SMTPError, { name, secrets: discreet, isOpen: isLetIn })
  }

  const socket = await connectToServer(server, options, opening).catch((error) => {
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
    maxResponseSize: mostReplyBytes,
  })
  connection.on('error', () => {}) // who waits for an answer hears of it below

  function cut(): void {
    isBroken = true
    connection.close()
    socket.destroy()
  }

  /** Settles with the answer, or when the connection breaks, the server is silent for too long or the signal aborts. */
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
    const onEnd = () => setImmediate(reject, new Error('The connection has ended.')) // after an error that says why
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    socket.once('timeout', onSilence)
    connection.once('error', reject)
    connection.once('end', onEnd)
    try {
      socket.limitSilence(timeouts.silenceMs)
      if (!signal.aborted) begin((error, answer) => (error ? reject(error) : resolve(answer as Answer)))
      return await promise
    } finally {
      socket.limitSilence(0)
      signal.removeEventListener('abort', onAbort)
      socket.off('timeout', onSilence)
      connection.off('error', reject)
      connection.off('end', onEnd)
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
      if (!connection.allowsAuth) throw new ServerUnreachable('offers no login')
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
    async send({ sender: from, recipient, raw }, { signal: outer, isOurs, onBody }) {
      count += 1
      hasBegun = false
      const notOurs = new AbortController()
      const signal = AbortSignal.any([outer, notOurs.signal])
      function mayGoOn(): boolean {
        if (!isOurs()) notOurs.abort(new DeliveryFailure('Not sent: this process was held up for too long.'))
        if (!hasBegun) {
          hasBegun = true
          socket.limitSilence(0)
          onBody()
        }
        return !signal.aborted
      }
      try {
        const envelope = { from, to: [recipient], size: raw.length }
        const message = streamOf(raw, mayGoOn)
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
      setTimeout(cut, quitMs).unref()
    },
  }
}
