import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { mailServerField, mailServerSubject, putMailServer } from '../../src/store/mail/mail-servers.ts'
import { endMessage } from '../../src/store/mail/messages.ts'
import { write } from '../helpers/authoring.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { mailServer } from '../helpers/mail-server.ts'
import { putMessage } from '../helpers/outbox.ts'
import { assertOnly, assertSound, findingsOf, patient } from './patient.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

async function withOutbox(engine: TestEngine, env: Record<string, string> = {}) {
  const on = await patient(engine, env)
  const { service, clock, newGroup } = on
  const { group, store: content } = await newGroup({ name: 'Shop' })
  const put = (agoMs = 0) => putMessage(content, clock.now - agoMs)
  const fail = (id: string, agoMs: number) =>
    write(content, clock.now - agoMs, async (writer) => {
      await endMessage(writer, id, 'failed', '550 No such user')
      await writer.db.updateTable('jobs').set({ state: 'failed', due_ms: null, problem: '550' }).execute()
    })
  const { mail } = service
  const setServer = (smtpUrl: string, port: number) =>
    write(content, clock.now, async (writer) => {
      await mail.vault.put(writer, mailServerSubject, mailServerField, smtpUrl)
      await putMailServer(writer, { fromAddress: 'hello@shop.example', host: '127.0.0.1', port, tls: 'optional' })
    })
  /** Settings that replace those of the running service. */
  const settings = (others: Record<string, string>) => {
    const { databaseUrl: DATABASE_URL = '', dataDir: DATA_DIR } = on.config
    return { config: readConfig({ DATA_DIR, DATABASE_URL, MANAGE_PORT: 'off', ...others }) }
  }
  const ofMail = async (...given: Parameters<typeof on.examine>) =>
    findingsOf(await on.examine(...given)).filter(({ check }) => check === 'E-mails')
  return { ...on, group, content, put, fail, setServer, settings, ofMail }
}

