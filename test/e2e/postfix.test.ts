import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import PostalMime from 'postal-mime'
import { listSuppressions } from '../../src/store/mail/suppressions.ts'
import { contactBody, contactPath, messagesOf, openOutbox } from '../helpers/outbox.ts'
import { startPostfix, whyNoPostfix } from '../helpers/postfix.ts'
import { until } from '../jobs/workshop.ts'

describe('Postfix', { skip: whyNoPostfix() ?? false }, () => {
  it('receives messages encrypted and unchanged, and refuses unknown recipients and relaying', async () => {
    const postfix = await startPostfix()
    const env = { SMTP_URL: `smtp://127.0.0.1:${postfix.port}`, MAIL_FROM: 'mail@shop.example' }
    const { post, service, group } = await openOutbox('sqlite', { env })
    const name = 'Ada Lindqvist Ünïcødé'
    const message = 'Do you bake without rye?\n.\nA line with a dot.'
    for (const to of [postfix.address, 'gone@people.example', 'user@elsewhere.example'])
      assert.equal((await post(contactPath, { ...contactBody, to, name, message })).statusCode, 201)
    await service.worker.runDue()

    const messages = new Map((await messagesOf(group)).map((each) => [each.recipient, each]))
    const [sent, unknown, foreign] = [postfix.address, 'gone@people.example', 'user@elsewhere.example'].map((to) =>
      messages.get(to),
    )
    assert.deepEqual([sent?.state, unknown?.state, foreign?.state], ['sent', 'failed', 'failed'], await postfix.log())
    assert.match(String(unknown?.problem), /did not accept the recipient: 550 5\.1\.1 .*User unknown/)
    assert.match(String(foreign?.problem), /did not accept the recipient: 554 5\.7\.1 .*Relay access denied/)
    const { suppressions } = await listSuppressions(group.store, { limit: 10, skip: 0 })
    assert.deepEqual(
      suppressions.map(({ address }) => address),
      ['gone@people.example'],
    )

    await until(async () => (await postfix.arrived()).length > 0)
    const arrived = await postfix.arrived()
    assert.equal(arrived.length, 1)
    const [raw = ''] = arrived
    assert.match(raw, /^Return-Path: <mail@shop\.example>$/m)
    assert.match(raw, /^Received: from shop\.example .*\n.* with ESMTPS /m)
    const mail = await PostalMime.parse(raw)
    assert.equal(mail.messageId, `<${sent?.messageId}>`)
    assert.equal(mail.from?.address, 'mail@shop.example')
    assert.deepEqual(
      mail.to?.map(({ address }) => address),
      [postfix.address],
    )
    assert.equal(mail.subject, sent?.subject)
    assert.ok(mail.subject?.includes(name))
    assert.equal(new Date(mail.date ?? '').getTime(), sent?.createdMs)
    for (const line of message.split('\n')) assert.ok(mail.text?.split('\n').includes(line), line)
    assert.ok(mail.html?.includes('Do you bake without rye?'))
  })
})
