import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import type { JobHandler } from '../../src/jobs/handler.ts'
import { runJob, Stopping } from '../../src/jobs/run-job.ts'
import { createWorker } from '../../src/jobs/worker.ts'
import { deliverHandler } from '../../src/mail/deliver.ts'
import type { Mail } from '../../src/mail/types.ts'
import { createService } from '../../src/service.ts'
import { claimJob } from '../../src/store/jobs/claim-jobs.ts'
import {
  mailServerField,
  mailServerSubject,
  putMailServer,
  removeMailServer,
} from '../../src/store/mail/mail-servers.ts'
import { deliverKind, endMessage, type Message, restartMessage } from '../../src/store/mail/messages.ts'
import { listSuppressions, removeSuppression } from '../../src/store/mail/suppressions.ts'
import { setFrozen, write } from '../helpers/authoring.ts'
import { countJobs } from '../helpers/count-jobs.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { mailServer } from '../helpers/mail-server.ts'
import { contactBody, contactPath, messagesOf, openOutbox } from '../helpers/outbox.ts'
import { until } from '../jobs/workshop.ts'
import { alwaysAt } from './outgoing.ts'

/** Seconds before each attempt: 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h. */
const waits = [0, 5, 300, 1800, 7200, 18_000, 36_000, 36_000]

async function openPostOffice(engine: TestEngine) {
  const server = await mailServer()
  const env = { SMTP_URL: server.url, MAIL_FROM: 'mail@shop.example', MAIL_GROUP_HOSTS: 'any' }
  const outbox = await openOutbox(engine, { env })
  const { group, post, service, clock } = outbox
  const accept = async (to = contactBody.to): Promise<Message> => {
    const { statusCode, body } = await post(contactPath, { ...contactBody, to })
    assert.equal(statusCode, 201, body)
    return outbox.latest()
  }
  const find = async (id: string): Promise<Message> => {
    const found = (await messagesOf(group)).find((message) => message.id === id)
    assert.ok(found, 'the message exists')
    return found
  }
  /** A separate worker with a different delivery handler. */
  const workerWith = (handler: JobHandler) =>
    createWorker({
      store: service.store,
      clock: () => clock.now,
      logger: service.logger,
      workers: 1,
      handlers: [handler],
    })
  const changesOf = async (type: string): Promise<string[]> => {
    const changes = await group.store.database.read.selectFrom('changes').selectAll().where('type', '=', type).execute()
    return changes.map(({ subject_id: id }) => id)
  }
  return { ...outbox, server, accept, find, workerWith, changesOf, runDue: () => service.worker.runDue() }
}

