import assert from 'node:assert/strict'
import { it } from 'node:test'
import { recordOrder } from '../../src/store/commerce/orders.ts'
import { write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { newOrder } from '../helpers/orders.ts'
import { countTraces, messagesOf, openOutbox, orderBody, orderPath } from '../helpers/outbox.ts'
import { postSuite } from '../helpers/post-suite.ts'

onBothEngines(`POST ${orderPath}, as every endpoint with a body`, (engine) =>
  postSuite(engine, {
    path: orderPath,
    required: ['to', 'htmlInfo'],
    status: 201,
    prepare: async () => orderBody,
  }),
)

const { htmlInfo } = orderBody

onBothEngines(`POST ${orderPath}`, (engine) => {
  it('answers exactly true when the message and its delivery job are on disk', async () => {
    const { post, group, addSite } = await openOutbox(engine)
    const site = await addSite({ name: 'Corner Bakery' })
    const answer = await post(orderPath, orderBody)
    assert.equal(answer.statusCode, 201)
    assert.equal(answer.body, 'true')
    const { messages, jobs, tallied } = await countTraces(group)
    assert.deepEqual({ messages, jobs, tallied }, { messages: 1, jobs: 1, tallied: 2 })
    const [{ kind, recipient, replyTo, subject, content } = assert.fail()] = await messagesOf(group)
    assert.deepEqual([kind, recipient, replyTo], ['order', 'ada@customer.example', null])
    assert.equal(subject, 'Thank you for your order – Corner Bakery')
    assert.deepEqual(content, {
      siteId: site.id,
      siteName: 'Corner Bakery',
      title: htmlInfo.title,
      subtitle: htmlInfo.subtitle,
      signature: htmlInfo.signature,
      whiteBoxHtml: '<ul><li>2 × Sourdough</li></ul>',
    })
  })

  it('has the title without tags as its subject, truncated if it is long', async () => {
    const { post, latest } = await openOutbox(engine)
    const subjectOf = async (title: string) => {
      assert.equal((await post(orderPath, { ...orderBody, htmlInfo: { ...htmlInfo, title } })).statusCode, 201)
      return (await latest()).subject
    }
    assert.equal(await subjectOf('Thanks, <b class="x">Ada</b>!'), 'Thanks, Ada!')
    assert.equal(await subjectOf('Bread < cake, 2 > 1, <3'), 'Bread < cake, 2 > 1, <3')
    assert.equal(await subjectOf('=?utf-8?q?Bcc=3A_d@e.f?='), '=?utf-8?q?Bcc=3A_d@e.f?=')
    const long = await subjectOf(`x${'🥐'.repeat(400)}`)
    assert.ok(long.length <= 200 && long.isWellFormed() && long.endsWith('🥐…'))
  })

  it('has customerEmail as Reply-To unless it is the customer’s own address, else the site’s address', async () => {
    const { post, latest, addSite } = await openOutbox(engine)
    const replyTo = async (more: object) => {
      assert.equal((await post(orderPath, { ...orderBody, ...more })).statusCode, 201)
      return (await latest()).replyTo
    }
    assert.equal(await replyTo({}), null)
    assert.equal(await replyTo({ customerEmail: 'ADA@customer.example' }), null)
    await addSite({ settings: { businessInfo: { contactInfo: { email: 'hello@bücher.example' } } } })
    assert.equal(await replyTo({}), 'hello@xn--bcher-kva.example')
    assert.equal(await replyTo({ customerEmail: 'ADA@customer.example' }), 'hello@xn--bcher-kva.example')
    assert.equal(await replyTo({ customerEmail: 'shop@bakery.example' }), 'shop@bakery.example')
  })

  it('goes to customers regardless of the recipients listed for contact e-mails', async () => {
    const { post, addSite } = await openOutbox(engine)
    await addSite({ privateSettings: { allowedRecipients: ['owner@bakery.example'] } })
    assert.equal((await post(orderPath, orderBody)).statusCode, 201)
  })

  it('goes to addresses without an order for a tenth of the daily limit, and to customers without further limit', async () => {
    const outbox = await openOutbox(engine, { env: { MAIL_DAILY_LIMITS: 'free=20,basic=20,pro=20,proplus=20' } })
    const { post, group, clock } = outbox
    const send = (to: string) => post(orderPath, { ...orderBody, to })
    await write(group.store, clock.now, (writer) => recordOrder(writer, newOrder({ email: 'Ada@People.example' })))
    for (const to of ['a@victim.example', 'b@victim.example']) assert.equal((await send(to)).statusCode, 201)
    const before = await countTraces(group)
    const refused = await send('c@victim.example')
    assertFailure(refused, 429, 'RateLimited', /its 2 order e-mails of today to addresses that no order of it has/)
    assert.ok(Number(refused.headers['retry-after']) > 0)
    assert.deepEqual(await countTraces(group), before)
    for (let n = 0; n < 18; n += 1) assert.equal((await send('ada@people.EXAMPLE')).statusCode, 201)
    assertFailure(await send('ada@people.example'), 429, 'RateLimited', /its 20 e-mails of today/)
    clock.now += 24 * 3_600_000
    assert.equal((await send('c@victim.example')).statusCode, 201)
  })

  it('refuses invalid input, names every problem in one answer, and stores nothing', async () => {
    const { post, group } = await openOutbox(engine)
    const withTexts = (texts: object) => ({ ...orderBody, htmlInfo: { ...htmlInfo, ...texts } })
    const { to: _to, ...withoutTo } = orderBody
    const cases: [object, RegExp][] = [
      [withoutTo, /^to is required\.$/],
      [{ to: orderBody.to, customHtml: '<p>x</p>' }, /^htmlInfo is required/],
      [
        { ...orderBody, htmlInfo: {} },
        /^htmlInfo\.title is required; htmlInfo\.subtitle is required; htmlInfo\.whiteBoxText is required; htmlInfo\.signature is required\.$/,
      ],
      ...Object.keys(htmlInfo).flatMap((name): [object, RegExp][] => [
        [withTexts({ [name]: '' }), new RegExp(`^htmlInfo\\.${name} must not be empty`)],
        [
          withTexts({ [name]: ' ' }),
          new RegExp(`^htmlInfo\\.${name} must .*not b.* blank|^htmlInfo\\.${name} must.*blank`),
        ],
        [withTexts({ [name]: 5 }), new RegExp(`^htmlInfo\\.${name} must be a text`)],
        [withTexts({ [name]: null }), new RegExp(`^htmlInfo\\.${name} must be a text`)],
        [withTexts({ [name]: ['x'] }), new RegExp(`^htmlInfo\\.${name} must be a text`)],
        [withTexts({ [name]: 'x'.repeat(100_001) }), new RegExp(`^htmlInfo\\.${name} must have at most 1000`)],
      ]),
      ...['\r', '\n', '\r\n', '\u0007', '\u0085'].map((character): [object, RegExp] => [
        withTexts({ title: `Thanks${character}Bcc: d@e.f` }),
        /^htmlInfo\.title must be one line of text/,
      ]),
      ...['<p><script>alert(1)</script></p>', '<p>&nbsp;</p>', '<b><img src="https://a.example/x.png"></b>'].map(
        (whiteBoxText): [object, RegExp] => [withTexts({ whiteBoxText }), /^htmlInfo\.whiteBoxText contains nothing/],
      ),
      [{ ...orderBody, siteName: 'a\r\nBcc: d@e.f' }, /^siteName must be one line of text/],
      [{ ...orderBody, to: 'a@b.c, d@e.f' }, /^to must be one e-mail address/],
      [{ ...orderBody, to: ['a@b.c'] }, /^to must be a text/],
      [{ ...orderBody, customerEmail: 'x' }, /^customerEmail must be one e-mail address/],
      [{ to: 'x', htmlInfo: { title: '\n' } }, /^(?=.*\bto must be)(?=.*\.title must be)(?=.*\.subtitle is required)/],
    ]
    for (const [body, message] of cases)
      assertFailure(await post(orderPath, body, { 'idempotency-key': 'k' }), 400, 'ValidationError', message)
    assert.deepEqual(await countTraces(group), { messages: 0, jobs: 0, keys: 0, changes: 0, tallied: 0 })
  })

  it('may have line breaks anywhere except in the title', async () => {
    const { post, latest } = await openOutbox(engine)
    const texts = { subtitle: 'a\nb', whiteBoxText: 'c\r\nd', signature: 'e\nf' }
    assert.equal((await post(orderPath, { ...orderBody, htmlInfo: { ...htmlInfo, ...texts } })).statusCode, 201)
    const { subtitle, whiteBoxHtml, signature } = (await latest()).content
    assert.deepEqual([subtitle, whiteBoxHtml, signature], ['a\nb', 'c<br />d', 'e\nf'])
  })
})
