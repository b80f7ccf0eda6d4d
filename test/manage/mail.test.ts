import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { claimJob } from '../../src/store/jobs/claim-jobs.ts'
import { deliverKind, endMessage, type NewMessage } from '../../src/store/mail/messages.ts'
import type { JobRow } from '../../src/store/schema/tables.ts'
import { write } from '../helpers/authoring.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { assertRefused } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { type ManagedGroup, managing } from '../helpers/manage.ts'
import { putMessage } from '../helpers/outbox.ts'

const at = (ms: number) => new Date(ms).toISOString()
const dayMs = 86_400_000

async function withOutbox(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await managing(engine, { env })
  const { clock, ask, call } = created
  const group = await created.newManagedGroup({ name: 'Bakery' })
  const path = `/manage/groups/${group.groupId}`
  const put = (more: Partial<NewMessage> = {}, to: ManagedGroup = group): Promise<string> =>
    putMessage(to.store, clock.now, more)
  const end = (id: string, state: 'sent' | 'failed' | 'cancelled', problem?: string) =>
    write(group.store, clock.now, async (writer) => {
      await endMessage(writer, id, state, problem)
      const job = { state: state === 'sent' ? 'done' : state, due_ms: null, finished_ms: clock.now }
      await writer.db
        .updateTable('jobs')
        .set(job)
        .where('id', '=', await jobIdOf(id))
        .execute()
    })
  const jobIdOf = async (id: string): Promise<string> => {
    const { read } = group.store.database
    return (await read.selectFrom('messages').select('job_id').where('id', '=', id).executeTakeFirstOrThrow()).job_id
  }
  const jobsOf = async (id: string): Promise<JobRow[]> => {
    const rows = await group.store.database.read.selectFrom('jobs').selectAll().orderBy('id').execute()
    return rows.filter(({ payload }) => payload.includes(id))
  }
  const claim = () => claimJob(group.store.database, { kind: deliverKind, groupId: group.groupId, nowMs: clock.now })
  const show = (id: string) => ask('GET', `${path}/mail/${id}`)
  const act = (id: string, action: 'retry' | 'cancel') => call('POST', `${path}/mail/${id}/${action}`)
  return { ...created, group, path, put, end, jobIdOf, jobsOf, claim, show, act }
}

