import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { SMTPServerOptions } from 'smtp-server'
import { DeliveryFailure, type Parcel } from '../../src/mail/courier.ts'
import { parseMailServer } from '../../src/mail/server-address.ts'
import { createSmtpCourier, type SmtpCourier, type SmtpOptions } from '../../src/mail/smtp.ts'
import { makeCertificate } from '../helpers/certificate.ts'
import { type MailFault, type MailServer, type MailStage, mailServer } from '../helpers/mail-server.ts'
import { until } from '../jobs/workshop.ts'

const host = 'mail.example'
const password = 'very secret & long'
let certificate: { key: string; cert: string }
before(() => {
  certificate = makeCertificate(host)
})

let number = 0
function parcel(more: Partial<Parcel> = {}): Parcel {
  number += 1
  const raw = Buffer.from(`Message-ID: <${number}@shop.example>\r\nSubject: ${number}\r\n\r\nHello.\r\n.\r\nBye.\r\n`)
  const place = { id: `${number}`.padStart(24, '0'), groupId: '0'.repeat(24) }
  return { ...place, sender: 'mail@shop.example', recipient: 'ann@people.example', raw, ...more }
}

function courierTo({ url }: Pick<MailServer, 'url'>, options: Partial<SmtpOptions> = {}): SmtpCourier {
  const courier = createSmtpCourier(parseMailServer(url), { hosts: 'any', ...options })
  after(() => courier.close())
  return courier
}

/** Under a name of its own, as if it were out on the Internet. */
const named = (server: MailServer, rest = ''): { url: string } => ({
  url: server.url.replace('127.0.0.1', host).replace('://', `://${rest}`),
})
const namedOptions = () => ({ resolve: async () => ['127.0.0.1'], ca: certificate.cert })

const never = new AbortController().signal
const deliver = (courier: SmtpCourier, each = parcel()) => courier.deliver(each, never)

interface Expected {
  isPermanent?: boolean
  refusesRecipient?: boolean
}

/** That it fails so, and that trying again is of use unless it is said to be of none. */
async function assertFails(work: Promise<unknown>, message: RegExp, expected: Expected = {}): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof DeliveryFailure, String(error))
    assert.match(error.message, message)
    const { isPermanent, refusesRecipient } = error
    assert.deepEqual({ isPermanent, refusesRecipient }, { isPermanent: false, refusesRecipient: false, ...expected })
    return true
  })
}

const onceAt = (server: MailServer, where: MailStage, fault: MailFault): void => {
  server.spoil = (stage) => {
    if (stage !== where) return undefined
    server.spoil = () => undefined
    return fault
  }
}
const alwaysAt = (server: MailServer, where: MailStage, fault: MailFault): void => {
  server.spoil = (stage) => (stage === where ? fault : undefined)
}

describe('a message that is taken', () => {
  it('arrives byte for byte, at the one address, with the sender to whom it comes back', async () => {
    const server = await mailServer()
    const sent = parcel()
    assert.match(await deliver(courierTo(server), sent), /^250 /)
    assert.equal(server.taken.length, 1)
    const [taken] = server.taken
    assert.deepEqual(taken?.recipients, ['ann@people.example'])
    assert.equal(taken?.sender, 'mail@shop.example')
    assert.equal(taken?.raw.toString(), sent.raw.toString())
    assert.equal(taken?.clientName, 'shop.example')
  })

  it('is never given to the library with an address that could be more than one', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    const hostile = [
      'a@x.example>\r\nRCPT TO:<b@y.example',
      'a@x.example b@y.example',
      '<a@x.example>',
      'a@b@c.example',
    ]
    for (const recipient of [...hostile, 'ä@x.example', 'a@x.example\0', '', 'nobody'])
      await assertFails(deliver(courier, parcel({ recipient })), /cannot be one/, { isPermanent: true })
    assert.equal(server.connections(), 0)
  })
})

