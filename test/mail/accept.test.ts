import assert from 'node:assert/strict'
import { it } from 'node:test'
import { recordOrder } from '../../src/store/commerce/orders.ts'
import { write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { newOrder } from '../helpers/orders.ts'
import {
  contactBody,
  contactPath,
  countTraces,
  messagesOf,
  openOutbox,
  orderBody,
  orderPath,
} from '../helpers/outbox.ts'

const limits = (free: number) => ({ env: { MAIL_DAILY_LIMITS: `free=${free},basic=9,pro=9,proplus=9` } })
const dayMs = 86_400_000

onBothEngines('an accepted e-mail', (engine) => {
  it('is stored once, however often it is requested with one Idempotency-Key', async () => {
    const { post, group, clock } = await openOutbox(engine)
    const key = { 'idempotency-key': 'order-7' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(contactPath, contactBody, key)))
    for (const answer of answers) assert.deepEqual([answer.statusCode, answer.body], [201, 'true'])
    clock.now += dayMs - 1
    assert.equal((await post(contactPath, { ...contactBody, extra: 1 }, key)).body, 'true')
    assert.deepEqual(await countTraces(group), { messages: 1, jobs: 1, keys: 1, changes: 0, tallied: 1 })
    assertFailure(await post(contactPath, { ...contactBody, message: 'Else' }, key), 422, 'IdempotencyMismatch')
    assert.equal((await post(orderPath, orderBody, key)).statusCode, 201) // another endpoint
    assert.equal((await messagesOf(group)).length, 2)
    clock.now += 1
    await post(contactPath, contactBody, key)
    assert.equal((await messagesOf(group)).length, 3)
  })

  it('is distinct from another group’s with the same key', async () => {
    const { post, newGroup, group } = await openOutbox(engine)
    const other = await newGroup()
    const key = { 'idempotency-key': 'order-7' }
    await post(contactPath, contactBody, key)
    await post(contactPath, { ...contactBody, message: 'Else' }, { ...key, authorization: other.key })
    assert.deepEqual([(await messagesOf(group)).length, (await messagesOf(other)).length], [1, 1])
  })

  it('counts towards the tier’s daily limit; beyond it the answer is 429 with the wait, and nothing is stored', async () => {
    const { post, group, clock, newGroup } = await openOutbox(engine, limits(3))
    const key = { 'idempotency-key': 'first' }
    const order = newOrder({ email: orderBody.to })
    await write(group.store, clock.now, (writer) => recordOrder(writer, order)) // a known customer
    assert.equal((await post(contactPath, contactBody, key)).statusCode, 201)
    const more = await Promise.all(Array.from({ length: 6 }, () => post(orderPath, orderBody)))
    assert.equal(more.filter(({ statusCode }) => statusCode === 201).length, 2)
    const before = await countTraces(group)
    const refused = await post(contactPath, contactBody, { 'idempotency-key': 'late' })
    assertFailure(refused, 429, 'RateLimited', /its 3 e-mails of today/)
    assert.equal(refused.headers['retry-after'], String(12 * 3600)) // the test clock starts at noon
    assert.deepEqual(await countTraces(group), before)
    assert.deepEqual(before, { messages: 3, jobs: 3, keys: 1, changes: 1, tallied: 3 })

    assert.equal((await post(contactPath, contactBody, key)).body, 'true') // a repeated request
    const other = await newGroup()
    assert.equal((await post(contactPath, contactBody, { authorization: other.key })).statusCode, 201)
    clock.now += 12 * 3_600_000
    assert.equal((await post(contactPath, contactBody, { 'idempotency-key': 'late' })).statusCode, 201)
  })

  it('has at most 5,000 tags, and its markup is not parsed when the daily limit is reached', async () => {
    const { post, group } = await openOutbox(engine, limits(1))
    const customHtml = `<dl>${'<dt>a<dd>b'.repeat(19_899)}`
    const endless = { ...contactBody, customHtml }
    assertFailure(await post(contactPath, endless), 400, 'ValidationError', /^customHtml must have at most 5000 tags/)
    const htmlInfo = { ...orderBody.htmlInfo, whiteBoxText: '<li>a'.repeat(6000) }
    assertFailure(
      await post(orderPath, { ...orderBody, htmlInfo }),
      400,
      'ValidationError',
      /^htmlInfo.whiteBoxText must/,
    )
    assert.deepEqual(await countTraces(group), { messages: 0, jobs: 0, keys: 0, changes: 0, tallied: 0 })
    assert.equal((await post(contactPath, contactBody)).statusCode, 201)
    assertFailure(await post(contactPath, endless), 429, 'RateLimited')
  })

  it('is impossible when the tier’s limit is 0', async () => {
    const { post, group } = await openOutbox(engine, limits(0))
    assertFailure(await post(contactPath, contactBody), 429, 'RateLimited')
    assert.deepEqual(await countTraces(group), { messages: 0, jobs: 0, keys: 0, changes: 0, tallied: 0 })
  })

  it('has the name of the given site, else of the site at its Origin, else of the first', async () => {
    const { post, latest, addSite, newGroup } = await openOutbox(engine)
    const first = await addSite({ name: 'First' })
    const bakery = await addSite({
      name: 'Bakery site',
      domainName: 'bakery.example',
      settings: { businessInfo: { name: 'Corner Bakery' } },
    })
    const third = await addSite({ name: 'Third', domainName: 'third.example:8443' })
    const other = await newGroup()
    const siteOf = async (more: object, headers = {}) => {
      assert.equal(
        (await post(contactPath, { ...contactBody, siteName: 'Elsewhere', ...more }, headers)).statusCode,
        201,
      )
      return (await latest()).content.siteId
    }
    assert.equal(await siteOf({}), first.id)
    for (const siteName of ['CORNER bakery ', 'bakery SITE']) assert.equal(await siteOf({ siteName }), bakery.id)
    assert.equal(await siteOf({}, { origin: 'https://third.example:8443' }), third.id)
    assert.equal(await siteOf({ siteName: 'Corner Bakery' }, { origin: 'https://third.example:8443' }), bakery.id)
    assert.equal(await siteOf({ siteId: third.id, siteName: 'Corner Bakery' }), third.id)
    for (const siteId of ['x', other.group.id, 5, null, [third.id], { id: third.id }])
      assert.equal(await siteOf({ siteId, siteName: 'Corner Bakery' }), bakery.id)
    for (const origin of ['null', 'https://elsewhere.example', 'javascript:x', 'https://'])
      assert.equal(await siteOf({}, { origin }), first.id)
  })

  it('never shows another group’s site, even if it is named', async () => {
    const { post, newGroup, addSite, latest } = await openOutbox(engine)
    const site = await addSite({ name: 'Secret site', domainName: 'secret.example' })
    const other = await newGroup()
    const headers = { authorization: other.key, origin: 'https://secret.example' }
    assert.equal(
      (await post(orderPath, { ...orderBody, siteId: site.id, siteName: 'Secret site' }, headers)).statusCode,
      201,
    )
    const [message] = await messagesOf(other)
    assert.equal(message?.content.siteId, undefined)
    await assert.rejects(latest())
  })

  it('uses the site’s own spelling of its name', async () => {
    const { post, latest, addSite } = await openOutbox(engine)
    await addSite({ name: 'Site\r\nBcc: d@e.f' })
    await post(orderPath, orderBody)
    assert.equal((await latest()).subject, 'Thank you for your order – Site Bcc: d@e.f')
    const named = await addSite({ settings: { businessInfo: { name: 'Corner Bakery' } } })
    await post(orderPath, { ...orderBody, siteId: named.id })
    assert.equal((await latest()).content.siteName, 'Corner Bakery')
    await post(orderPath, { ...orderBody, siteName: 'My shop' })
    assert.equal((await latest()).subject, 'Thank you for your order – My shop')
  })

  it('has the sender’s domain in its Message-ID', async () => {
    const { post, latest } = await openOutbox(engine, { env: { MAIL_FROM: 'shop@bücher.example' } })
    await post(contactPath, contactBody)
    const { id, messageId } = await latest()
    assert.equal(messageId, `${id}@xn--bcher-kva.example`)
  })
})
