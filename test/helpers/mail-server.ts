import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'

/** The stages at which a fault can occur: greeting, MAIL FROM, RCPT TO, and the message. */
export type MailStage = 'greeting' | 'sender' | 'recipient' | 'message'

/**
 * A fault: a reply such as `451 4.3.2 Later`; no answer; a broken connection; or, for the message, a connection broken
 * within it (`dropInside`) or after accepting it (`dropAfter`).
 */
export type MailFault = `${4 | 5}${number} ${string}` | 'hang' | 'drop' | 'dropInside' | 'dropAfter'

/** An accepted message. */
export interface TakenMessage {
  sender: string
  /** All recipients. */
  recipients: string[]
  /** From its header, without the angle brackets. */
  messageId: string
  raw: Buffer
  /** The user who was logged in. */
  user: string | undefined
  isEncrypted: boolean
  /** The client's name in EHLO. */
  clientName: string
  /** The number of its connection. */
  connection: string
}

export interface MailServer {
  port: number
  /** Its URL, as for `SMTP_URL`. */
  url: string
  /** In order of arrival. */
  taken: TakenMessage[]
  /** Chooses the fault by stage and, once known, recipient. May be replaced at any time. */
  chooseFault: (stage: MailStage, recipient: string | undefined) => MailFault | undefined
  /** The number of faults by kind. */
  faults: Map<MailFault, number>
  /** Connections in total. */
  connections(): number
  /** Open connections. */
  openConnections(): number
  /** Like a crash: breaks all connections, and accepts no new ones. */
  stop(): Promise<void>
  /** Starts it again on the same port after `stop`. */
  start(): Promise<void>
}

/** The reply of a fault instead of the regular one. */
class Refusal extends Error {
  readonly responseCode: number

  constructor(answer: string) {
    super(answer.slice(4))
    this.responseCode = Number(answer.slice(0, 3))
  }
}

const messageIdOf = (raw: Buffer): string => /^message-id:\s*<([^>]+)>/im.exec(raw.toString('latin1'))?.[1] ?? ''

/** By default without encryption and login. */
const plain: SMTPServerOptions = {
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  hideENHANCEDSTATUSCODES: true, // the tests choose the codes
}

/** A local mail server, to be stopped by the caller. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const taken: TakenMessage[] = []
  const faults: MailServer['faults'] = new Map()
  let connectionCount = 0
  let listening: SMTPServer | undefined

  const openOnes = () => [...(listening?.connections ?? [])]
  const drop = (session: SMTPServerSession) =>
    openOnes()
      .find(({ id }) => id === session.id)
      ?._socket?.destroy()

  function faultAt(stage: MailStage, recipient?: string): MailFault | undefined {
    const fault = server.chooseFault(stage, recipient)
    if (fault !== undefined) faults.set(fault, (faults.get(fault) ?? 0) + 1)
    return fault
  }

  function commit(fault: MailFault | undefined, session: SMTPServerSession, done: (error?: Error) => void): void {
    if (fault === undefined) done()
    else if (/^\d/.test(fault)) done(new Refusal(fault))
    else if (fault !== 'hang') drop(session)
  }

  async function takeMessage(
    stream: NodeJS.ReadableStream,
    session: SMTPServerSession,
    done: (error?: Error) => void,
  ): Promise<void> {
    const { mailFrom, rcptTo } = session.envelope
    const recipients = rcptTo.map(({ address }) => address) // the session may continue with its next message
    const fault = faultAt('message', recipients[0])
    if (fault === 'dropInside') {
      await once(stream, 'readable')
      return void drop(session)
    }
    const raw = await buffer(stream)
    if (fault === undefined || fault === 'dropAfter') {
      taken.push({
        sender: mailFrom ? mailFrom.address : '',
        recipients,
        messageId: messageIdOf(raw),
        raw,
        user: typeof session.user === 'string' ? session.user : undefined,
        isEncrypted: session.secure,
        clientName: session.hostNameAppearsAs || '',
        connection: session.id,
      })
    }
    commit(fault, session, done)
  }

  async function listen(port: number): Promise<number> {
    const created = new SMTPServer({
      ...plain,
      onConnect: (session, done) => commit(faultAt('greeting'), session, done),
      onMailFrom: (_sender, session, done) => commit(faultAt('sender'), session, done),
      onRcptTo: ({ address }, session, done) => commit(faultAt('recipient', address), session, done),
      onData: (stream, session, done) => void takeMessage(stream, session, done).catch(done),
      ...options,
    })
    created.on('error', () => {}) // broken connections are expected
    created.server.on('connection', () => {
      connectionCount += 1
    })
    const inner = created.listen(port, '127.0.0.1')
    await once(inner, 'listening')
    listening = created
    return (inner.address() as AddressInfo).port
  }

  async function stop(): Promise<void> {
    const stopped = listening
    if (!stopped) return
    const closed = new Promise<void>((resolve) => stopped.server.close(() => resolve()))
    for (const { _socket: socket } of openOnes()) socket?.destroy()
    listening = undefined
    await closed
  }

  const server: MailServer = {
    port: 0,
    url: '',
    taken,
    chooseFault: () => undefined,
    faults,
    connections: () => connectionCount,
    openConnections: () => openOnes().length,
    stop,
    async start() {
      await listen(server.port)
    },
  }
  server.port = await listen(0)
  server.url = `smtp${options.secure ? 's' : ''}://127.0.0.1:${server.port}`
  return server
}

/** The same, stopped when the test or suite ends. */
export async function mailServer(options?: SMTPServerOptions): Promise<MailServer> {
  const server = await startMailServer(options)
  after(server.stop)
  return server
}
