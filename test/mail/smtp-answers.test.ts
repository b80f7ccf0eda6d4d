import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type MailFault, type MailStage, mailServer } from '../helpers/mail-server.ts'
import { until } from '../jobs/workshop.ts'
import { alwaysAt, assertFails, deliver, type Expected, never, onceAt, outgoingMail, transportTo } from './outgoing.ts'

describe('a reply of the server', () => {
  const where = '127\\.0\\.0\\.1:\\d+'
  const permanent = { isPermanent: true }
  const unknownAddress = { isPermanent: true, refusesRecipient: true }
  const cases: [stage: MailStage, fault: MailFault, message: string, expected?: Expected][] = [
    ['greeting', '421 4.3.2 Shutting down', 'did not let us in: 421 4.3.2 Shutting down'],
    ['greeting', '554 5.7.1 Go away', 'did not let us in: 554 5.7.1 Go away'],
    ['greeting', 'drop', 'could not be reached'],
    ['sender', '451 4.3.0 Busy', 'did not accept the sender: 451 4.3.0 Busy'],
    ['sender', '550 5.7.1 Sender not allowed', 'did not accept the sender: 550 5.7.1 Sender not allowed', permanent],
    ['sender', '552 5.3.4 Message too big', 'did not accept the sender: 552 5.3.4 Message too big', permanent],
    ['sender', '530 5.7.0 Authentication required', 'did not accept the sender: 530 5.7.0 Authentication required'],
    ['sender', 'drop', 'broke off the connection'],
    ['recipient', '421 4.7.0 Too many', 'ended the connection: 421 4.7.0 Too many'],
    ['recipient', '450 4.2.1 Greylisted', 'did not accept the recipient: 450 4.2.1 Greylisted'],
    ['recipient', '550 5.1.1 No such user', 'did not accept the recipient: 550 5.1.1 No such user', unknownAddress],
    ['recipient', '550 no mailbox here by that name', 'did not accept the recipient: 550 no mailbox', unknownAddress],
    ['recipient', '553 5.1.3 Not an address', 'did not accept the recipient: 553 5.1.3', unknownAddress],
    ['recipient', '550 5.7.1 Refused', 'did not accept the recipient: 550 5.7.1 Refused', permanent],
    ['recipient', '550 5.2.1 Mailbox disabled', 'did not accept the recipient: 550 5.2.1', permanent],
    ['recipient', '550 5.1.8 Bad origin', 'did not accept the recipient: 550 5.1.8', permanent],
    ['recipient', '550 looks like spam', 'did not accept the recipient: 550 looks like spam', permanent],
    ['recipient', '550 relaying denied', 'did not accept the recipient: 550 relaying denied', permanent],
    ['recipient', '554 5.1.1 No such user', 'did not accept the recipient: 554 5.1.1', permanent],
    ['recipient', 'drop', 'broke off the connection'],
    ['message', '451 4.3.2 Later', 'did not accept the message: 451 4.3.2 Later'],
    ['message', '550 5.1.1 No such user', 'did not accept the message: 550 5.1.1 No such user', permanent],
    ['message', '554 5.6.0 Not like this', 'did not accept the message: 554 5.6.0 Not like this', permanent],
  ]
  for (const [stage, fault, message, expected] of cases) {
    it(`${fault} at the ${stage}: ${expected?.isPermanent ? 'permanent' : 'retried'}`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, fault)
      await assertFails(deliver(transportTo(server)), new RegExp(`^${where} ${message}`), expected)
      assert.deepEqual(server.taken, [])
    })
  }

  it('is handled the same without pipelining', async () => {
    const server = await mailServer({ hidePIPELINING: true })
    const transport = transportTo(server)
    onceAt(server, 'recipient', '550 5.1.1 No such user')
    await assertFails(deliver(transport), /did not accept the recipient: 550 5\.1\.1 No such user$/, unknownAddress)
    onceAt(server, 'sender', '451 4.3.0 Busy')
    await assertFails(deliver(transport), /did not accept the sender: 451/)
    await deliver(transport)
    assert.equal(server.connections(), 1)
  })

  it('is not awaited when the server announces a smaller size limit', async () => {
    const server = await mailServer({ size: 20 })
    await assertFails(deliver(transportTo(server)), /accepts no message of this size$/, permanent)
    assert.deepEqual(server.taken, [])
  })
})

