import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { createWorker } from '../../src/jobs/worker.ts'
import { deliverHandler } from '../../src/mail/deliver.ts'
import { parseMailServer } from '../../src/mail/server-address.ts'
import { createSmtpTransport } from '../../src/mail/smtp.ts'
import type { MailTransport } from '../../src/mail/transport.ts'
import { insertMessage, listMessages, type NewMessage } from '../../src/store/mail/messages.ts'
import { listSuppressions } from '../../src/store/mail/suppressions.ts'
import { write } from '../helpers/authoring.ts'
import { countJobs } from '../helpers/count-jobs.ts'
import { seededRandom } from '../helpers/flaky-proxy.ts'
import { harness, onBothEnginesInProve } from '../helpers/harness.ts'
import { type MailFault, type MailServer, type MailStage, mailServer } from '../helpers/mail-server.ts'

/** `npm run prove -- mail` runs 10,000. */
const messageCount = Number(process.env.MAIL_MESSAGES ?? 150)
/** Of eight attempts at each message, the first meets no server, and the next ones a failing one. */
const failingRounds = 5
const longestWaitMs = 36_000_000
const restartCount = 6
/** The rate of each fault by stage. */
const faultRates: [stage: MailStage, rate: number, fault: MailFault][] = [
  ['greeting', 0.1, '421 4.3.2 Shutting down'],
  ['greeting', 0.02, 'drop'],
  ['sender', 0.03, '451 4.3.0 Busy'],
  ['recipient', 0.03, '450 4.2.1 Greylisted'],
  ['recipient', 0.03, '421 4.7.0 Too many'],
  ['recipient', 0.003, 'hang'],
  ['message', 0.05, '451 4.3.2 Later'],
  ['message', 0.003, 'hang'],
  ['message', 0.03, 'dropInside'],
  ['message', 0.05, 'dropAfter'],
]
const timeouts = { greetingMs: 2000, silenceMs: 2000, bodyMs: 2000, pauseMs: 20 }

const message: Omit<NewMessage, 'recipient'> = {
  kind: 'contact',
  replyTo: null,
  subject: 'A question',
  content: { siteName: 'Corner Bakery', visitor: { name: 'Ada', message: 'Do you bake without rye?' } },
  sender: 'mail@shop.example',
}

/** Every fiftieth recipient does not exist, and another fiftieth is blocked. */
function recipientOf(number: number): string {
  const kind = { 0: 'gone', 25: 'blocked' }[number % 50] ?? 'visitor'
  return `${kind}-${number}@people.example`
}

const refusals: Record<string, MailFault> = {
  gone: '550 5.1.1 No such user',
  blocked: '550 5.7.1 Refused by policy',
}
const kindOf = (recipient: string): string => recipient.split('-')[0] ?? ''

/** Always refuses certain recipients, injects random faults, and restarts a few times. */
function makeUnreliable(server: MailServer): { isFailing: boolean; restarts: number; settled(): Promise<void> } {
  const random = seededRandom(6)
  let restarting = Promise.resolve()
  const restart = async () => {
    await server.stop()
    await server.start()
  }
  const state = { isFailing: true, restarts: 0, settled: () => restarting }
  server.chooseFault = (stage, recipient) => {
    const refusal = stage === 'recipient' && recipient !== undefined ? refusals[kindOf(recipient)] : undefined
    if (refusal) return refusal
    if (!state.isFailing) return undefined
    if (stage === 'message' && server.taken.length >= ((state.restarts + 1) * messageCount) / (restartCount + 2)) {
      state.restarts += 1
      restarting = restarting.then(restart)
    }
    return faultRates.find(([where, rate]) => where === stage && random() < rate)?.[2]
  }
  return state
}

