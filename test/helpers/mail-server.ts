import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'

/** Where something can go wrong: at the greeting, at MAIL FROM, at RCPT TO, and when the message comes. */
export type MailStage = 'greeting' | 'sender' | 'recipient' | 'message'

/**
 * What goes wrong: it answers so, such as `451 4.3.2 Later`; it never answers; it breaks the connection; or when the
 * message comes, it breaks the connection after some of it (`dropInside`), or has taken it by then (`dropAfter`).
 */
export type MailFault = `${4 | 5}${number} ${string}` | 'hang' | 'drop' | 'dropInside' | 'dropAfter'

/** A message that the server has taken. */
export interface TakenMessage {
  sender: string
  /** All that it is to go to. */
  recipients: string[]
  /** Of its header, without the angle brackets. */
  messageId: string
  raw: Buffer
  /** Who was logged in. */
  user: string | undefined
  isEncrypted: boolean
  /** How the client called itself. */
  clientName: string
  /** Which connection it came by. */
  connection: string
}

export interface MailServer {
  port: number
  /** Its address, as `SMTP_URL` has it. */
  url: string
  /** In the order of coming. */
  taken: TakenMessage[]
  /** What goes wrong, where and for which recipient, as soon as that is known: can be replaced at any moment. */
  spoil: (stage: MailStage, recipient: string | undefined) => MailFault | undefined
  /** How often it was spoilt, and how. */
  faults: Map<MailFault, number>
  /** How many connections there were in all. */
  connections(): number
  /** How many there are. */
  openConnections(): number
  /** As if the server had died: breaks all connections, and takes no new ones. */
  stop(): Promise<void>
  /** After `stop`: there it is again, at the same port. */
  start(): Promise<void>
}

/** What the server answers in place of what it would have answered. */
class Refusal extends Error {
  readonly responseCode: number

  constructor(answer: string) {
    super(answer.slice(4))
    this.responseCode = Number(answer.slice(0, 3))
  }
}

const messageIdOf = (raw: Buffer): string => /^message-id:\s*<([^>]+)>/im.exec(raw.toString('latin1'))?.[1] ?? ''

/** Without an encryption and a login, unless it is told otherwise. */
const plain: SMTPServerOptions = {
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  hideENHANCEDSTATUSCODES: true, // those that are answered are the test's own
}

/** A mail server on this machine, until it is stopped. */
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
    const fault = server.spoil(stage, recipient)
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
    const recipients = rcptTo.map(({ address }) => address) // the session may go on to its next message
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
    created.on('error', () => {}) // broken connections, which are what this is for
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
    spoil: () => undefined,
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

/** The same for as long as the test or suite runs that asks for it. */
export async function mailServer(options?: SMTPServerOptions): Promise<MailServer> {
  const server = await startMailServer(options)
  after(server.stop)
  return server
}