describe('connections', () => {
  it('are used again, also after a message was refused, and there are never more than five', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    await deliver(courier)
    onceAt(server, 'recipient', '550 5.1.1 No such user')
    await assertFails(deliver(courier), /No such user/, { isPermanent: true, refusesRecipient: true })
    onceAt(server, 'message', '451 4.3.2 Later')
    await assertFails(deliver(courier), /Later/)
    await deliver(courier)
    assert.equal(server.connections(), 1)
    let most = 0
    server.spoil = () => {
      most = Math.max(most, server.openConnections())
      return undefined
    }
    await Promise.all(Array.from({ length: 40 }, () => deliver(courier)))
    assert.equal(server.taken.length, 42)
    assert.equal(most, 5)
  })

  it('that the server has closed meanwhile do not cost an attempt', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    await deliver(courier)
    await server.stop()
    await server.start()
    await deliver(courier)
    assert.equal(server.taken.length, 2)
    onceAt(server, 'sender', '421 4.4.2 You were idle for too long')
    await deliver(courier)
    onceAt(server, 'sender', 'drop')
    await deliver(courier)
    assert.equal(server.taken.length, 4)
    assert.equal(server.connections(), 4)
  })

  it('that break when the server may have taken the message are not tried again behind the caller', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    await deliver(courier)
    for (const fault of ['dropInside', 'dropAfter'] as const) {
      onceAt(server, 'message', fault)
      await assertFails(deliver(courier), /^127\.0\.0\.1:\d+ broke off the connection$/)
      await deliver(courier)
    }
    assert.equal(server.taken.length, 4)
  })

  it('take 100 messages each, and are closed when nobody uses them, and when the courier is', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    for (let count = 0; count < 101; count += 1) await deliver(courier)
    assert.equal(server.connections(), 2)
    await until(() => server.openConnections() === 1)
    courier.close()
    await until(() => server.openConnections() === 0)
    await deliver(courierTo(server, { timeouts: { idleMs: 1 } }))
    await until(() => server.openConnections() === 0)
  })

  it('in use are closed when they are done, where the courier was closed before', async () => {
    const server = await mailServer()
    const courier = courierTo(server)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.spoil = (stage) => {
      if (stage === 'recipient') resolve()
      return undefined
    }
    const delivery = deliver(courier)
    await promise
    courier.close()
    await delivery
    assert.equal(server.taken.length, 1)
    await until(() => server.openConnections() === 0)
  })
})

describe('when the signal aborts', () => {
  for (const stage of ['greeting', 'sender', 'recipient', 'message'] as const) {
    it(`at the ${stage}, the connection is cut at once, and the reason is told`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, 'hang')
      const courier = courierTo(server)
      const ending = new AbortController()
      const delivery = courier.deliver(parcel(), ending.signal)
      await until(() => server.faults.get('hang') === 1)
      const reason = new Error('enough')
      ending.abort(reason)
      await assert.rejects(delivery, (error) => error === reason)
      await until(() => server.openConnections() === 0)
      assert.deepEqual(server.taken, [])
      server.spoil = () => undefined
      await deliver(courier)
    })
  }

  it('cuts an encrypted connection as well', async () => {
    const server = await mailServer({ ...certificate, disabledCommands: [] })
    alwaysAt(server, 'message', 'hang')
    const courier = courierTo(named(server), namedOptions())
    const ending = new AbortController()
    const delivery = courier.deliver(parcel(), ending.signal)
    await until(() => server.faults.get('hang') === 1)
    ending.abort(new Error('enough'))
    await assert.rejects(delivery, /enough/)
    await until(() => server.openConnections() === 0)
  })

  it('ends the wait for a free connection, and leaves the place to the next', async () => {
    const server = await mailServer()
    alwaysAt(server, 'message', 'hang')
    const courier = courierTo(server)
    const stuck = new AbortController()
    const all = Array.from({ length: 5 }, () => courier.deliver(parcel(), stuck.signal).catch(() => {}))
    await until(() => server.faults.get('hang') === 5)
    const waiting = new AbortController()
    const late = courier.deliver(parcel(), waiting.signal)
    waiting.abort(new Error('no longer'))
    await assert.rejects(late, /no longer/)
    server.spoil = () => undefined
    stuck.abort(new Error('enough'))
    await Promise.all(all)
    await Promise.all(Array.from({ length: 10 }, () => deliver(courier)))
    assert.equal(server.taken.length, 10)
  })

  it('before it began, nothing is sent', async () => {
    const server = await mailServer()
    await assert.rejects(courierTo(server).deliver(parcel(), AbortSignal.abort(new Error('too late'))), /too late/)
    assert.equal(server.connections(), 0)
  })
})