onBothEngines('e-mails in the management API', (engine) => {
  it('are listed newest first, by state, kind and recipient, with the total', async () => {
    const { ask, path, put, end, group, newManagedGroup } = await withOutbox(engine)
    const first = await put()
    const second = await put({ kind: 'order', recipient: 'ann@xn--bcher-kva.example' })
    const third = await put()
    await put({}, await newManagedGroup())
    await end(first, 'failed', '550 No such user')
    const listed = async (query: string) => {
      const { items, totalCount } = await ask('GET', `${path}/mail?${query}`, undefined, group.tokens.viewer)
      return [items.map(({ _id }: { _id: string }) => _id), totalCount]
    }
    assert.deepEqual(await listed(''), [[third, second, first], 3])
    assert.deepEqual(await listed('skip=1&limit=1'), [[second], 3])
    assert.deepEqual(await listed('state=failed'), [[first], 1])
    assert.deepEqual(await listed('kind=order'), [[second], 1])
    assert.deepEqual(await listed(`to=${encodeURIComponent('ann@Bücher.example')}`), [[second], 1])
    assert.deepEqual(await listed('to=unknown@shop.example'), [[], 0])
  })

  it('are shown with their text, Message-ID and next attempt, and their markup on request', async () => {
    const { ask, path, put, show, group } = await withOutbox(engine)
    const id = await put()
    const { text, ...shown } = await ask('GET', `${path}/mail/${id}`, undefined, group.tokens.viewer)
    assert.deepEqual(shown, {
      _id: id,
      state: 'waiting',
      kind: 'contact',
      recipient: 'owner@shop.example',
      replyTo: 'ann@people.example',
      subject: 'New message from Ann',
      attempts: 0,
      delivering: false,
      nextAttemptAt: at(testStartMs),
      problem: null,
      messageId: `<${id}@mail.example>`,
      createdAt: at(testStartMs),
      endedAt: null,
      from: 'Bakery <mail@localhost>',
    })
    assert.match(text, /Is there rye bread today\?/)
    const { html } = await ask('GET', `${path}/mail/${id}?html=true`)
    assert.match(html, /<html[\s\S]+Is there rye bread today\?/)
    assert.equal('html' in (await show(id)), false)
  })

  it('show why the latest attempt failed, and whether a delivery is in progress', async () => {
    const { put, show, end, claim, jobIdOf, group } = await withOutbox(engine)
    const id = await put()
    await claim()
    const { delivering, attempts, nextAttemptAt } = await show(id)
    assert.deepEqual([delivering, attempts, nextAttemptAt], [true, 1, null])
    const failed = { state: 'waiting', problem: '451 later', due_ms: testStartMs + 5000 }
    const jobId = await jobIdOf(id)
    await group.store.database.write((db) => db.updateTable('jobs').set(failed).where('id', '=', jobId).execute())
    const waiting = await show(id)
    assert.deepEqual([waiting.problem, waiting.nextAttemptAt], ['451 later', at(testStartMs + 5000)])
    await end(id, 'failed', '550 No such user')
    const ended = await show(id)
    assert.deepEqual(
      [ended.state, ended.problem, ended.nextAttemptAt, ended.endedAt],
      ['failed', '550 No such user', null, at(testStartMs)],
    )
  })

  it('are delivered at once by "mail retry" when waiting, failed, cancelled or without a job', async () => {
    const { put, end, act, clock, claim, jobIdOf, jobsOf, group } = await withOutbox(engine)
    const { write: writeRows } = group.store.database
    const before: ((id: string) => Promise<unknown>)[] = [
      async (id) =>
        writeRows(async (db) =>
          db
            .updateTable('jobs')
            .set({ due_ms: testStartMs + dayMs, attempts: 3 })
            .where('id', '=', await jobIdOf(id))
            .execute(),
        ),
      (id) => end(id, 'failed', '550 no'),
      (id) => end(id, 'cancelled'),
      async (id) => {
        const jobId = await jobIdOf(id)
        await writeRows((db) => db.deleteFrom('jobs').where('id', '=', jobId).execute())
      },
    ]
    for (const prepare of before) {
      const id = await put()
      await prepare(id)
      clock.now += 1000
      const answer = await act(id, 'retry')
      assert.equal(answer.statusCode, 200, answer.body)
      const { state, attempts, nextAttemptAt, problem, endedAt } = answer.json().data
      assert.deepEqual([state, attempts, nextAttemptAt, problem, endedAt], ['waiting', 0, at(clock.now), null, null])
      const pending = (await jobsOf(id)).filter(({ due_ms }) => due_ms !== null)
      assert.deepEqual(
        pending.map((job) => job.id),
        [await jobIdOf(id)],
        'one job delivers it, and no other',
      )
      assert.equal((await claim())?.job.id, await jobIdOf(id))
    }
  })

  it('are cancelled by "mail cancel" together with their job when waiting or failed', async () => {
    const { put, end, act, claim, jobsOf, service } = await withOutbox(engine)
    const [waiting, failed] = [await put(), await put()]
    await end(failed, 'failed', '550 no')
    for (const id of [waiting, failed]) {
      const { state, nextAttemptAt } = (await act(id, 'cancel')).json().data
      assert.deepEqual([state, nextAttemptAt], ['cancelled', null])
      assert.deepEqual(
        (await jobsOf(id)).map((job) => job.state),
        ['cancelled'],
      )
    }
    assert.equal(await claim(), undefined)
    await service.worker.runDue()
    assert.equal((await act(waiting, 'cancel')).statusCode, 409)
  })

  it('that were sent can be neither resent nor cancelled; those being delivered have to be waited for', async () => {
    const { put, end, act, claim, service } = await withOutbox(engine)
    const sent = await put()
    await end(sent, 'sent')
    const underWay = await put()
    assert.ok(await claim())
    await assertUnchanged(service.store, async () => {
      assertRefused(await act(sent, 'retry'), 409, /was sent/)
      assertRefused(await act(sent, 'cancel'), 409, /is sent; only one that is waiting or failed/)
      for (const action of ['retry', 'cancel'] as const)
        assertRefused(await act(underWay, action), 409, /being delivered right now\. Try again in a moment/)
    })
  })

  it('are either sent or cancelled when both happen at once, and are in the mailbox only when sent', async () => {
    const { put, act, show, service, group } = await withOutbox(engine)
    const ids = await Promise.all(Array.from({ length: 12 }, () => put()))
    const [answers] = await Promise.all([Promise.all(ids.map((id) => act(id, 'cancel'))), service.worker.runDue()])
    await service.worker.runDue()
    for (const [position, id] of ids.entries()) {
      const { state } = await show(id)
      assert.equal(state, answers[position]?.statusCode === 200 ? 'cancelled' : 'sent')
      const file = await service.mail.mailbox?.read(group.groupId, id)
      assert.equal(file !== undefined, state === 'sent')
    }
  })

  it('have jobs that "job retry" and "job cancel" refuse, naming the e-mail', async () => {
    const { call, path, put, jobIdOf, service } = await withOutbox(engine)
    const id = await put()
    const job = `${path}/jobs/${await jobIdOf(id)}`
    await assertUnchanged(service.store, async () => {
      for (const action of ['retry', 'cancel'])
        assertRefused(await call('POST', `${job}/${action}`), 409, new RegExp(`the e-mail ${id}. Use "mail ${action}"`))
    })
  })

  it('of another group look like missing e-mails', async () => {
    const { call, path, put, newManagedGroup } = await withOutbox(engine)
    const id = await put({}, await newManagedGroup())
    for (const [method, action] of [['GET', ''], ['POST', '/retry'], ['POST', '/cancel']] as const) {
      const foreign = await call(method, `${path}/mail/${id}${action}`)
      const unknown = await call(method, `${path}/mail/nope${action}`)
      assert.deepEqual([foreign.statusCode, foreign.body], [404, unknown.body])
    } // biome-ignore format: short
  })

  it('can be tested by "mail test", which uses the normal path', async () => {
    const { ask, path, show, service, group } = await withOutbox(engine)
    const made = await ask('POST', `${path}/mail/test`, { to: 'Ann@BÜCHER.example' }, group.tokens.owner)
    assert.deepEqual([made.state, made.recipient], ['waiting', 'Ann@xn--bcher-kva.example'])
    await service.worker.runDue()
    assert.equal((await show(made._id)).state, 'sent')
    const raw = await service.mail.mailbox?.read(group.groupId, made._id)
    assert.match(String(raw), /^To: Ann@xn--bcher-kva\.example\r$/m)
    assert.match(String(raw), /It works/)
  })

  it('of "mail test" need one address, and count towards the daily limit', async () => {
    const { call, path, service, clock } = await withOutbox(engine, {
      MAIL_DAILY_LIMITS: 'free=1,basic=1,pro=1,proplus=1',
    })
    const test = (to: string) => call('POST', `${path}/mail/test`, { to })
    await assertUnchanged(service.store, async () => {
      for (const to of ['invalid', 'a@shop.example, b@shop.example', 'Ann <ann@shop.example>', 'a@shop.example\nb'])
        assertRefused(await test(to), 400, /one e-mail address/)
    })
    assert.equal((await test('ann@shop.example')).statusCode, 201)
    await assertUnchanged(service.store, async () => {
      const refused = await test('ann@shop.example')
      assertRefused(refused, 429, /sent its 1 e-mails of today/)
      assert.equal(refused.headers['retry-after'], String(12 * 3600))
    })
    clock.now += dayMs
    assert.equal((await test('ann@shop.example')).statusCode, 201)
  })

  it('are removed from the mailbox with their group, and those of another group stay', async () => {
    const { ask, path, put, service, config, group, newManagedGroup } = await withOutbox(engine)
    const other = await newManagedGroup()
    await put()
    await put({}, other)
    await service.worker.runDue()
    const folderOf = ({ groupId }: ManagedGroup) => join(config.dataDir, 'mailbox', groupId)
    assert.ok(existsSync(folderOf(group)) && existsSync(folderOf(other)))
    await ask('POST', `${path}/delete`, { confirm: 'Bakery' })
    assert.deepEqual([existsSync(folderOf(group)), existsSync(folderOf(other))], [false, true])
  })

  it('leave no address, subject or text in the logs', async () => {
    const { put, act, show, service, log } = await withOutbox(engine)
    const canary = 'canary4711'
    const id = await put({
      recipient: `${canary}@shop.example`,
      replyTo: `${canary}@people.example`,
      subject: canary,
      content: { siteName: canary, visitor: { name: canary, message: canary } },
    })
    await show(id)
    await act(id, 'cancel')
    await act(id, 'retry')
    await service.worker.runDue()
    assert.equal((await show(id)).state, 'sent')
    assert.ok(log().includes('/mail/:mailId'))
    assert.ok(!log().includes(canary))
  })
})
