import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { SMTPServerOptions } from 'smtp-server'
import type { DeliveryFailure } from '../../src/mail/transport.ts'
import { makeCertificate } from '../helpers/certificate.ts'
import { type MailServer, mailServer } from '../helpers/mail-server.ts'
import { until } from '../jobs/workshop.ts'
import { alwaysAt, assertFails, deliver, deliveryContext, never, outgoingMail, transportTo } from './outgoing.ts'

const host = 'mail.example'
let certificate: { key: string; cert: string }
before(() => {
  certificate = makeCertificate(host)
})

/** Under a host name, like a server on the Internet. */
const named = (server: MailServer, rest = ''): { url: string } => ({
  url: server.url.replace('127.0.0.1', host).replace('://', `://${rest}`),
})
const namedOptions = () => ({ resolve: async () => ['127.0.0.1'], ca: certificate.cert })

const password = 'very secret & long'

describe('encryption', () => {
  const encrypted = (): SMTPServerOptions => ({ ...certificate, disabledCommands: [] })

  it('uses STARTTLS when required, and TLS from the first byte with smtps', async () => {
    for (const secure of [false, true]) {
      const server = await mailServer({ ...encrypted(), secure })
      const transport = transportTo(named(server), namedOptions())
      await deliver(transport)
      await deliver(transport)
      assert.deepEqual(
        server.taken.map(({ isEncrypted }) => isEncrypted),
        [true, true],
      )
    }
  })

  it('rejects a certificate that is untrusted, or for another name', async () => {
    for (const secure of [false, true]) {
      const server = await mailServer({ ...encrypted(), secure })
      await assertFails(
        deliver(transportTo(named(server), { ...namedOptions(), ca: makeCertificate(host).cert })),
        /^mail\.example:\d+ has a certificate that cannot be trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
      )
      const other = { url: named(server).url.replace(host, 'other.example') }
      await assertFails(
        deliver(transportTo(other, namedOptions())),
        /^other\.example:\d+ has a certificate that cannot be trusted \(ERR_TLS_CERT_ALTNAME_INVALID\)$/,
      )
      assert.deepEqual(server.taken, [])
    }
  })

  it('trusts a private CA named by NODE_EXTRA_CA_CERTS', async (t) => {
    const own = makeCertificate('localhost')
    const server = await mailServer({ ...encrypted(), ...own, secure: true })
    const folder = await mkdtemp(join(tmpdir(), 'sluice-ca-'))
    t.after(() => rm(folder, { recursive: true }))
    const ca = join(folder, 'ca.pem')
    await writeFile(ca, own.cert)
    const module = (name: string) => JSON.stringify(new URL(`../../src/mail/${name}.ts`, import.meta.url))
    const script = `import { probeServer } from ${module('smtp')}; import { parseMailServer } from ${module('server-address')}
      console.log(await probeServer(parseMailServer('smtps://localhost:${server.port}'), { hosts: 'any' }))`
    const run = async (env: Record<string, string>) =>
      (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })).stdout
    assert.equal(await run({ NODE_EXTRA_CA_CERTS: ca }), 'undefined\n')
    assert.match(await run({}), /has a certificate that cannot be trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\)/)
  })

  it('requires TLS 1.2', async () => {
    const server = await mailServer({ ...encrypted(), minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })
    await assertFails(deliver(transportTo(named(server), namedOptions())), /could not be (reached|used)/)
    assert.deepEqual(server.taken, [])
  })

  it('that is required and not offered fails before a login is sent', async () => {
    let logins = 0
    const onAuth = () => {
      logins += 1
    }
    const server = await mailServer({ authOptional: true, allowInsecureAuth: true, onAuth })
    const transport = transportTo(named(server, `ann:${encodeURIComponent(password)}@`), namedOptions())
    await assertFails(deliver(transport), /did not encrypt the connection: 5\d\d/)
    assert.equal(logins, 0)
    assert.deepEqual(server.taken, [])
  })

  it('is used when offered and optional, and never when off', async () => {
    for (const [tls, isEncrypted] of [
      ['optional', true],
      ['off', false],
    ] as const) {
      const server = await mailServer(encrypted())
      await deliver(transportTo({ url: `${named(server).url}?tls=${tls}` }, namedOptions()))
      assert.deepEqual(
        server.taken.map((taken) => taken.isEncrypted),
        [isEncrypted],
      )
    }
    const plain = await mailServer()
    await deliver(transportTo({ url: `${named(plain).url}?tls=optional` }, namedOptions()))
    assert.equal(plain.taken.length, 1)
  })

  it('to a server on this machine accepts any certificate', async () => {
    const server = await mailServer(encrypted())
    await deliver(transportTo(server))
    assert.deepEqual(
      server.taken.map(({ isEncrypted }) => isEncrypted),
      [true],
    )
  })

  it('does not change how long a server may be silent before and after it has the message', async () => {
    const silenceMs = 1000
    const checkSilence = async (secure: boolean) => {
      const server = await mailServer({
        ...encrypted(),
        secure,
        onData: (stream, _session, done) => void stream.resume().on('end', () => setTimeout(done, silenceMs + 300)),
      })
      const transport = transportTo(named(server), { ...namedOptions(), timeouts: { silenceMs } })
      assert.match(await deliver(transport), /^250/)
      alwaysAt(server, 'sender', 'hang')
      await assertFails(deliver(transport), /was silent for too long$/)
      await until(() => server.openConnections() === 0)
    }
    await Promise.all([checkSilence(false), checkSilence(true)])
  })

  it('does not prevent cutting the connection when the signal aborts', async () => {
    const server = await mailServer({ ...certificate, disabledCommands: [] })
    alwaysAt(server, 'message', 'hang')
    const transport = transportTo(named(server), namedOptions())
    const ending = new AbortController()
    const delivery = transport.deliver(outgoingMail(), deliveryContext(ending.signal))
    await until(() => server.faults.get('hang') === 1)
    ending.abort(new Error('enough'))
    await assert.rejects(delivery, /enough/)
    await until(() => server.openConnections() === 0)
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
        else done(new Error(`5.7.8 Bad password ${given}`))
      },
      ...more,
    })

  it('is sent once per connection', async () => {
    const server = await wanting()
    const transport = transportTo(named(server, `ann%40x:${encodeURIComponent(password)}@`), namedOptions())
    await transport.verify(never)
    await deliver(transport)
    await deliver(transport)
    assert.deepEqual(
      server.taken.map(({ user }) => user),
      ['ann@x', 'ann@x'],
    )
    assert.equal(server.connections(), 2)
  })

  it('that is refused is retried later, and never disclosed', async () => {
    const server = await wanting()
    const wrong = 'wrong-but-secret'
    const transport = transportTo(named(server, `ann:${wrong}@`), namedOptions())
    for (const work of [() => deliver(transport), () => transport.verify(never)]) {
      await assert.rejects(work(), (error: DeliveryFailure) => {
        assert.match(error.message, /^mail\.example:\d+ did not accept our login: 535 5\.7\.8$/)
        assert.equal(error.isPermanent, false)
        assert.ok(!JSON.stringify([error, error.stack, error.cause]).includes(wrong))
        return true
      })
    }
  })

  it('is not sent to a server that offers none', async () => {
    const server = await mailServer({ ...certificate, disabledCommands: ['AUTH'] })
    const transport = transportTo(named(server, 'ann:secret@'), namedOptions())
    await assertFails(deliver(transport), /^mail\.example:\d+ offers no login\.$/)
  })

  it('that is missing is not an error of the message', async () => {
    const server = await wanting()
    await assertFails(deliver(transportTo(named(server), namedOptions())), /did not accept the sender: 530/)
  })
})