describe('what the server answers', () => {
  const where = '127\\.0\\.0\\.1:\\d+'
  const permanent = { isPermanent: true }
  const unknownAddress = { isPermanent: true, refusesRecipient: true }
  const cases: [stage: MailStage, fault: MailFault, message: string, expected?: Expected][] = [
    ['greeting', '421 4.3.2 Shutting down', 'did not let us in: 421 4.3.2 Shutting down'],
    ['greeting', '554 5.7.1 Go away', 'did not let us in: 554 5.7.1 Go away'],
    ['greeting', 'drop', 'could not be reached'],
    ['sender', '451 4.3.0 Busy', 'did not take the sender: 451 4.3.0 Busy'],
    ['sender', '550 5.7.1 Sender not allowed', 'did not take the sender: 550 5.7.1 Sender not allowed', permanent],
    ['sender', '552 5.3.4 Message too big', 'did not take the sender: 552 5.3.4 Message too big', permanent],
    ['sender', '530 5.7.0 Authentication required', 'did not take the sender: 530 5.7.0 Authentication required'],
    ['sender', 'drop', 'broke off the connection'],
    ['recipient', '421 4.7.0 Too many', 'ended the connection: 421 4.7.0 Too many'],
    ['recipient', '450 4.2.1 Greylisted', 'did not take the recipient: 450 4.2.1 Greylisted'],
    ['recipient', '550 5.1.1 No such user', 'did not take the recipient: 550 5.1.1 No such user', unknownAddress],
    ['recipient', '550 no mailbox here by that name', 'did not take the recipient: 550 no mailbox', unknownAddress],
    ['recipient', '553 5.1.3 Not an address', 'did not take the recipient: 553 5.1.3', unknownAddress],
    ['recipient', '550 5.7.1 Refused', 'did not take the recipient: 550 5.7.1 Refused', permanent],
    ['recipient', '550 5.2.1 Mailbox disabled', 'did not take the recipient: 550 5.2.1', permanent],
    ['recipient', '550 5.1.8 Bad origin', 'did not take the recipient: 550 5.1.8', permanent],
    ['recipient', '550 looks like spam', 'did not take the recipient: 550 looks like spam', permanent],
    ['recipient', '550 relaying denied', 'did not take the recipient: 550 relaying denied', permanent],
    ['recipient', '554 5.1.1 No such user', 'did not take the recipient: 554 5.1.1', permanent],
    ['recipient', 'drop', 'broke off the connection'],
    ['message', '451 4.3.2 Later', 'did not take the message: 451 4.3.2 Later'],
    ['message', '550 5.1.1 No such user', 'did not take the message: 550 5.1.1 No such user', permanent],
    ['message', '554 5.6.0 Not like this', 'did not take the message: 554 5.6.0 Not like this', permanent],
  ]
  for (const [stage, fault, message, expected] of cases) {
    it(`${fault} at the ${stage}: ${expected?.isPermanent ? 'final' : 'tried again'}`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, fault)
      await assertFails(deliver(courierTo(server)), new RegExp(`^${where} ${message}`), expected)
      assert.deepEqual(server.taken, [])
    })
  }

  it('is the same where commands are sent one at a time', async () => {
    const server = await mailServer({ hidePIPELINING: true })
    const courier = courierTo(server)
    onceAt(server, 'recipient', '550 5.1.1 No such user')
    await assertFails(deliver(courier), /did not take the recipient: 550 5\.1\.1 No such user$/, unknownAddress)
    onceAt(server, 'sender', '451 4.3.0 Busy')
    await assertFails(deliver(courier), /did not take the sender: 451/)
    await deliver(courier)
    assert.equal(server.connections(), 1)
  })

  it('is not asked for where it says that it takes no message so large', async () => {
    const server = await mailServer({ size: 20 })
    await assertFails(deliver(courierTo(server)), /takes no message as large as this one$/, permanent)
    assert.deepEqual(server.taken, [])
  })
})

