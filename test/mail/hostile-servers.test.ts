import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { createSmtpTransport } from '../../src/mail/smtp.ts'
import { DeliveryFailure } from '../../src/mail/transport.ts'
import { makeCertificate } from '../helpers/certificate.ts'
import { deliveryContext } from './outgoing.ts'

/** A server that only pretends to speak SMTP, with its greeting and its reply to each line. */
async function pretend(
  greet: (socket: Socket) => void,
  answer: (line: string, socket: Socket) => void = () => {},
  certificate?: { key: string; cert: string },
) {
  const sockets = new Set<Socket>()
  const heard: string[] = []
  const server = certificate ? createTlsServer(certificate) : createServer()
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n').filter(Boolean)) {
        heard.push(line)
        answer(line, socket)
      }
    })
    greet(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, heard, open: () => sockets.size }
}

const usualAnswers: Record<string, string> = {
  EHLO: '250 here',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  '.': '250 taken',
  RSET: '250 ok',
  QUIT: '221 bye',
}

/** Replies like a correct server, except to the given commands. */
const answering =
  (instead: Record<string, string | ((socket: Socket) => void)>) =>
  (line: string, socket: Socket): void => {
    const word = line.split(' ')[0] ?? ''
    const answer = instead[word] ?? usualAnswers[word]
    if (typeof answer === 'function') answer(socket)
    else if (answer !== undefined) socket.write(`${answer}\r\n`)
  }

const greeting = (socket: Socket) => void socket.write('220 here\r\n')
const outgoingMail = {
  id: '0'.repeat(24),
  groupId: '0'.repeat(24),
  sender: 'mail@shop.example',
  recipient: 'ann@people.example',
  raw: Buffer.from('Subject: x\r\n\r\nHello.\r\n'),
}

async function failureAt(port: number, timeouts = {}, ca?: string): Promise<DeliveryFailure> {
  const transport = createSmtpTransport(
    { host: 'localhost', port, tls: ca === undefined ? 'off' : 'implicit', login: undefined },
    { hosts: 'any', timeouts, resolve: async () => ['127.0.0.1'], ...(ca !== undefined && { ca }) },
  )
  after(() => transport.close())
  try {
    assert.fail(`unexpectedly delivered: ${await transport.deliver(outgoingMail, deliveryContext())}`)
  } catch (error) {
    assert.ok(error instanceof DeliveryFailure, String(error))
    return error
  }
}

/** Writes the same text repeatedly until the connection closes. */
function pour(socket: Socket, text: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(text));
  }
  socket.on('drain', more)
  more()
}

describe('a hostile server', () => {
  it('that never ends its greeting is disconnected', async () => {
    const lines = await pretend((socket) => pour(socket, `220-${'hello '.repeat(100)}\r\n`))
    assert.match((await failureAt(lines.port)).message, /could not be reached/)
    const oneLine = await pretend((socket) => pour(socket, '2'.repeat(10_000)))
    assert.match((await failureAt(oneLine.port)).message, /could not be reached/)
  })

  it('that replies with a megabyte is disconnected, or its reply truncated', async () => {
    const huge = 'x'.repeat(1024 * 1024)
    for (const word of ['EHLO', 'MAIL', 'RCPT', 'DATA', '.']) {
      const { port } = await pretend(greeting, answering({ [word]: `451 ${huge}` }))
      const { message, isPermanent } = await failureAt(port)
      assert.ok(message.length < 400, `${message.length} characters`)
      assert.equal(isPermanent, false)
    }
  })

  it('whose reply contains control characters is quoted without them', async () => {
    const colourful = '550 5.1.1 \u001b[31mred\u0007 \u202eright\u0000 to\tleft\u009b'
    const { port } = await pretend(greeting, answering({ RCPT: colourful }))
    const { message } = await failureAt(port)
    assert.match(message, /did not accept the recipient: 550 5\.1\.1 \[31mred right to left$/)
  })

  it('has its multi-line reply quoted in one line, without the repeated codes', async () => {
    const { port } = await pretend(
      greeting,
      answering({ RCPT: '550-5.1.1 There is no one\r\n550-5.1.1 of that name\r\n550 5.1.1 here' }),
    )
    const { message } = await failureAt(port)
    assert.match(message, /: 550-5\.1\.1 There is no one of that name here$/)
  })

  it('that trickles its reply is disconnected at the time limit of a delivery', async () => {
    const drip = (socket: Socket) => {
      const timer = setInterval(() => socket.write('2'), 10)
      socket.on('close', () => clearInterval(timer))
    }
    for (const certificate of [undefined, makeCertificate('localhost')])
      for (const word of ['EHLO', 'MAIL', '.']) {
        const { port } = await pretend(greeting, answering({ [word]: drip }), certificate)
        const timeouts = { beforeBodyMs: 300, bodyMs: 300, silenceMs: 10_000 }
        assert.match((await failureAt(port, timeouts, certificate?.cert)).message, /took longer than 0\.3 seconds/)
      }
  })

  it('that trickles its greeting is disconnected at the time limit for that', async () => {
    const { port } = await pretend((socket) => {
      const timer = setInterval(() => socket.write('2'), 10)
      socket.on('close', () => clearInterval(timer))
    })
    assert.match((await failureAt(port, { greetingMs: 100 })).message, /was silent for too long/)
  })

  it('that replies with nonsense, or speaks another protocol, counts as failed', async () => {
    const other = await pretend((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    assert.match((await failureAt(other.port)).message, /did not let us in: HTTP/)
    const nonsense = await pretend(greeting, answering({ '.': 'thank you' }))
    const { message, isPermanent } = await failureAt(nonsense.port)
    assert.match(message, /did not accept the message: thank you$/)
    assert.equal(isPermanent, false)
  })

  it('that accepts the message after refusing the recipient has not accepted it', async () => {
    const { port, heard } = await pretend(
      greeting,
      answering({ EHLO: '250-here\r\n250 PIPELINING', RCPT: '550 5.1.1 unknown' }),
    )
    const { isPermanent, refusesRecipient } = await failureAt(port)
    assert.deepEqual([isPermanent, refusesRecipient], [true, true])
    assert.ok(!heard.some((line) => line.includes('Hello')), heard.join('\n'))
  })
})