describe('an unreachable or silent server', () => {
  it('costs one connection attempt; for a while all others fail at once', async () => {
    const server = await mailServer()
    await server.stop()
    const transport = transportTo(server)
    const refused = /could not be reached \(ECONNREFUSED\)$/
    await assertFails(deliver(transport), refused)
    await server.start()
    await assertFails(deliver(transport), refused)
    assert.equal(server.connections(), 0)
    await transport.verify(never)
    await deliver(transport)
    const impatient = transportTo(server, { timeouts: { pauseMs: 0 } })
    await server.stop()
    await assertFails(deliver(impatient), refused)
    await server.start()
    await deliver(impatient)
  })

  for (const stage of ['greeting', 'sender', 'recipient'] as const) {
    it(`times out at the ${stage}, and is then avoided for a while`, async () => {
      const server = await mailServer()
      alwaysAt(server, stage, 'hang')
      const transport = transportTo(server, { timeouts: { greetingMs: 50, silenceMs: 50, pauseMs: 60_000 } })
      await assertFails(deliver(transport), /was silent for too long$/)
      await until(() => server.openConnections() === 0)
      await assertFails(deliver(transport), /was silent for too long$/)
      assert.equal(server.connections(), 1)
    })
  }

  for (const [stage, seconds] of [
    ['sender', 90],
    ['recipient', 90],
    ['message', 300],
  ] as const) {
    it(`has ${seconds} seconds at the ${stage}; then it is avoided for a while, and all its connections are closed`, async (context) => {
      const server = await mailServer()
      const transport = transportTo(server, { timeouts: { idleMs: 3_600_000, pauseMs: 60_000 } })
      await Promise.all([deliver(transport), deliver(transport)])
      assert.equal(server.openConnections(), 2)
      alwaysAt(server, stage, 'hang')
      context.mock.timers.enable({ apis: ['setTimeout'] })
      const tooLong = new RegExp(`^127\\.0\\.0\\.1:\\d+ took longer than ${seconds} seconds\\.$`)
      let isBegun = false
      const isOurs = () => {
        isBegun = true
        return true
      }
      const failed = assertFails(transport.deliver(outgoingMail(), { signal: never, isOurs }), tooLong)
      await until(() => server.faults.get('hang') === 1 && isBegun === (stage === 'message'))
      context.mock.timers.tick(seconds * 1000 - 1)
      assert.equal(server.openConnections(), 2)
      context.mock.timers.tick(1)
      await failed
      await until(() => server.openConnections() === 0)
      context.mock.timers.reset()
      server.chooseFault = () => undefined
      await assertFails(deliver(transport), tooLong)
      assert.deepEqual([server.connections(), server.taken.length], [2, 2])
      await transport.verify(never)
      await deliver(transport)
    })
  }

  it('is not avoided for longer because of further requests', async (context) => {
    const server = await mailServer()
    const transport = transportTo(server, { timeouts: { bodyMs: 50 } })
    alwaysAt(server, 'message', 'hang')
    const tooLong = /took longer than/
    let passedMs = 0
    const now = performance.now.bind(performance)
    context.mock.method(performance, 'now', () => now() + passedMs)
    await assertFails(deliver(transport), tooLong)
    passedMs += 4000
    await assertFails(deliver(transport), tooLong)
    passedMs += 1000
    await assertFails(deliver(transport), tooLong)
    assert.equal(server.faults.get('hang'), 2)
  })

  it('may be silent for longer once it has the message', async () => {
    const silenceMs = 1500
    const server = await mailServer({
      onData: (stream, _session, done) => void stream.resume().on('end', () => setTimeout(done, silenceMs + 500)),
    })
    assert.match(await deliver(transportTo(server, { timeouts: { silenceMs } })), /^250/)
  })

  it('that disconnects or replies "later" is retried at once', async () => {
    for (const fault of ['drop', '451 4.3.2 Later'] as const) {
      const server = await mailServer()
      const transport = transportTo(server)
      onceAt(server, 'recipient', fault)
      await assertFails(deliver(transport), /broke off|Later/)
      await deliver(transport)
      assert.equal(server.taken.length, 1)
    }
  })

  it('does not use up the time of deliveries waiting for one of its connections', async (context) => {
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
    let isBusy = false
    let begun = 0
    const server = await mailServer({
      onData(stream, _session, done) {
        stream.resume().on('end', async () => {
          begun += 1
          if (isBusy) await mayAnswer
          done()
        })
      },
    })
    const transport = transportTo(server, { connections: 1, timeouts: { idleMs: 3_600_000 } })
    await deliver(transport)
    isBusy = true
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const both = Promise.all([deliver(transport), deliver(transport)])
    await until(() => begun === 2)
    context.mock.timers.tick(200_000)
    answer()
    assert.equal((await both).length, 2)
  })

  it('whose name does not resolve is retried', async () => {
    const resolve = async () => {
      throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    }
    await assertFails(
      deliver(transportTo({ url: 'smtp://gone.example' }, { resolve })),
      /^gone\.example:587 could not be reached \(ENOTFOUND\)$/,
    )
  })
})
