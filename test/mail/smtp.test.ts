import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mailServer } from '../helpers/mail-server.ts'
import { until } from '../jobs/workshop.ts'
import {
  alwaysAt,
  assertFails,
  deliver,
  deliveryContext,
  never,
  onceAt,
  outgoingMail,
  transportTo,
} from './outgoing.ts'

describe('an accepted message', () => {
  it('arrives byte for byte at the one address, with the return address as its sender', async () => {
    const server = await mailServer()
    const sent = outgoingMail()
    assert.match(await deliver(transportTo(server), sent), /^250 /)
    assert.equal(server.taken.length, 1)
    const [taken] = server.taken
    assert.deepEqual(taken?.recipients, ['ann@people.example'])
    assert.equal(taken?.sender, 'mail@shop.example')
    assert.equal(taken?.raw.toString(), sent.raw.toString())
    assert.equal(taken?.clientName, 'shop.example')
  })

  it('is never passed to the library with an ambiguous address', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    const hostile = [
      'a@x.example>\r\nRCPT TO:<b@y.example',
      'a@x.example b@y.example',
      '<a@x.example>',
      'a@b@c.example',
    ]
    for (const recipient of [...hostile, 'ä@x.example', 'a@x.example\0', '', 'nodomain'])
      await assertFails(deliver(transport, outgoingMail({ recipient })), /not a valid e-mail address/, {
        isPermanent: true,
      })
    assert.equal(server.connections(), 0)
  })
})

describe('connections', () => {
  it('are reused, also after a refused message, up to their maximum number', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    await deliver(transport)
    onceAt(server, 'recipient', '550 5.1.1 No such user')
    await assertFails(deliver(transport), /No such user/, { isPermanent: true, refusesRecipient: true })
    onceAt(server, 'message', '451 4.3.2 Later')
    await assertFails(deliver(transport), /Later/)
    await deliver(transport)
    assert.equal(server.connections(), 1)
    let most = 0
    server.chooseFault = () => {
      most = Math.max(most, server.openConnections())
      return undefined
    }
    await Promise.all(Array.from({ length: 40 }, () => deliver(transport)))
    assert.equal(server.taken.length, 42)
    assert.equal(most, 5)
    const wide = transportTo(server, { connections: 10 })
    transport.close()
    await until(() => server.openConnections() === 0)
    await Promise.all(Array.from({ length: 40 }, () => deliver(wide)))
    assert.equal(most, 10)
  })

  it('closed by the server in the meantime do not cost an attempt', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    await deliver(transport)
    await server.stop()
    await server.start()
    await deliver(transport)
    assert.equal(server.taken.length, 2)
    onceAt(server, 'sender', '421 4.4.2 You were idle for too long')
    await deliver(transport)
    onceAt(server, 'sender', 'drop')
    await deliver(transport)
    assert.equal(server.taken.length, 4)
    assert.equal(server.connections(), 4)
  })

  it('that break when the server may have accepted the message are not retried behind the caller’s back', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    await deliver(transport)
    for (const fault of ['dropInside', 'dropAfter'] as const) {
      onceAt(server, 'message', fault)
      await assertFails(deliver(transport), /^127\.0\.0\.1:\d+ broke off the connection$/)
      await deliver(transport)
    }
    assert.equal(server.taken.length, 4)
  })

  it('carry 100 messages each, and are closed when idle, and with the transport', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    for (let count = 0; count < 101; count += 1) await deliver(transport)
    assert.equal(server.connections(), 2)
    await until(() => server.openConnections() === 1)
    transport.close()
    await until(() => server.openConnections() === 0)
    await deliver(transportTo(server, { timeouts: { idleMs: 1 } }))
    await until(() => server.openConnections() === 0)
  })

  it('in use are closed when they finish if the transport has been closed', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.chooseFault = (stage) => {
      if (stage === 'recipient') resolve()
      return undefined
    }
    const delivery = deliver(transport)
    await promise
    transport.close()
    await delivery
    assert.equal(server.taken.length, 1)
    await until(() => server.openConnections() === 0)
  })
})

