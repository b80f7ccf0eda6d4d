import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { it } from 'node:test'
import { orderKind, refreshKind } from '../../src/payments/jobs.ts'
import { webhookSecretField } from '../../src/payments/payments.ts'
import { findIntegrationById, pruneProviderEvents, updateIntegration } from '../../src/store/commerce/integrations.ts'
import { updateGroup } from '../../src/store/control/groups.ts'
import { findPendingJobs } from '../../src/store/jobs/jobs.ts'
import { authoring, setFrozen, write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { harness, onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { connectAccount } from './shop.ts'

const secret = 'whsec_canary_of_this_test'
const dayMs = 24 * 3_600_000

/** Signs the time and the bytes like Stripe. */
function sign(payload: string, nowMs: number, key = secret): string {
  const seconds = Math.floor(nowMs / 1000)
  return `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${payload}`).digest('hex')}`
}

/** Formatted with line breaks like Stripe's: parsing and serialising it changes the bytes. */
const eventText = (id: string, type: string, object: object, more: object = {}): string =>
  JSON.stringify({ id, object: 'event', type, livemode: false, data: { object }, ...more }, null, 2)

const productEvent = (id = 'evt_1', more = {}) => eventText(id, 'product.updated', { id: 'prod_1' }, more)
const sessionEvent = (id = 'evt_2') => eventText(id, 'checkout.session.completed', { id: 'cs_1' })

async function listen(engine: TestEngine, env: Record<string, string> = {}) {
  const created = await harness(engine, { env })
  const group = await created.newGroup()
  const { integration } = await connectAccount(created, group, 'main')
  const { app, clock, service } = created
  const keepSecret = () =>
    write(group.store, clock.now, (writer) =>
      service.payments.vault.put(writer, integration.id, webhookSecretField, secret),
    )
  await keepSecret()
  const url = `/webhooks/stripe/${integration.id}`
  const call = (payload: string | Buffer, headers: Record<string, string> = {}, path = url) =>
    app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
      payload,
    })
  const signed = (payload: string) => call(payload, { 'stripe-signature': sign(payload, clock.now) })
  const jobs = async () => {
    const found = [
      ...(await findPendingJobs(group.store, refreshKind)),
      ...(await findPendingJobs(group.store, orderKind)),
    ]
    return found.map(({ kind, payload }) => [kind, payload])
  }
  const events = async () => {
    const rows = await group.store.database.read.selectFrom('provider_events').selectAll().orderBy('event_id').execute()
    return rows.map(({ event_id }) => event_id)
  }
  const nothingHappened = async () => {
    assert.deepEqual([await jobs(), await events()], [[], []])
    assert.equal((await findIntegrationById(group.store, integration.id))?.lastEventMs, null)
  }
  return { ...created, group, integration, url, call, signed, jobs, events, nothingHappened }
}

onBothEngines('POST /webhooks/stripe/<integration id>', (engine) => {
  it('accepts a signed event at once, and leaves the work to a job', async () => {
    const { signed, jobs, events, integration, group, clock } = await listen(engine)
    const answer = await signed(productEvent())
    assert.equal(answer.statusCode, 200, answer.body)
    assert.equal(answer.body, '{"success":true,"data":{"received":true},"error":null}')
    assert.equal((await signed(sessionEvent())).statusCode, 200)
    assert.deepEqual(await jobs(), [
      [refreshKind, { integrationId: integration.id, productId: 'prod_1' }],
      [orderKind, { integrationId: integration.id, sessionId: 'cs_1' }],
    ])
    assert.deepEqual(await events(), ['evt_1', 'evt_2'])
    assert.equal((await findIntegrationById(group.store, integration.id))?.lastEventMs, clock.now)
  })

  it('accepts an event once, however often it is sent with a fresh signature', async () => {
    const { signed, events, group, clock } = await listen(engine)
    const count = () => group.store.database.read.selectFrom('jobs').selectAll().execute()
    await signed(productEvent())
    // While the first job runs, a second one would not be merged with a waiting one.
    await write(group.store, clock.now, ({ db }) => db.updateTable('jobs').set({ state: 'running' }).execute())
    for (const _time of [1, 2]) {
      clock.now += 10_000
      assert.equal((await signed(productEvent())).statusCode, 200)
    }
    const answers = await Promise.all(Array.from({ length: 5 }, () => signed(productEvent())))
    for (const { statusCode } of answers) assert.equal(statusCode, 200)
    assert.equal((await count()).length, 1)
    assert.deepEqual(await events(), ['evt_1'])
    assert.equal((await signed(productEvent('evt_9'))).statusCode, 200)
    assert.equal((await count()).length, 2)
  })

  it('refuses a missing signature, one with another secret, or any other invalid one', async () => {
    const { call, nothingHappened, clock } = await listen(engine)
    const payload = productEvent()
    assertFailure(await call(payload), 400, 'ValidationError', /stripe-signature header is missing/)
    const right = sign(payload, clock.now)
    const wrong = [
      '', 'x', 't=1', sign(payload, clock.now, 'whsec_other'), sign(payload, clock.now, ''), right.slice(0, -1), `${right}0`,
      right.replace('v1=', 'v0='), right.replace(/v1=.*/, 'v1='), right.replace(/t=\d+,/, ''), sign(sessionEvent(), clock.now),
    ] // biome-ignore format: a few lines read better
    for (const signature of wrong)
      assertFailure(await call(payload, { 'stripe-signature': signature }), 400, 'ValidationError', /signature/)
    await nothingHappened()
  })

  it('refuses a signature more than 300 seconds old or ahead', async () => {
    const { call, signed, nothingHappened, clock, events } = await listen(engine)
    const payload = productEvent()
    for (const away of [-301_000, 301_000, -dayMs]) {
      const answer = await call(payload, { 'stripe-signature': sign(payload, clock.now + away) })
      assertFailure(answer, 400, 'ValidationError', /signed too long ago, or in the future/)
    }
    await nothingHappened()
    assert.equal((await signed(payload)).statusCode, 200)
    const old = await call(productEvent('evt_3'), {
      'stripe-signature': sign(productEvent('evt_3'), clock.now - 300_000),
    })
    assert.equal(old.statusCode, 200)
    assert.equal((await events()).length, 2)
  })

  it('refuses a re-serialised body: the exact bytes were signed', async () => {
    const { call, nothingHappened, clock } = await listen(engine)
    const payload = productEvent()
    const headers = { 'stripe-signature': sign(payload, clock.now) }
    const others = [JSON.stringify(JSON.parse(payload)), `${payload}\n`, payload.replace('prod_1', 'prod_2'), '', '{}']
    for (const other of others) assertFailure(await call(other, headers), 400, 'ValidationError', /signature/)
    await nothingHappened()
  })

  it('checks the bytes under any content type, up to 256 KB', async () => {
    const { call, clock, events } = await listen(engine)
    const types = ['text/plain', 'application/octet-stream', 'application/json', 'x/y; charset=latin1']
    for (const [at, type] of types.entries()) {
      const payload = productEvent(`evt_${at}`, { filler: 'ü' })
      const answer = await call(payload, { 'content-type': type, 'stripe-signature': sign(payload, clock.now) })
      assert.equal(answer.statusCode, 200, answer.body)
    }
    assert.equal((await events()).length, types.length)
    const large = productEvent('evt_large', { filler: 'x'.repeat(250_000) })
    assert.equal((await call(large, { 'stripe-signature': sign(large, clock.now) })).statusCode, 200)
    const tooLarge = productEvent('evt_too_large', { filler: 'x'.repeat(270_000) })
    const answer = await call(tooLarge, { 'stripe-signature': sign(tooLarge, clock.now) })
    assertFailure(answer, 413, 'PayloadTooLarge')
  })

  it('refuses bytes that are not text before checking their signature', async () => {
    const { call, nothingHappened, clock } = await listen(engine)
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x7d])
    const answer = await call(bytes, { 'stripe-signature': sign(bytes.toString('latin1'), clock.now) })
    assertFailure(answer, 400, 'ValidationError', /not text/)
    await nothingHappened()
  })

  it('does not disclose to the caller that the vault does not open', async () => {
    const { signed, group, clock, log } = await listen(engine)
    await write(group.store, clock.now, ({ db }) =>
      db.updateTable('secrets').set({ sealed: 'v1.AAAA' }).where('field', '=', webhookSecretField).execute(),
    )
    const answer = await signed(productEvent())
    assertFailure(answer, 500, 'InternalError')
    assert.match(log(), /A webhook secret cannot be read/)
  })

  it('refuses every call without a stored secret, also one signed with an empty secret', async () => {
    const { call, nothingHappened, group, clock, log } = await listen(engine)
    await write(group.store, clock.now, ({ db }) =>
      db.deleteFrom('secrets').where('field', '=', webhookSecretField).execute(),
    )
    const payload = productEvent()
    for (const key of [secret, '', 'undefined']) {
      const answer = await call(payload, { 'stripe-signature': sign(payload, clock.now, key) })
      assertFailure(answer, 400, 'ValidationError', /No webhook secret is configured/)
    }
    await nothingHappened()
    assert.ok(!log().includes(secret))
  })

  it('answers 404 for an integration that is missing, has another type, or whose group is being deleted', async () => {
    const { call, url, integration, service, group, clock, nothingHappened } = await listen(engine)
    const payload = productEvent()
    const headers = { 'stripe-signature': sign(payload, clock.now) }
    const missing = `${integration.id.slice(0, -1)}${integration.id.endsWith('0') ? '1' : '0'}`
    const paths = [`/webhooks/stripe/${missing}`, `/webhooks/stripe/x`, `/webhooks/paypal/${integration.id}`]
    const bodies = new Set<string>()
    for (const path of [...paths, `/webhooks/stripe/${group.group.id}`]) {
      const answer = await call(payload, headers, path)
      assertFailure(answer, 404, 'NotFound', /no such integration/)
      bodies.add(answer.body)
    }
    await updateGroup(service.store, group.group, { deletingMs: clock.now }, authoring(clock.now))
    const deleting = await call(payload, headers, url)
    assertFailure(deleting, 404, 'NotFound')
    bodies.add(deleting.body)
    assert.equal(bodies.size, 1)
    await nothingHappened()
  })

  it('ignores other events: test events of a live account, other types', async () => {
    const { signed, nothingHappened } = await listen(engine)
    assert.equal((await signed(productEvent('evt_1', { livemode: true }))).statusCode, 200)
    assert.equal((await signed(eventText('evt_2', 'customer.created', { id: 'cus_1' }))).statusCode, 200)
    await nothingHappened()
  })

  it('accepts events of a frozen group, and of an account being disconnected, because money still moves', async () => {
    const { signed, events, service, group, clock, integration } = await listen(engine)
    await setFrozen(service.store, group.group.id, true)
    clock.now += 1000
    assert.equal((await signed(sessionEvent('evt_1'))).statusCode, 200)
    await write(group.store, clock.now, (writer) =>
      updateIntegration(writer, integration, { status: 'disconnecting' }, 'test'),
    )
    assert.equal((await signed(sessionEvent('evt_2'))).statusCode, 200)
    assert.equal((await events()).length, 2)
  })

  it('answers 5xx if it could not be stored entirely, and accepts it when it is sent again', async () => {
    const { signed, events, jobs, group } = await listen(engine)
    const rename = (from: string, to: string) =>
      group.store.database.write((db) => db.schema.alterTable(from).renameTo(to).execute())
    await rename('jobs', 'jobs_away')
    assertFailure(await signed(sessionEvent()), 500, 'InternalError')
    await rename('jobs_away', 'jobs')
    assert.deepEqual(await events(), [])
    assert.equal((await signed(sessionEvent())).statusCode, 200)
    assert.equal((await jobs()).length, 1)
  })

  it('limits other callers by IP address, and never the provider', async () => {
    const { call, signed } = await listen(engine, {
      RATE_LIMITS: 'anonymous=1/2,free=9/9,basic=9/9,pro=9/9,proplus=9/9',
    })
    for (let at = 0; at < 10; at += 1) assert.equal((await signed(productEvent(`evt_${at}`))).statusCode, 200)
    for (const _time of [1, 2]) assertFailure(await call('{}'), 400, 'ValidationError')
    assertFailure(await call('{}'), 429, 'RateLimited')
    assertFailure(await call('{}', {}, '/webhooks/stripe/x'), 429, 'RateLimited')
    assert.equal((await signed(productEvent('evt_last'))).statusCode, 200)
  })

  it('needs no API key, accepts POST only, and writes no secret into the log', async () => {
    const { app, url, signed, log } = await listen(engine)
    const answer = await app.inject({ url })
    assertFailure(answer, 405, 'MethodNotAllowed')
    assert.equal(answer.headers.allow, 'POST')
    await signed(sessionEvent())
    assert.match(log(), /"route":"\/webhooks\/:type\/:integrationId"/)
    for (const canary of [secret, 'whsec_', 'v1=']) assert.ok(!log().includes(canary), canary)
  })

  it('deletes events after 30 days', async () => {
    const { signed, events, group, clock } = await listen(engine)
    await signed(productEvent('evt_1'))
    clock.now += 1
    await signed(productEvent('evt_2'))
    await pruneProviderEvents(group.store.database, clock.now + 30 * dayMs - 1)
    assert.deepEqual(await events(), ['evt_1', 'evt_2'])
    await pruneProviderEvents(group.store.database, clock.now + 30 * dayMs)
    assert.deepEqual(await events(), ['evt_2'])
  })
})