onBothEngines('the outbox', (engine) => {
  it('sends a message to the mail server once, and records it', async () => {
    const { server, accept, find, runDue, group } = await openPostOffice(engine)
    const { id, messageId, state } = await accept('Ann@People.Example')
    assert.equal(state, 'waiting')
    await runDue()
    await runDue()
    assert.equal(server.taken.length, 1)
    const [taken] = server.taken
    assert.deepEqual(taken?.recipients, ['Ann@people.example'])
    assert.equal(taken?.sender, 'mail@shop.example')
    assert.equal(taken?.messageId, messageId)
    assert.match(messageId, /^[0-9a-f]{24}@shop\.example$/)
    const { state: after, problem, endedMs } = await find(id)
    assert.deepEqual([after, problem, endedMs !== null], ['sent', null, true])
    assert.equal((await countJobs(group.store.database)).done, 1)
  })

  it('retries on schedule, and stores a final failure with the server’s reply', async () => {
    const { server, accept, find, runDue, clock, changesOf } = await openPostOffice(engine)
    alwaysAt(server, 'message', '451 4.3.2 Later')
    const { id } = await accept()
    for (const [index, seconds] of waits.entries()) {
      clock.now += seconds * 1000 - 1
      assert.equal(seconds > 0 ? await runDue() : 0, 0, 'not before it is due')
      clock.now += 1
      assert.equal(await runDue(), 1)
      const { state, attempts, problem, dueMs } = await find(id)
      assert.equal(attempts, index + 1)
      assert.match(String(problem), /^The mail server did not accept the message: 451 4\.3\.2 Later$/)
      const next = waits[index + 1]
      assert.deepEqual(
        { state, dueMs },
        next ? { state: 'waiting', dueMs: clock.now + next * 1000 } : { state: 'failed', dueMs: null },
      )
    }
    assert.deepEqual(await changesOf('mail.failed'), [id])
    assert.deepEqual(server.taken, [])
  })

  it('sends every attempt with the same Message-ID and text', async () => {
    const { server, accept, find, runDue, clock } = await openPostOffice(engine)
    server.chooseFault = (stage) => (stage === 'message' && server.taken.length < 2 ? 'dropAfter' : undefined)
    const { id, messageId } = await accept()
    for (const seconds of waits.slice(0, 3)) {
      clock.now += seconds * 1000
      await runDue()
    }
    assert.equal((await find(id)).state, 'sent')
    assert.deepEqual(
      server.taken.map((taken) => taken.messageId),
      [messageId, messageId, messageId],
    )
    assert.equal(new Set(server.taken.map(({ raw }) => /^Date: .*$/m.exec(raw.toString())?.[0])).size, 1)
  })

  it('reports a refusal at once, and sends nothing more to an address that does not exist', async () => {
    const { server, accept, find, runDue, group, clock, changesOf } = await openPostOffice(engine)
    alwaysAt(server, 'recipient', '550 5.1.1 No such user')
    const { id } = await accept('Gone@people.example')
    await runDue()
    const refused = await find(id)
    assert.deepEqual([refused.state, refused.attempts], ['failed', 1])
    const words = /^The mail server did not accept the recipient: 550 5\.1\.1 No such user$/
    assert.match(String(refused.problem), words)
    const { suppressions } = await listSuppressions(group.store, { limit: 10, skip: 0 })
    assert.deepEqual(
      suppressions.map(({ address }) => address),
      ['gone@people.example'],
    )
    assert.match(String(suppressions[0]?.reason), words)

    server.chooseFault = () => undefined
    const again = await accept('gone@people.example')
    await runDue()
    const { state, problem } = await find(again.id)
    assert.equal(state, 'failed')
    assert.match(String(problem), /^Not sent: this address is suppressed \(.*No such user\)\. Remove it from the list/)
    assert.deepEqual(server.taken, [])
    assert.deepEqual(await changesOf('mail.failed'), [id, again.id])

    await write(group.store, clock.now, async (writer) => {
      await removeSuppression(writer, 'gone@people.example')
      await restartMessage(writer, again.id)
    })
    await runDue()
    assert.equal((await find(again.id)).state, 'sent')
    assert.deepEqual(
      server.taken.map(({ messageId }) => messageId),
      [again.messageId],
    )
  })

  it('continues to send to an address when only a message was refused', async () => {
    const { server, accept, find, runDue, group } = await openPostOffice(engine)
    alwaysAt(server, 'recipient', '550 5.7.1 Looks like spam')
    const { id } = await accept()
    await runDue()
    assert.equal((await find(id)).state, 'failed')
    assert.equal((await listSuppressions(group.store, { limit: 10, skip: 0 })).totalCount, 0)
    server.chooseFault = () => undefined
    await accept()
    await runDue()
    assert.equal(server.taken.length, 1)
  })

  it('does not send a cancelled message, nor send twice after a retry by hand', async () => {
    const { server, accept, find, runDue, group, clock } = await openPostOffice(engine)
    const [cancelled, restarted] = [await accept(), await accept()]
    await write(group.store, clock.now, async (writer) => {
      await endMessage(writer, cancelled.id, 'cancelled')
      await restartMessage(writer, restarted.id)
    })
    assert.equal(await runDue(), 3)
    assert.deepEqual(
      server.taken.map(({ messageId }) => messageId),
      [restarted.messageId],
    )
    assert.deepEqual([(await find(cancelled.id)).state, (await find(restarted.id)).state], ['cancelled', 'sent'])
  })

  it('shows groups neither the address nor the login of the service’s mail server', async () => {
    const { server, accept, find, runDue, log, clock } = await openPostOffice(engine)
    const { id } = await accept()
    const troubles = [
      () => alwaysAt(server, 'message', '451 4.3.2 Later'),
      () => alwaysAt(server, 'message', 'drop'),
      () => server.stop(),
    ]
    for (const beginTrouble of troubles) {
      await beginTrouble()
      await runDue()
      assert.match(String((await find(id)).problem), /^The mail server /)
      clock.now += 36_000_000
    }
    assert.doesNotMatch(log(), new RegExp(`\\b${server.port}\\b`)) // as a whole number, not as digits of an id
  })

  it('does not send a message whose lease was lost by the time the server is ready', async () => {
    const { server, accept, find, workerWith, runDue, service, clock } = await openPostOffice(engine)
    const { id } = await accept()
    const inner = deliverHandler(service.mail)
    const late = workerWith({ ...inner, run: (job, context) => inner.run(job, { ...context, isOurs: () => false }) })
    await late.runDue()
    const { state, problem } = await find(id)
    assert.deepEqual([state, problem], ['waiting', 'Not sent: this process was blocked for too long.'])
    assert.deepEqual(server.taken, [])
    clock.now += 5000
    await runDue()
    assert.equal(server.taken.length, 1)
  })

  it('never sends with a group’s own sender through the service’s server, whenever the group’s server is removed', async () => {
    const { server, accept, find, workerWith, service, group, clock } = await openPostOffice(engine)
    const own = await mailServer()
    await write(group.store, clock.now, async (writer) => {
      await service.mail.vault.put(writer, mailServerSubject, mailServerField, own.url)
      const { port } = own
      await putMailServer(writer, { fromAddress: 'hello@own.example', host: '127.0.0.1', port, tls: 'optional' })
    })
    const { id } = await accept()
    const render: Mail['render'] = async (...asked) => {
      const rendered = await service.mail.render(...asked)
      await write(group.store, clock.now, removeMailServer)
      return rendered
    }
    await workerWith(deliverHandler({ ...service.mail, render })).runDue()
    assert.equal((await find(id)).state, 'sent')
    assert.deepEqual(
      [...own.taken, ...server.taken].map(({ sender, raw }) => [
        sender,
        /^From: .*<(.*)>\r$/m.exec(raw.toString())?.[1],
      ]),
      [['hello@own.example', 'hello@own.example']],
    )
    assert.equal(own.taken.length, 1)
    await accept()
    await service.worker.runDue()
    assert.deepEqual(
      server.taken.map(({ sender }) => sender),
      ['mail@shop.example'],
    )
  })

  it('delivers what a group sent before it was frozen', async () => {
    const { server, accept, runDue, group, service } = await openPostOffice(engine)
    await accept()
    await setFrozen(service.store, group.group.id, true)
    await runDue()
    assert.equal(server.taken.length, 1)
  })

  it('retries a message that could not be written to the mailbox', async () => {
    const { server, accept, find, runDue, workerWith, service, clock } = await openPostOffice(engine)
    const { id } = await accept()
    const render: Mail['render'] = async () => {
      throw new Error('The logo could not be read.')
    }
    await workerWith(deliverHandler({ ...service.mail, render })).runDue()
    const { state, problem } = await find(id)
    assert.deepEqual([state, problem], ['waiting', 'The logo could not be read.'])
    clock.now += 5000
    await runDue()
    assert.equal((await find(id)).state, 'sent')
    assert.equal(server.taken.length, 1)
  })

  it('does not resend an accepted message when only recording it failed', async () => {
    const { server, accept, find, workerWith, service, clock } = await openPostOffice(engine)
    const { id } = await accept()
    const inner = deliverHandler(service.mail)
    const isUnreachable = () => Promise.reject(new Error('The database is unreachable.'))
    let refusals = 0
    const tooLong = new AbortController()
    const handler: JobHandler = {
      ...inner,
      run: (job, context) =>
        inner.run(job, {
          ...context,
          signal: AbortSignal.any([context.signal, tooLong.signal]),
          finish(work) {
            refusals += 1
            if (refusals === 3) tooLong.abort()
            return refusals <= 3 ? isUnreachable() : context.finish(work)
          },
        }),
    }
    const worker = workerWith(handler)
    await worker.runDue()
    assert.deepEqual([refusals, server.taken.length, (await find(id)).state], [3, 1, 'waiting'])
    clock.now += 5000
    await worker.runDue()
    assert.deepEqual([refusals, server.taken.length, (await find(id)).state], [4, 1, 'sent'])
  })

  it('holds an accepted message until the database is back', async () => {
    const { server, accept, find, workerWith, service } = await openPostOffice(engine)
    const { id } = await accept()
    const inner = deliverHandler(service.mail)
    let refusals = 0
    const handler: JobHandler = {
      ...inner,
      run: (job, context) =>
        inner.run(job, {
          ...context,
          async finish(work) {
            refusals += 1
            if (refusals < 3) throw new Error('The database is unreachable.')
            await context.finish(work)
          },
        }),
    }
    await workerWith(handler).runDue()
    const { state, attempts } = await find(id)
    assert.deepEqual([state, attempts, server.taken.length], ['sent', 1, 1])
  })

  it('gives back unfinished deliveries when the process stops: the connection is cut, and no attempt is lost', async () => {
    const { server, accept, find, runDue, service, group, clock } = await openPostOffice(engine)
    const { id } = await accept()
    alwaysAt(server, 'message', 'hang')
    const { database, groupId } = group.store
    const claimed = await claimJob(database, { kind: deliverKind, groupId, nowMs: clock.now })
    assert.ok(claimed)
    const stopping = new AbortController()
    const deps = { store: service.store, clock: () => clock.now, logger: service.logger }
    const run = runJob(deps, {
      handler: deliverHandler(service.mail),
      claimed,
      group: group.store,
      stopping: stopping.signal,
    })
    await until(() => server.faults.get('hang') === 1)
    stopping.abort(new Stopping('The process is about to stop.'))
    await run
    await until(() => server.openConnections() === 0)
    const { state, attempts, dueMs, isUnderWay } = await find(id)
    assert.deepEqual(
      { state, attempts, dueMs, isUnderWay },
      { state: 'waiting', attempts: 0, dueMs: clock.now, isUnderWay: false },
    )
    server.chooseFault = () => undefined
    await runDue()
    assert.equal(server.taken.length, 1)
  })

  it('does not give back an accepted message when the process stops while recording it', async () => {
    const { server, accept, find, runDue, service, group, clock } = await openPostOffice(engine)
    const { id } = await accept()
    const { database, groupId } = group.store
    const claimed = await claimJob(database, { kind: deliverKind, groupId, nowMs: clock.now })
    assert.ok(claimed)
    const stopping = new AbortController()
    const inner = deliverHandler(service.mail)
    const handler: JobHandler = {
      ...inner,
      run: (job, context) =>
        inner.run(job, {
          ...context,
          finish(work) {
            const finished = context.finish(work)
            stopping.abort(new Stopping('The process is about to stop.'))
            return finished
          },
        }),
    }
    const deps = { store: service.store, clock: () => clock.now, logger: service.logger }
    await runJob(deps, { handler, claimed, group: group.store, stopping: stopping.signal })
    assert.equal((await find(id)).state, 'sent')
    assert.equal(await runDue(), 0)
    assert.equal(server.taken.length, 1)
  })

  it('finishes deliveries in progress when the service is closed', async () => {
    const { server, accept, service, config, clock, group, find } = await openPostOffice(engine)
    const { id } = await accept()
    const other = await createService(config, { clock: () => clock.now, logger: service.logger })
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    server.chooseFault = (stage) => {
      if (stage === 'sender') ask()
      return undefined
    }
    const run = other.worker.runDue()
    await asked
    await other.close()
    await run
    assert.equal((await find(id)).state, 'sent')
    assert.equal(server.taken.length, 1)
    assert.equal((await countJobs(group.store.database)).done, 1)
    await until(() => server.openConnections() === 0)
  })

  it('is emptied by several processes without any message being sent twice', async () => {
    const { server, post, service, config, clock, group } = await openPostOffice(engine)
    const count = 30
    for (let sent = 0; sent < count; sent += 1)
      assert.equal((await post(contactPath, { ...contactBody, to: `visitor-${sent}@people.example` })).statusCode, 201)
    const others = await Promise.all(
      [1, 2].map(() => createService(config, { clock: () => clock.now, logger: service.logger })),
    )
    after(() => Promise.all(others.map((other) => other.close())))
    while ((await countJobs(group.store.database)).done < count)
      await Promise.all([service, ...others].map(({ worker }) => worker.runDue()))
    assert.equal(server.taken.length, count)
    assert.equal(new Set(server.taken.map(({ recipients }) => recipients.join())).size, count)
    assert.ok((await messagesOf(group)).every(({ state }) => state === 'sent'))
  })

  it('writes to the local mailbox when there is no mail server', async () => {
    const { post, latest, service, group } = await openOutbox(engine)
    assert.equal((await post(contactPath, contactBody)).statusCode, 201)
    await service.worker.runDue()
    const { id, messageId, state } = await latest()
    assert.equal(state, 'sent')
    const raw = await service.mail.mailbox?.read(group.group.id, id)
    assert.ok(raw?.toString().includes(`Message-ID: <${messageId}>`))
  })

  it('logs failures without the password, even if the server repeats it', async () => {
    const server = await mailServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ password }, _session, done) => done(new Error(`I do not like ${password}`)),
    })
    const password = 'pass-that-is-secret'
    const env = { SMTP_URL: server.url.replace('//', `//ann:${password}@`), MAIL_FROM: 'mail@shop.example' }
    const { post, latest, service, log, group } = await openOutbox(engine, { env })
    await post(contactPath, contactBody)
    await service.worker.runDue()
    const { problem, state } = await latest()
    assert.equal(state, 'waiting')
    assert.match(String(problem), /^The mail server did not accept our login: 535$/)
    assert.match(log(), /did not accept our login/)
    const jobs = await group.store.database.read.selectFrom('jobs').selectAll().execute()
    const secrets = [password, Buffer.from(password).toString('base64')]
    for (const secret of secrets) assert.ok(!(log() + JSON.stringify(jobs)).includes(secret))
  })
})