describe('a server that is not there, or does not speak', () => {
  it('costs one attempt to connect; for a while after that everybody is told the same at once', async () => {
    const server = await mailServer()
    await server.stop()
    const courier = courierTo(server)
    const refused = /could not be reached \(ECONNREFUSED\)$/
    await assertFails(deliver(courier), refused)
    await server.start()
    await assertFails(deliver(courier), refused)
    assert.equal(server.connections(), 0)
    await courier.verify(never)
    await deliver(courier)
    const impatient = courierTo(server, { timeouts: { pauseMs: 0 } })
    await server.stop()
    await assertFails(deliver(impatient), refused)
    await server.start()
    await deliver(impatient)
  })

  for (const stage of ['greeting', 'sender', 'recipient', 'message'] as const) {
    it(`is not waited for without end at the ${stage}`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, 'hang')
      const timeouts = { greetingMs: 50, silenceMs: 50 }
      await assertFails(deliver(courierTo(server, { timeouts })), /was silent for too long$/)
      await until(() => server.openConnections() === 0)
    })
  }

  it('is given up when a delivery takes too long as a whole', async () => {
    const server = await mailServer()
    alwaysAt(server, 'message', 'hang')
    const courier = courierTo(server, { timeouts: { deliveryMs: 50 } })
    await assertFails(deliver(courier), /^127\.0\.0\.1:\d+ took longer than 0\.05 seconds\.$/)
    await until(() => server.openConnections() === 0)
  })

  it('whose name nobody knows is tried again', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    }
    await assertFails(
      deliver(courierTo({ url: 'smtp://gone.example' }, { resolve })),
      /^gone\.example:587 could not be reached \(ENOTFOUND\)$/,
    )
  })
})

describe('encryption', () => {
  const encrypted = (): SMTPServerOptions => ({ ...certificate, disabledCommands: [] })

  it('is by STARTTLS where it is required, and from the first byte with smtps', async () => {
    for (const secure of [false, true]) {
      const server = await mailServer({ ...encrypted(), secure })
      const courier = courierTo(named(server), namedOptions())
      await deliver(courier)
      await deliver(courier)
      assert.deepEqual(
        server.taken.map(({ isEncrypted }) => isEncrypted),
        [true, true],
      )
    }
  })

  it('is refused with a certificate that nobody vouches for, or of another name', async () => {
    for (const secure of [false, true]) {
      const server = await mailServer({ ...encrypted(), secure })
      await assertFails(
        deliver(courierTo(named(server), { ...namedOptions(), ca: makeCertificate(host).cert })),
        /^mail\.example:\d+ shows a certificate that cannot be trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
      )
      const other = { url: named(server).url.replace(host, 'other.example') }
      await assertFails(
        deliver(courierTo(other, namedOptions())),
        /^other\.example:\d+ shows a certificate that cannot be trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
      )
      assert.deepEqual(server.taken, [])
    }
  })

  it('below TLS 1.2 is none', async () => {
    const server = await mailServer({ ...encrypted(), minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })
    await assertFails(deliver(courierTo(named(server), namedOptions())), /could not be (reached|used)/)
    assert.deepEqual(server.taken, [])
  })

  it('that is required and not there fails, before a login is told to anybody', async () => {
    let logins = 0
    const onAuth = () => {
      logins += 1
    }
    const server = await mailServer({ authOptional: true, allowInsecureAuth: true, onAuth })
    const courier = courierTo(named(server, `ann:${encodeURIComponent(password)}@`), namedOptions())
    await assertFails(deliver(courier), /did not encrypt the connection: 5\d\d/)
    assert.equal(logins, 0)
    assert.deepEqual(server.taken, [])
  })

  it('is used where it is offered and optional, and never where it is off', async () => {
    for (const [tls, isEncrypted] of [
      ['optional', true],
      ['off', false],
    ] as const) {
      const server = await mailServer(encrypted())
      await deliver(courierTo({ url: `${named(server).url}?tls=${tls}` }, namedOptions()))
      assert.deepEqual(
        server.taken.map((taken) => taken.isEncrypted),
        [isEncrypted],
      )
    }
    const plain = await mailServer()
    await deliver(courierTo({ url: `${named(plain).url}?tls=optional` }, namedOptions()))
    assert.equal(plain.taken.length, 1)
  })

  it('to a server on this machine takes any certificate, as it would do without', async () => {
    const server = await mailServer(encrypted())
    await deliver(courierTo(server))
    assert.deepEqual(
      server.taken.map(({ isEncrypted }) => isEncrypted),
      [true],
    )
  })
})