onBothEnginesInProve(`${messageCount.toLocaleString('en')} e-mails at a failing mail server`, (engine) => {
  it('all arrive, or fail with the reason; twice only when the connection was lost after DATA', async (context) => {
    const startedMs = performance.now()
    const server = await mailServer()
    const { service, clock, newGroup } = await harness(engine)
    const { store, logger, mail } = service
    const group = await newGroup()
    await write(group.store, clock.now, async (writer) => {
      for (let number = 0; number < messageCount; number += 1)
        await insertMessage(writer, { ...message, recipient: recipientOf(number) })
    })

    /** How often the server accepted a message but the client did not receive the reply. */
    let lostPastData = 0
    const smtp = createSmtpTransport(parseMailServer(server.url), { hosts: 'any', timeouts })
    after(() => smtp.close())
    const transport: MailTransport = {
      ...smtp,
      async deliver(outgoingMail, deliveryContext) {
        const before = server.taken.length
        try {
          return await smtp.deliver(outgoingMail, deliveryContext)
        } catch (error) {
          const isTaken = server.taken.slice(before).some(({ messageId }) => messageId.startsWith(outgoingMail.id))
          if (isTaken) lostPastData += 1
          if (isTaken) assert.match(String(error), /broke off the connection|took longer than/)
          throw error
        }
      },
    }
    const handlers = [
      deliverHandler({
        ...mail,
        resolveTransport: async (of) => ({ ...(await mail.resolveTransport(of)), transport }),
      }),
    ]
    const worker = createWorker({ store, handlers, clock: () => clock.now, logger, workers: 2 })

    await server.stop()
    let attempts = await worker.runDue()
    assert.equal(attempts, messageCount, 'each was attempted once without a server')
    await server.start()
    const state = makeUnreliable(server)
    let rounds = 1
    for (; (await countJobs(group.store.database)).waiting > 0; rounds += 1) {
      state.isFailing = rounds < failingRounds
      clock.now += longestWaitMs
      attempts += await worker.runDue()
      await state.settled()
    }

    const { messages } = await listMessages(group.store, { limit: messageCount + 1, skip: 0 })
    assert.equal(messages.length, messageCount)
    const byState = Map.groupBy(messages, ({ state }) => state)
    const [sent = [], failed = []] = [byState.get('sent'), byState.get('failed')]
    assert.equal(sent.length + failed.length, messageCount, 'none is lost')
    for (const { recipient, problem } of failed) {
      const refusal = refusals[kindOf(recipient)]
      assert.ok(refusal && problem?.endsWith(`did not accept the recipient: ${refusal}`), `${recipient}: ${problem}`)
    }
    for (const { recipient } of sent) assert.equal(kindOf(recipient), 'visitor')
    const { totalCount } = await listSuppressions(group.store, { limit: 1, skip: 0 })
    assert.equal(totalCount, failed.filter(({ recipient }) => kindOf(recipient) === 'gone').length)

    const arrived = Map.groupBy(server.taken, ({ recipients }) => recipients.join())
    assert.equal(arrived.size, sent.length)
    for (const { recipient, messageId } of sent) {
      const copies = arrived.get(recipient)?.map((copy) => copy.messageId) ?? []
      assert.deepEqual(new Set(copies), new Set([messageId]), `${recipient} got it, always under one Message-ID`)
    }
    const duplicates = server.taken.length - sent.length
    assert.equal(duplicates, lostPastData, 'each duplicate follows a connection lost after DATA')
    assert.ok(duplicates > 0 && state.restarts > 0, 'there must have been restarts and duplicates')

    const faults = [...server.faults].map(([fault, count]) => `${fault} ${count}`).join(', ')
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    context.diagnostic(
      `${engine}: ${messageCount} messages in ${rounds} rounds and ${attempts} attempts: ${sent.length} sent, ` +
        `${failed.length} failed with the server's words; ${duplicates} came twice, ${lostPastData} connections were ` +
        `lost past DATA (the server dropped ${server.faults.get('dropAfter')}); Message-IDs that differ: 0; ` +
        `${state.restarts} restarts, ${server.connections()} connections; faults: ${faults}; ${seconds} s`,
    )
  })
})
