import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { parseMailServer } from '../../src/mail/server-address.ts'
import { secretFields } from '../../src/store/content/secrets.ts'
import { findMailServer, putMailServer } from '../../src/store/mail/mail-servers.ts'
import { write } from '../helpers/authoring.ts'
import { assertUnchanged, dumpTables } from '../helpers/dump.ts'
import { assertRefused } from '../helpers/editing.ts'
import { onBothEngines, type TestEngine, testStartMs } from '../helpers/harness.ts'
import { mailServer } from '../helpers/mail-server.ts'
import { managing } from '../helpers/manage.ts'
import { putMessage } from '../helpers/outbox.ts'

const user = 'canary-user@shop.example'
const password = 'canary-pass:w/ord'

/** A server that accepts our login only, and repeats the login in its replies, as some do. */
const guardedServer = () =>
  mailServer({
    authOptional: false,
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) =>
      auth.username === user && auth.password === password
        ? done(null, { user })
        : done(new Error(`${auth.username} may not come in with ${auth.password}`)),
  })

const urlOf = (port: number, pass = password): string =>
  `smtp://${encodeURIComponent(user)}:${encodeURIComponent(pass)}@127.0.0.1:${port}`

async function opened(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await managing(engine, { env })
  const group = await created.newManagedGroup({ name: 'Shop' })
  const path = `/manage/groups/${group.groupId}/mailServer`
  const set = (smtpUrl: string, from = 'hello@shop.example') => created.call('PUT', path, { from, smtpUrl })
  return { ...created, group, path, set }
}