describe('a login', () => {
  const wanting = (more: SMTPServerOptions = {}): Promise<MailServer> =>
    mailServer({
      ...certificate,
      disabledCommands: [],
      authOptional: false,
      onAuth({ username, password: given }, _session, done) {
        if (given === password) done(null, { user: username })
        else done(new Error(`535 5.7.8 Bad password ${given}`))
      },
      ...more,
    })

  it('is proven once for each connection', async () => {
    const server = await wanting()
    const courier = courierTo(named(server, `ann%40x:${encodeURIComponent(password)}@`), namedOptions())
    await courier.verify(never)
    await deliver(courier)
    await deliver(courier)
    assert.deepEqual(
      server.taken.map(({ user }) => user),
      ['ann@x', 'ann@x'],
    )
    assert.equal(server.connections(), 2)
  })

  it('that is refused is tried again later, and never repeated to anybody', async () => {
    const server = await wanting()
    const wrong = 'wrong-but-secret'
    const courier = courierTo(named(server, `ann:${wrong}@`), namedOptions())
    for (const work of [() => deliver(courier), () => courier.verify(never)]) {
      await assert.rejects(work(), (error: DeliveryFailure) => {
        assert.match(error.message, /^mail\.example:\d+ did not accept our login: 535 .*Bad password …$/)
        assert.equal(error.isPermanent, false)
        assert.ok(!JSON.stringify([error, error.stack, error.cause]).includes(wrong))
        return true
      })
    }
  })

  it('is not given to a server that offers none', async () => {
    const server = await mailServer({ ...certificate, disabledCommands: ['AUTH'] })
    const courier = courierTo(named(server, 'ann:secret@'), namedOptions())
    await assertFails(deliver(courier), /^mail\.example:\d+ offers no login\.$/)
  })

  it('that is missing is no fault of the message', async () => {
    const server = await wanting()
    await assertFails(deliver(courierTo(named(server), namedOptions())), /did not take the sender: 530/)
  })
})

describe('servers of groups', () => {
  const publicly = (url: string, addresses: string[]) =>
    deliver(courierTo({ url }, { hosts: 'public', resolve: async () => addresses }))

  it('must be on the public Internet by each of their addresses', async () => {
    const notPublic = /^\S+ is not on the public Internet\.$/
    for (const address of ['127.0.0.1', '10.1.2.3', '::1', '169.254.169.254', 'fd00::1'])
      await assertFails(publicly('smtp://mail.example', ['8.8.8.8', address]), notPublic)
    for (const url of ['smtp://127.0.0.1:25', 'smtp://[::1]', 'smtp://10.0.0.1', 'smtp://0x7f.1'])
      await assertFails(publicly(url, []), notPublic)
  })

  it('must be at a port for mail', async () => {
    const server = await mailServer()
    await assertFails(publicly(`smtp://mail.example:${server.port}`, ['8.8.8.8']), /has none of the ports/)
    assert.equal(server.connections(), 0)
  })
})