onBothEnginesInProve('the doctor’s check of e-mails', (engine) => {
  it('finds nothing when they are sent, and changes nothing', async () => {
    const { put, service, examine } = await withOutbox(engine)
    await put()
    await service.worker.runDue()
    await put()
    await assertUnchanged(service.store, async () => assertSound(await examine()))
  })

  it('finds those that failed in the last week, with their reasons, once and not also as jobs', async () => {
    const { put, fail, examine, group } = await withOutbox(engine)
    await fail(await put(), 8 * dayMs)
    assertSound(await examine())
    const id = await put()
    await fail(id, 6 * dayMs)
    const finding = assertOnly(await examine(), {
      check: 'E-mails',
      level: 'attention',
      what: /^1 e-mail of Shop failed in the last 7 days\.$/,
      commands: [`npx sluice mail list ${group.id} --state failed`, `npx sluice mail retry ${group.id} ${id}`],
    })
    assert.deepEqual(finding.examples, [`${id}: 550 No such user`])
  })

  it('finds those that have waited for more than an hour, with the latest problem', async () => {
    const { put, ofMail, content, clock, group } = await withOutbox(engine)
    await put()
    const id = await put(hourMs + 1000)
    const problem = '451 Later'
    const due_ms = clock.now + hourMs
    await content.database.write((db) => db.updateTable('jobs').set({ problem, due_ms, attempts: 3 }).execute())
    const [finding, ...others] = await ofMail()
    assert.deepEqual(others, [])
    assert.equal(finding?.level, 'attention')
    assert.equal(finding?.what, '1 e-mail of Shop waits for more than an hour.')
    assert.deepEqual(finding?.examples, [`${id}: 451 Later`])
    assert.deepEqual(finding?.commands, [`npx sluice mail list ${group.id} --state waiting`])
  })

  it('finds those without a delivery job', async () => {
    const { put, examine, content, group } = await withOutbox(engine)
    const [gone, done] = [await put(2 * hourMs), await put(2 * hourMs)]
    await content.database.write(async (db) => {
      await db.deleteFrom('jobs').where('payload', 'like', `%${gone}%`).execute()
      await db.updateTable('jobs').set({ state: 'done', due_ms: null }).execute()
    })
    assertOnly(await examine(), {
      check: 'E-mails',
      level: 'wrong',
      what: /^2 e-mails of Shop wait, and there is no job to deliver them\.$/,
      commands: [done, gone].map((id) => `npx sluice mail retry ${group.id} ${id}`),
    })
  })

  it('finds a missing mail server on a public service, unless each group has its own', async () => {
    const { ofMail, settings, setServer } = await withOutbox(engine)
    const server = await mailServer()
    for (const PUBLIC_URL of ['http://content.example.com', 'https://localhost:4000', 'https://10.1.2.3'])
      assert.deepEqual(await ofMail(settings({ PUBLIC_URL })), [], PUBLIC_URL)
    const reached = settings({ PUBLIC_URL: 'https://content.example.com', MAIL_GROUP_HOSTS: 'any' })
    const [finding] = await ofMail(reached)
    assert.equal(finding?.level, 'attention')
    assert.match(finding?.what ?? '', /^There is no mail server: .* not delivered\.$/)
    await setServer(server.url, server.port)
    assert.deepEqual(await ofMail(reached), [])
  })

  it('finds a mail server that does not answer or refuses the login, and shows no password', async () => {
    const { ofMail, settings, service } = await withOutbox(engine)
    const server = await mailServer()
    const reached = settings({ SMTP_URL: server.url })
    await assertUnchanged(service.store, async () => assert.deepEqual(await ofMail(reached), []))
    assert.deepEqual([server.connections(), server.taken.length], [1, 0])
    await server.stop()
    const away = settings({ SMTP_URL: `smtp://ann:canary@127.0.0.1:${server.port}` })
    const [finding, ...others] = await ofMail(away)
    assert.deepEqual([finding?.level, others], ['attention', []])
    assert.match(finding?.what ?? '', /^The mail server of SMTP_URL cannot be used: /)
    assert.ok(!JSON.stringify(finding).includes('canary'))
  })

  it('finds settings that prevent the service from starting', async () => {
    const { ofMail, settings } = await withOutbox(engine)
    const [finding] = await ofMail(settings({ SMTP_URL: 'smtp://smtp.invalid' }))
    assert.equal(finding?.level, 'wrong')
    assert.match(finding?.what ?? '', /so the service will not start: [\s\S]*SMTP_URL needs MAIL_FROM/)
  })

  it('finds a group’s server whose address cannot be decrypted, and creates no master key', async () => {
    const { ofMail, examine, settings, setServer, config, group } = await withOutbox(engine, {
      MAIL_GROUP_HOSTS: 'any',
    })
    await setServer('smtp://ann:canary@127.0.0.1:587', 587)
    assertSound(await examine())
    const masterKey = randomBytes(32)
    const [sealed] = await ofMail({ config: { ...config, masterKey } })
    assert.equal(sealed?.level, 'wrong')
    assert.match(sealed?.what ?? '', /^The mail server of Shop cannot be used: The sealed \w+ cannot be opened/)
    assert.match(sealed?.advice ?? '', /Restore the master key/)
    assert.deepEqual(sealed?.commands, [
      `npx sluice mail-server remove ${group.id}`,
      `npx sluice mail-server set ${group.id} hello@shop.example`,
    ])
    const file = join(config.dataDir, 'master.key')
    renameSync(file, `${file}.away`)
    const [noKey, ...others] = await ofMail(settings({}))
    assert.deepEqual([noKey?.level, others], ['wrong', []])
    assert.match(noKey?.what ?? '', /^1 mail server of groups cannot be used: there is no master key/)
    assert.equal(existsSync(file), false)
    assert.ok(!JSON.stringify([sealed, noKey]).includes('canary'))
  })
})