onBothEngines('a group’s own mail server', (engine) => {
  it('is tested before it is stored, then sends the group’s e-mails, and no other’s', async () => {
    const { group, path, ask, set, service, clock, newManagedGroup } = await opened(engine)
    const server = await guardedServer()
    const other = await newManagedGroup()
    const answer = await set(urlOf(server.port), 'Hello@SHOP.example')
    assert.equal(answer.statusCode, 200, answer.body)
    const shown = { owner: 'group', from: 'Hello@shop.example', host: '127.0.0.1', port: server.port }
    const expected = { ...shown, tls: 'optional', updatedAt: new Date(testStartMs).toISOString() }
    assert.deepEqual(answer.json().data, expected)
    assert.deepEqual(await ask('GET', path, undefined, group.tokens.viewer), expected)
    for (const { store } of [group, other])
      await putMessage(store, clock.now, { recipient: `${store.groupId}@people.example` })
    await service.worker.runDue()
    assert.deepEqual(
      server.taken.map((message) => [message.sender, message.recipients, message.user]),
      [['Hello@shop.example', [`${group.groupId}@people.example`], user]],
    )
  })

  it('that does not work is not stored, and the refusal has the reason', async () => {
    const { group, set, service, mailServer: plain } = await opened(engine)
    const server = await guardedServer()
    const silent = await mailServer()
    await silent.stop()
    await assertUnchanged(service.store, async () => {
      for (const [url, why] of [
        [
          urlOf(server.port, 'canary-wrong'),
          /^The mail server cannot be used: 127\.0\.0\.1:\d+ did not accept our login: 535$/,
        ],
        [`smtp://127.0.0.1:${silent.port}`, /^The mail server cannot be used: /],
        ['https://smtp.shop.example', /^smtpUrl must be the address of a mail server/],
        ['smtp://canary@smtp.shop.example', /^smtpUrl must have both a user and a password/],
        ['smtp://smtp.shop.example?tls=perhaps', /^smtpUrl must have tls=/],
        [`${plain.url}?tls=required`, /^The mail server cannot be used: /],
      ] as const) {
        const refused = await set(url)
        assertRefused(refused, 400, why)
        assert.ok(!refused.body.includes('canary'), refused.body)
      }
      for (const from of ['hello', 'Shop <hello@shop.example>', 'a@shop.example,b@shop.example'])
        assertRefused(await set(plain.url, from), 400, /^from must be one e-mail address/)
    })
    assert.equal(await findMailServer(group.store), undefined)
  })

  it('does not send from a domain of the service, or its subdomains', async () => {
    const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const {
      set,
      mailServer: plain,
      service,
    } = await opened(engine, {
      MAIL_FROM: 'mail@service.example',
      MAIL_DKIM_DOMAIN: 'Signed.example',
      MAIL_DKIM_SELECTOR: 'mail',
      MAIL_DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    })
    await assertUnchanged(service.store, async () => {
      for (const domain of ['service.example', 'NEWS.service.example', 'signed.example', 'a.b.signed.example'])
        assertRefused(await set(plain.url, `hello@${domain}`), 400, /^from must be in a domain of your own: /)
    })
    assert.equal(plain.connections(), 0)
    for (const domain of ['notservice.example', 'signed.example.shop.example'])
      assert.equal((await set(plain.url, `hello@${domain}`)).statusCode, 200)
  })

  it('gets nothing signed by the service, even from the domain of its DKIM key', async () => {
    const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const {
      set,
      group,
      service,
      clock,
      mailServer: plain,
      newManagedGroup,
    } = await opened(engine, {
      MAIL_DKIM_DOMAIN: 'signed.example',
      MAIL_DKIM_SELECTOR: 'mail',
      MAIL_DKIM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      MAIL_FROM: 'mail@signed.example',
    })
    const other = await newManagedGroup()
    assert.equal((await set(plain.url)).statusCode, 200)
    const { host, port, tls } = parseMailServer(plain.url)
    await write(
      group.store,
      clock.now,
      (
        writer, // as if the service's domain were set later
      ) => putMailServer(writer, { fromAddress: 'hello@signed.example', host, port, tls }),
    )
    await putMessage(group.store, clock.now)
    const signedId = await putMessage(other.store, clock.now)
    await service.worker.runDue()
    assert.deepEqual(
      plain.taken.map(({ sender }) => sender),
      ['hello@signed.example'],
    )
    assert.doesNotMatch(String(plain.taken[0]?.raw), /DKIM-Signature/i)
    assert.match(String(await service.mail.mailbox?.read(other.groupId, signedId)), /^DKIM-Signature:/m)
  })

  it('must be on the public Internet, unless the operator allows others', async () => {
    const { set, mailServer: plain, service } = await opened(engine, { MAIL_GROUP_HOSTS: 'public' })
    await assertUnchanged(service.store, async () => {
      for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.1.2.3'])
        assertRefused(await set(`smtp://${host}:587`), 400, /^The mail server cannot be used: /)
    })
    assert.equal(plain.connections(), 0)
  })

  it('leaves its user and password in no answer, record, table or log', async () => {
    const { ask, call, set, path, service, group, log } = await opened(engine)
    const server = await guardedServer()
    const answers = [await set(urlOf(server.port)), await set(urlOf(server.port, 'canary-wrong'))]
    for (const url of [path, `/manage/groups/${group.groupId}/audit`, `/manage/groups/${group.groupId}/events`])
      answers.push(await call('GET', url))
    await ask('POST', `/manage/groups/${group.groupId}/mail/test`, { to: 'ann@people.example' })
    await service.worker.runDue()
    assert.equal(server.taken.length, 1)
    answers.push(await call('GET', `/manage/groups/${group.groupId}/mail`))
    const dump = await dumpTables(service.store)
    for (const text of [...answers.map(({ body }) => body), ...dump, log()]) assert.ok(!text.includes('canary'), text)
    const { items } = await ask('GET', `/manage/groups/${group.groupId}/audit`)
    assert.ok(items.some(({ type, note }: { type: string; note: string }) => type === 'mailserver.updated' && note === `127.0.0.1:${server.port}`)) // biome-ignore format: short
  })

  it('can be replaced and removed, with its secret; then e-mails go through the service’s server', async () => {
    const { call, ask, set, path, group, mailServer: plain } = await opened(engine)
    const next = await mailServer()
    await set(plain.url)
    assert.equal((await set(next.url)).json().data.port, next.port)
    assert.deepEqual(await secretFields(group.store, 'mailServer'), ['smtpUrl'])
    assert.deepEqual(await ask('DELETE', path), { done: true })
    assert.deepEqual(await secretFields(group.store, 'mailServer'), [])
    assert.equal((await ask('GET', path)).owner, 'mailbox')
    assertRefused(await call('DELETE', path), 404, /no mail server of its own/)
  })
})

onBothEngines('a group without its own mail server', (engine) => {
  const nothing = { host: null, port: null, tls: null, updatedAt: null }

  it('uses the service’s, whose address only administrators are shown', async () => {
    const smtpUrl = `smtp://${encodeURIComponent(user)}:pass@smtp.service.example`
    const { ask, path, group } = await opened(engine, { SMTP_URL: smtpUrl, MAIL_FROM: 'mail@service.example' })
    const common = { owner: 'service', from: 'mail@service.example' }
    assert.deepEqual(await ask('GET', path, undefined, group.tokens.owner), { ...common, ...nothing })
    const shown = { host: 'smtp.service.example', port: 587, tls: 'required' }
    assert.deepEqual(await ask('GET', path), { ...common, ...nothing, ...shown })
  })

  it('has its e-mails written to the mailbox when the service has none either', async () => {
    const { ask, path } = await opened(engine)
    assert.deepEqual(await ask('GET', path), { owner: 'mailbox', from: 'mail@localhost', ...nothing })
  })
})