describe('an aborted signal', () => {
  for (const stage of ['greeting', 'sender', 'recipient', 'message'] as const) {
    it(`cuts the connection at the ${stage} at once, and the reason is reported`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, 'hang')
      const transport = transportTo(server)
      const ending = new AbortController()
      const delivery = transport.deliver(outgoingMail(), deliveryContext(ending.signal))
      await until(() => server.faults.get('hang') === 1)
      const reason = new Error('enough')
      ending.abort(reason)
      await assert.rejects(delivery, (error) => error === reason)
      await until(() => server.openConnections() === 0)
      assert.deepEqual(server.taken, [])
      server.chooseFault = () => undefined
      await deliver(transport)
    })
  }

  it('ends the wait for a free connection, whose slot goes to the next', async () => {
    const server = await mailServer()
    alwaysAt(server, 'message', 'hang')
    const transport = transportTo(server)
    const stuck = new AbortController()
    const all = Array.from({ length: 5 }, () =>
      transport.deliver(outgoingMail(), deliveryContext(stuck.signal)).catch(() => {}),
    )
    await until(() => server.faults.get('hang') === 5)
    const waiting = new AbortController()
    const late = transport.deliver(outgoingMail(), deliveryContext(waiting.signal))
    waiting.abort(new Error('no longer'))
    await assert.rejects(late, /no longer/)
    server.chooseFault = () => undefined
    stuck.abort(new Error('enough'))
    await Promise.all(all)
    await Promise.all(Array.from({ length: 10 }, () => deliver(transport)))
    assert.equal(server.taken.length, 10)
  })

  it('before the start sends nothing', async () => {
    const server = await mailServer()
    await assert.rejects(
      transportTo(server).deliver(outgoingMail(), deliveryContext(AbortSignal.abort(new Error('too late')))),
      /too late/,
    )
    assert.equal(server.connections(), 0)
  })
})

describe('a message whose lease is lost', () => {
  it('is not handed over: the connection is cut, and nothing of it is sent', async () => {
    const server = await mailServer()
    const transport = transportTo(server)
    await deliver(transport)
    let begun = 0
    server.chooseFault = (stage) => {
      if (stage === 'message') begun += 1
      return undefined
    }
    for (const connections of [1, 2]) {
      const notOurs = { signal: never, isOurs: () => false }
      await assertFails(
        transport.deliver(outgoingMail(), notOurs),
        /^Not sent: this process was blocked for too long\.$/,
      )
      await until(() => server.openConnections() === 0)
      assert.deepEqual([begun, server.taken.length, server.connections()], [connections, 1, connections])
    }
    await deliver(transport)
    assert.equal(server.taken.length, 2)
  })

  it('is not completed: the server gets only a part of it', async () => {
    const server = await mailServer()
    const raw = Buffer.from(`Subject: long\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(10_000))
    let asked = 0
    const onceOurs = { signal: never, isOurs: () => ++asked <= 3 }
    await assertFails(transportTo(server).deliver(outgoingMail({ raw }), onceOurs), /^Not sent/)
    await until(() => server.openConnections() === 0)
    assert.deepEqual([asked, server.taken], [4, []])
    await deliver(transportTo(server), outgoingMail({ raw }))
    assert.ok(server.taken[0]?.raw.equals(raw))
  })

  it('is checked only when the server is ready for it', async () => {
    const server = await mailServer()
    const stages: string[] = []
    server.chooseFault = (stage) => {
      stages.push(stage)
      return undefined
    }
    const isOurs = () => {
      if (stages.at(-1) !== 'asked') stages.push('asked')
      return true
    }
    await transportTo(server).deliver(outgoingMail(), { signal: never, isOurs })
    assert.deepEqual(stages.filter((stage) => stage !== 'message'), ['greeting', 'sender', 'recipient', 'asked']) // biome-ignore format: short
  })
})

describe('servers of groups', () => {
  const publicly = (url: string, addresses: string[]) =>
    deliver(transportTo({ url }, { hosts: 'public', resolve: async () => addresses }))

  it('must be on the public Internet with each of their addresses', async () => {
    const notPublic = /^\S+ is not on the public Internet\.$/
    for (const address of ['127.0.0.1', '10.1.2.3', '::1', '169.254.169.254', 'fd00::1'])
      await assertFails(publicly('smtp://mail.example', ['8.8.8.8', address]), notPublic)
    for (const url of ['smtp://127.0.0.1:25', 'smtp://[::1]', 'smtp://10.0.0.1', 'smtp://0x7f.1'])
      await assertFails(publicly(url, []), notPublic)
  })

  it('must be at a mail port', async () => {
    const server = await mailServer()
    await assertFails(publicly(`smtp://mail.example:${server.port}`, ['8.8.8.8']), /has none of the ports/)
    assert.equal(server.connections(), 0)
  })
})
