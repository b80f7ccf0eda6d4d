import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { contactBody, contactPath, countTraces, messagesOf, openOutbox } from '../helpers/outbox.ts'
import { postSuite } from '../helpers/post-suite.ts'

onBothEngines(`POST ${contactPath}, as every endpoint with a body`, (engine) =>
  postSuite(engine, {
    path: contactPath,
    required: ['name', 'to', 'message', 'siteName'],
    status: 201,
    prepare: async () => contactBody,
  }),
)

onBothEngines(`POST ${contactPath}`, (engine) => {
  it('answers exactly true when the message and its delivery job are on disk', async () => {
    const { post, group } = await openOutbox(engine)
    const answer = await post(contactPath, contactBody)
    assert.equal(answer.statusCode, 201)
    assert.equal(answer.body, 'true')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.deepEqual(await countTraces(group), { messages: 1, jobs: 1, keys: 0, changes: 0, tallied: 1 })
    const [message] = await messagesOf(group)
    assert.partialDeepStrictEqual(message, {
      kind: 'contact',
      state: 'waiting',
      recipient: 'hello@bakery.example',
      replyTo: null,
      subject: 'New message from Ada Lindqvist – Corner Bakery',
      content: {
        siteName: 'Corner Bakery',
        visitor: { name: 'Ada Lindqvist', message: 'Do you bake without rye?\nI ask for a friend.' },
      },
      attempts: 0,
      dueMs: message?.createdMs,
      isUnderWay: false,
      problem: null,
      createdMs: message?.createdMs,
      endedMs: null,
    })
    assert.equal(message?.messageId, `${message?.id}@localhost`)
  })

  it('accepts contactEmail instead of to, and uses customerEmail as Reply-To', async () => {
    const { post, latest } = await openOutbox(engine)
    const { to: contactEmail, ...rest } = contactBody
    await post(contactPath, { ...rest, contactEmail, customerEmail: 'Ada@BÜCHER.example' })
    const { recipient, replyTo, content } = await latest()
    assert.equal(recipient, contactEmail)
    assert.equal(replyTo, 'Ada@xn--bcher-kva.example')
    assert.equal(content.visitor?.email, replyTo)
    await post(contactPath, { ...contactBody, to: 'first@bakery.example', contactEmail: 'second@bakery.example' })
    assert.equal((await latest()).recipient, 'first@bakery.example')
  })

  it('stores markup sanitised, and texts unchanged', async () => {
    const { post, latest } = await openOutbox(engine)
    const whiteBoxText = '<p onclick="x()">One<script>alert(1)</script></p>'
    const texts = { title: '<b>Hi</b> {{x}}', subtitle: '#{y}', signature: '<%= z %>' }
    await post(contactPath, { ...contactBody, htmlInfo: { ...texts, whiteBoxText, unknown: 5 } })
    assert.deepEqual((await latest()).content, {
      siteName: 'Corner Bakery',
      ...texts,
      whiteBoxHtml: '<p>One</p>',
      visitor: { name: contactBody.name, message: contactBody.message },
    })
    await post(contactPath, { ...contactBody, htmlInfo: { whiteBoxText: '<p><script>alert(1)</script></p>' } })
    assert.equal((await latest()).content.whiteBoxHtml, undefined)
    const { htmlInfo: _none, ...plain } = contactBody
    const picture = '<img src="https://bakery.example/loaf.png" />'
    await post(contactPath, { ...plain, customHtml: picture })
    assert.equal((await latest()).content.customHtml, picture)
    await post(contactPath, { ...plain, customHtml: '<h1>Hello</h1><script>alert(1)</script>' })
    assert.equal((await latest()).content.customHtml, '<h1>Hello</h1>')
  })

  it('truncates a long subject between characters', async () => {
    const { post, latest } = await openOutbox(engine)
    await post(contactPath, { ...contactBody, name: '🥐'.repeat(100), siteName: 'x'.repeat(200) })
    const { subject } = await latest()
    assert.ok(subject.length <= 200)
    assert.ok(subject.isWellFormed())
    assert.match(subject, /^New message from 🥐+…$/u)
  })

  it('removes the effect of direction characters in the subject', async () => {
    const { post, latest } = await openOutbox(engine)
    await post(contactPath, { ...contactBody, name: 'Ada\u202Eadnil', siteName: 'מאפייה\u2066' })
    assert.equal((await latest()).subject, 'New message from Adaadnil – מאפייה')
  })

  it('refuses invalid input, names every problem in one answer, and stores nothing', async () => {
    const { post, group } = await openOutbox(engine)
    const { htmlInfo: _html, ...withoutHtml } = contactBody
    const { to: _to, ...withoutTo } = contactBody
    const oneAddress = /^to must be one e-mail address/
    const cases: [object, RegExp][] = [
      [withoutHtml, /^customHtml or htmlInfo is required/],
      [withoutTo, /^to is required\.$/],
      ...['a@b.c,d@e.f', 'Ann <a@b.c>', 'a@b.c\r\nBcc: d@e.f', 'a@b', '"a b"@c.d', 'a@[127.0.0.1]', 'a@b.c.'].map(
        (to): [object, RegExp] => [{ ...contactBody, to }, oneAddress],
      ),
      [{ ...contactBody, to: '' }, /^to must not be empty/],
      [{ ...contactBody, to: ['a@b.c'] }, /^to must be a text/],
      [{ ...contactBody, to: { address: 'a@b.c' } }, /^to must be a text/],
      [{ ...contactBody, to: `${'a'.repeat(250)}@b.c` }, /^to must be one e-mail address/],
      [{ ...contactBody, to: `a@${'b.'.repeat(200)}c` }, /^to must have at most 254 characters/],
      [{ ...contactBody, contactEmail: 'invalid' }, /^contactEmail must be one e-mail address/],
      [{ ...contactBody, customerEmail: 'a@b.c\n' }, /^customerEmail must be one e-mail address/],
      ...['\r', '\n', '\t', '\u0007', '\u001b', '\u007f', '\u0085'].flatMap((character): [object, RegExp][] => [
        [{ ...contactBody, name: `Ada${character}Bcc: d@e.f` }, /^name must be one line of text/],
        [{ ...contactBody, siteName: `Site${character}Bcc: d@e.f` }, /^siteName must be one line of text/],
      ]),
      [{ ...contactBody, name: 'a\0b' }, /cannot be stored/],
      [{ ...contactBody, name: ' ' }, /^name must be one line of text, and not blank/],
      [{ ...contactBody, name: 'x'.repeat(201) }, /^name must have at most 200/],
      [{ ...contactBody, siteName: 'x'.repeat(201) }, /^siteName must have at most 200/],
      [{ ...contactBody, message: '\n ' }, /^message must not be blank/],
      [{ ...contactBody, message: 'x'.repeat(20_001) }, /^message must have at most 20000/],
      [{ ...contactBody, customHtml: 'x'.repeat(200_001) }, /^customHtml must have at most 200000/],
      [{ ...contactBody, customHtml: '<script>alert(1)</script> ' }, /^customHtml contains nothing/],
      [{ ...contactBody, customHtml: '<p> </p>' }, /^customHtml contains nothing/],
      [{ ...contactBody, htmlInfo: [] }, /^htmlInfo must be an object/],
      [{ ...contactBody, htmlInfo: { title: 'x'.repeat(1001) } }, /^htmlInfo\.title must have at most 1000/],
      [
        { ...contactBody, htmlInfo: { whiteBoxText: 'x'.repeat(100_001) } },
        /^htmlInfo\.whiteBoxText must have at most/,
      ],
      [
        { to: 'a@b', name: '\n', siteName: 5, htmlInfo: { title: 5, signature: null } },
        /^(?=.*\bto must be)(?=.*\bname must be)(?=.*\bsiteName must be)(?=.*\bmessage is req)(?=.*\.title must)(?=.*\.signature must)/,
      ],
    ]
    for (const [body, message] of cases)
      assertFailure(await post(contactPath, body, { 'idempotency-key': 'k' }), 400, 'ValidationError', message)
    assert.deepEqual(await countTraces(group), { messages: 0, jobs: 0, keys: 0, changes: 0, tallied: 0 })
  })

  it('writes, if sites list no recipients, only to their addresses and to their domains', async () => {
    const { post, group, addSite } = await openOutbox(engine)
    const statusOf = async (to: string) => (await post(contactPath, { ...contactBody, to })).statusCode
    const stranger = 'victim@elsewhere.example'
    assert.equal(await statusOf(stranger), 201, 'a group without sites')
    await addSite({})
    assert.equal(await statusOf(stranger), 201, 'a site that names neither an address nor a domain')
    const contactInfo = { email: 'Baker@mail.example', sales: { emails: ['sales@mail.example'] } }
    await addSite({ domainName: 'www.bücher.example:8443', settings: { businessInfo: { contactInfo } } })
    await addSite({ privateSettings: { submissionNotices: { to: 'desk@office.example', rhythm: 'daily' } } })
    const before = await countTraces(group)
    const refused = [
      stranger, 'other@mail.example', 'x@evilxn--bcher-kva.example', 'x@bücher.example.evil.example',
      'x@www.elsewhere.example', 'baker+x@mail.example',
    ] // biome-ignore format: a few lines read better
    for (const to of refused)
      assertFailure(
        await post(contactPath, { ...contactBody, to }, { 'idempotency-key': 'k' }),
        403,
        'RecipientNotAllowed',
        /^No site of this group names .+ nor lives in its domain\. Name it in a site’s businessInfo/,
      )
    assert.deepEqual(await countTraces(group), before)
    for (const to of ['baker@MAIL.example', 'sales@mail.example', 'desk@office.example', 'anybody@bücher.example'])
      assert.equal(await statusOf(to), 201, to)
    assert.equal(await statusOf('x@post.bücher.example'), 201, 'below the domain')
    await addSite({ privateSettings: { allowedRecipients: [stranger] } })
    assert.equal(await statusOf(stranger), 201, 'the list takes precedence')
    assert.equal(await statusOf('baker@mail.example'), 403)
  })

  it('writes only to listed recipients if any site of the group lists some', async () => {
    const { post, group, addSite, latest } = await openOutbox(engine)
    await addSite({})
    assert.equal((await post(contactPath, contactBody)).statusCode, 201)
    await addSite({ privateSettings: { allowedRecipients: ['Owner@Bakery.example', 'shop@bücher.example'] } })
    await addSite({ privateSettings: { allowedRecipients: ['third@site.example'] } })
    const before = await countTraces(group)
    for (const to of ['hello@bakery.example', 'owner@bakery.example.evil.example', 'x+owner@bakery.example']) {
      const answer = await post(contactPath, { ...contactBody, to }, { 'idempotency-key': 'k' })
      assertFailure(answer, 403, 'RecipientNotAllowed', new RegExp(`lists ${to.replace('+', '\\+')} as a recipient`))
    }
    assert.deepEqual(await countTraces(group), before)
    for (const to of ['owner@BAKERY.example', 'shop@xn--bcher-kva.example', 'third@site.example']) {
      assert.equal((await post(contactPath, { ...contactBody, to })).statusCode, 201)
      assert.equal((await latest()).recipient.toLowerCase(), to.toLowerCase())
    }
  })
})
