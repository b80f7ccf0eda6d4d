import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Stripe from 'stripe'
import { readStripeEvent } from '../../../src/payments/stripe/stripe.ts'

const secret = 'whsec_of-this-endpoint'
const nowMs = 1_700_000_000_500
const nowSeconds = 1_700_000_000

const someEvent = {
  id: 'evt_1',
  object: 'event',
  type: 'product.updated',
  livemode: true,
  data: { object: { id: 'prod_1', object: 'product' } },
}

const write = (event: unknown): Buffer => Buffer.from(JSON.stringify(event, null, 2))

const sign = (body: Buffer, timestamp = nowSeconds, key = secret): string =>
  Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret: key, timestamp })

const read = (event: unknown) => {
  const body = write(event)
  return readStripeEvent({ body, signature: sign(body), secret, nowMs })
}

const wrong = { code: 'ValidationError', message: 'The signature of this call is invalid.' }
const untimely = { code: 'ValidationError', message: 'This call was signed too long ago, or in the future.' }

describe('the subject of an event', () => {
  const session = { id: 'cs_1', object: 'checkout.session' }
  const price = { id: 'price_1', object: 'price', product: 'prod_2' }
  for (const [type, object, concerns] of [
    ['product.created', { id: 'prod_1' }, { kind: 'product', id: 'prod_1' }],
    ['product.updated', { id: 'prod_1' }, { kind: 'product', id: 'prod_1' }],
    ['product.deleted', { id: 'prod_1' }, { kind: 'product', id: 'prod_1' }],
    ['price.created', price, { kind: 'product', id: 'prod_2' }],
    ['price.updated', { ...price, product: { id: 'prod_3' } }, { kind: 'product', id: 'prod_3' }],
    ['price.deleted', price, { kind: 'product', id: 'prod_2' }],
    ['checkout.session.completed', session, { kind: 'session', id: 'cs_1' }],
    ['checkout.session.async_payment_succeeded', session, { kind: 'session', id: 'cs_1' }],
    ['checkout.session.async_payment_failed', session, { kind: 'session', id: 'cs_1' }],
    ['checkout.session.expired', session, undefined],
    ['customer.created', { id: 'cus_1' }, undefined],
    ['product.', { id: 'prod_1' }, undefined],
    ['price.updated', { id: 'price_1' }, undefined],
    ['product.updated', {}, undefined],
  ] as const) {
    it(`is ${concerns ? `the ${concerns.kind} ${concerns.id}` : 'nothing'} for ${type}`, async () => {
      const event = await read({ ...someEvent, type, data: { object } })
      assert.deepEqual(event, { id: 'evt_1', type, live: true, concerns })
    })
  }

  for (const [what, id] of [
    ['is empty', ''],
    ['has a character that not every database takes', 'prod_\0'],
    ['has half a character', 'prod_\ud800'],
    ['is not of plain letters', 'prod_é'],
    ['is longer than any', 'x'.repeat(256)],
  ] as const) {
    it(`is nothing if the id of the event, its object or its product ${what}`, async () => {
      const data = { object: { id } }
      assert.equal((await read({ ...someEvent, id })).concerns, undefined)
      assert.equal((await read({ ...someEvent, data })).concerns, undefined)
      assert.equal((await read({ ...someEvent, type: 'checkout.session.completed', data })).concerns, undefined)
      const priced = { object: { id: 'price_1', product: id } }
      assert.equal((await read({ ...someEvent, type: 'price.updated', data: priced })).concerns, undefined)
    })
  }

  it('is nothing for an event of a Connect account', async () => {
    assert.equal((await read({ ...someEvent, account: 'acct_2' })).concerns, undefined)
  })

  it('is nothing for a thin event', async () => {
    const { data, ...thin } = someEvent
    const event = { ...thin, object: 'v2.core.event', related_object: data.object }
    assert.deepEqual(await read(event), { id: 'evt_1', type: 'product.updated', live: true, concerns: undefined })
  })

  it('includes whether real money moves', async () => {
    assert.equal((await read({ ...someEvent, livemode: false })).live, false)
  })
})

describe('the signature of an event', () => {
  const body = write(someEvent)

  it('may be one of several, as during the rotation of a secret', async () => {
    const old = sign(body, nowSeconds, 'whsec_old').replace(/^.*,/, '')
    const signature = `${sign(body)},${old}`
    assert.equal((await readStripeEvent({ body, signature, secret, nowMs })).id, 'evt_1')
  })

  const right = sign(body)
  for (const [what, signature] of [
    ['none', ''],
    ['one of another secret', sign(body, nowSeconds, 'whsec_other')],
    ['one of another body', sign(write({ ...someEvent, id: 'evt_2' }))],
    ['a shortened one', right.slice(0, -1)],
    ['a lengthened one', `${right}0`],
    ['an empty one', `t=${nowSeconds},v1=`],
    ['one of the test scheme', right.replace('v1=', 'v0=')],
    ['one without a time', right.replace(/^t=\d+,/, '')],
    ['one with another time', right.replace(/^t=\d+/, `t=${nowSeconds - 1}`)],
    ['two times', `t=${nowSeconds},${right}`],
    ['nonsense', 'nonsense'],
  ] as const) {
    it(`is refused: ${what}`, async () => {
      await assert.rejects(readStripeEvent({ body, signature, secret, nowMs }), wrong)
    })
  }

  it('is refused for the same event with different bytes', async () => {
    const reserialised = Buffer.from(JSON.stringify(JSON.parse(body.toString())))
    await assert.rejects(readStripeEvent({ body: reserialised, signature: right, secret, nowMs }), wrong)
  })

  for (const none of ['', '  ', '\n']) {
    it(`is refused if the secret is ${JSON.stringify(none)}`, async () => {
      const signature = sign(body, nowSeconds, none || 'x')
      await assert.rejects(readStripeEvent({ body, signature, secret: none, nowMs }), wrong)
    })
  }

  for (const [seconds, accepted] of [
    [-300, true],
    [-301, false],
    [300, true],
    [301, false],
  ] as const) {
    it(`is ${accepted ? 'accepted' : 'refused'} when it was made ${-seconds} seconds ago`, async () => {
      const call = { body, signature: sign(body, nowSeconds + seconds), secret, nowMs }
      if (accepted) assert.equal((await readStripeEvent(call)).id, 'evt_1')
      else await assert.rejects(readStripeEvent(call), untimely)
    })
  }

  it('is not made recent by a timestamp that parsers read differently', async () => {
    const old = sign(body, nowSeconds - 10_000)
    for (const invalid of [old.replace(',', 'x,'), old.replace(',', '=1,'), old.replace(',', '.5,'), `${old},t=`]) {
      await assert.rejects(readStripeEvent({ body, signature: invalid, secret, nowMs }), wrong)
    }
    await assert.rejects(readStripeEvent({ body, signature: `t=${nowSeconds},${old}`, secret, nowMs }), wrong)
  })

  for (const text of ['', 'no JSON', 'null', '[]', '{}', '{"id":1,"type":"x"}']) {
    it(`is refused for a body that is no event: ${JSON.stringify(text)}`, async () => {
      const bytes = Buffer.from(text)
      const call = { body: bytes, signature: sign(bytes), secret, nowMs }
      await assert.rejects(readStripeEvent(call), { code: 'ValidationError' })
    })
  }
})
