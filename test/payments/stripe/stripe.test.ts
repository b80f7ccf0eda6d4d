import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import Stripe from 'stripe'
import { apiVersion, openStripe } from '../../../src/payments/stripe/stripe.ts'
import { line, price, product, secretKey, send, sendError, sendList, serveStripe, session } from './serve.ts'

const someRequest = {
  mode: 'payment' as const,
  lines: [
    { price: 'price_1', quantity: 2 },
    { price: 'price_2', quantity: 1 },
  ],
  successUrl: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
  cancelUrl: 'https://shop.example/checkoutcancel',
  metadata: { group: 'g1', site: 's1' },
}

const ourProduct = {
  id: 'prod_1',
  name: 'Rye bread',
  description: 'Dark.',
  active: true,
  images: ['https://files.example/rye.jpg'],
  metadata: { productType: 'Bread' },
  defaultPriceId: 'price_1',
  createdMs: 1_700_000_000_000,
}

const ourPrice = {
  id: 'price_1',
  productId: 'prod_1',
  active: true,
  currency: 'cad',
  unitAmount: '550',
  interval: null,
  nickname: 'Small',
  lookupKey: 'rye-small',
  metadata: { variant: 'Small' },
  createdMs: 1_700_000_001_000,
}

describe('requests to Stripe', () => {
  it('use the API version of the SDK', () => {
    assert.equal(apiVersion, Stripe.API_VERSION)
  })

  it('have the key and our API version, and no telemetry', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendList(response, []))
    await stripe.listProducts(undefined)
    await stripe.listProducts(undefined)
    for (const { headers } of seen) {
      assert.equal(headers.authorization, `Bearer ${secretKey}`)
      assert.equal(headers['stripe-version'], '2026-10-28.endive')
      assert.equal(headers['x-stripe-client-telemetry'], undefined)
      assert.match(String(headers['user-agent']), /Sluice/)
      const { platform, telemetry_id } = JSON.parse(String(headers['x-stripe-client-user-agent']))
      assert.deepEqual([platform, telemetry_id], [undefined, undefined])
    }
    assert.equal(seen.length, 2)
  })

  it('keep the path of the base URL, with or without a trailing slash', async (t) => {
    const { url, seen } = await serveStripe(t, (response) => sendList(response, []))
    for (const path of ['', '/', '/stand-in', '/stand-in/']) {
      await (await openStripe({ secretKey, url: url + path, retries: 0 })).listProducts(undefined)
    }
    assert.deepEqual(
      seen.map(({ path }) => path),
      ['/v1/products', '/v1/products', '/stand-in/v1/products', '/stand-in/v1/products'],
    )
  })
})

describe('verify', () => {
  const account = {
    id: 'acct_1',
    object: 'account',
    email: 'owner@example.com',
    business_profile: { name: 'Bakery Ltd' },
    settings: { dashboard: { display_name: 'Bakery' } },
  }

  it('returns the account’s display name', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => send(response, 200, account))
    assert.deepEqual(await stripe.verify(), { id: 'acct_1', name: 'Bakery', live: false })
    assert.equal(seen[0]?.path, '/v1/account')
  })

  it('returns the business name, else the e-mail address, without a display name', async (t) => {
    const settings = { dashboard: { display_name: null } }
    const { stripe } = await serveStripe(t, (response, _, nth) =>
      send(response, 200, { ...account, settings, ...(nth === 2 && { business_profile: null }) }),
    )
    assert.equal((await stripe.verify()).name, 'Bakery Ltd')
    assert.equal((await stripe.verify()).name, 'owner@example.com')
  })

  for (const [key, live] of [
    ['sk_live_1', true],
    ['rk_live_1', true],
    ['sk_test_1', false],
    ['rk_test_1', false],
  ] as const) {
    it(`recognises ${key.slice(0, 8)} as ${live ? 'live' : 'test'} mode`, async (t) => {
      const { stripe } = await serveStripe(t, (response) => send(response, 200, account), { secretKey: key })
      assert.equal((await stripe.verify()).live, live)
    })
  }

  const refuse = { type: 'invalid_request_error', message: "The provided key 'rk_test_*1' lacks 'rak_accounts_read'." }

  it('accepts a restricted key that may read the catalogue, but not the account', async (t) => {
    const { stripe, seen } = await serveStripe(
      t,
      (response, { path }) =>
        path === '/v1/account' ? sendError(response, 403, refuse) : sendList(response, [product]),
      { secretKey: 'rk_test_1' },
    )
    assert.deepEqual(await stripe.verify(), { id: '', name: '', live: false })
    assert.deepEqual(seen[1]?.query, { limit: '1' })
  })

  it('refuses a restricted key that may read neither', async (t) => {
    const { stripe } = await serveStripe(t, (response) => sendError(response, 403, refuse), { secretKey: 'rk_test_1' })
    await assert.rejects(stripe.verify(), { name: 'ProviderFailure', kind: 'refused' })
  })

  for (const key of ['pk_live_1', 'pk_test_1', 'sk_test_1\n', 'sk test', 'sk_tést']) {
    it(`refuses ${JSON.stringify(key)} without sending it`, async (t) => {
      const { url, seen } = await serveStripe(t, (response) => send(response, 200, account))
      const verify = async () => (await openStripe({ secretKey: key, url, retries: 0 })).verify()
      await assert.rejects(verify, { name: 'ProviderFailure', kind: 'refused' })
      assert.equal(seen.length, 0)
    })
  }
})

describe('the catalogue', () => {
  it('lists products in our format, a hundred at a time', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response, _, nth) => sendList(response, [product], nth === 1))
    assert.deepEqual(await stripe.listProducts(undefined), { items: [ourProduct], next: 'prod_1' })
    assert.deepEqual(await stripe.listProducts('prod_1'), { items: [ourProduct], next: undefined })
    assert.deepEqual(
      seen.map(({ path, query }) => [path, query]),
      [
        ['/v1/products', { limit: '100' }],
        ['/v1/products', { limit: '100', starting_after: 'prod_1' }],
      ],
    )
  })

  it('lists active prices', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendList(response, [price], true))
    assert.deepEqual(await stripe.listPrices('price_0'), { items: [ourPrice], next: 'price_1' })
    assert.deepEqual(seen[0]?.query, { limit: '100', starting_after: 'price_0', active: 'true' })
  })

  for (const [what, change, unitAmount] of [
    ['keeps a fraction of a cent', { unit_amount: null, unit_amount_decimal: '0.5' }, '0.5'],
    ['keeps large amounts', { unit_amount_decimal: '99999999.123456789012' }, '99999999.123456789012'],
    ['takes nothing for an amount', { unit_amount: 0, unit_amount_decimal: '0' }, '0'],
    ['has none where the customer chooses', { custom_unit_amount: { minimum: 50 }, unit_amount_decimal: null }, null],
    ['has none where tiers decide', { billing_scheme: 'tiered', unit_amount_decimal: null }, null],
    ['has none where Stripe names none', { unit_amount: null, unit_amount_decimal: null }, null],
  ] as const) {
    it(`${what} as the amount of a price`, async (t) => {
      const { stripe } = await serveStripe(t, (response) => sendList(response, [{ ...price, ...change }]))
      assert.equal((await stripe.listPrices(undefined)).items[0]?.unitAmount, unitAmount)
    })
  }

  for (const [recurring, interval] of [
    [{ interval: 'month', interval_count: 1 }, 'month'],
    [{ interval: 'month', interval_count: 3 }, '3 months'],
    [{ interval: 'year', interval_count: 1 }, 'year'],
  ] as const) {
    it(`has "${interval}" for a recurring price`, async (t) => {
      const { stripe } = await serveStripe(t, (response) => sendList(response, [{ ...price, recurring }]))
      assert.equal((await stripe.listPrices(undefined)).items[0]?.interval, interval)
    })
  }

  it('fetches a product with all pages of its prices', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response, { path, query }) => {
      if (path === '/v1/products/prod_1') return send(response, 200, product)
      sendList(response, [query.starting_after ? { ...price, id: 'price_2' } : price], !query.starting_after)
    })
    assert.deepEqual(await stripe.fetchProduct('prod_1'), {
      product: ourProduct,
      prices: [ourPrice, { ...ourPrice, id: 'price_2' }],
    })
    assert.deepEqual(seen[1]?.query, { limit: '100', active: 'true', product: 'prod_1' })
    assert.deepEqual(seen[2]?.query, { limit: '100', active: 'true', product: 'prod_1', starting_after: 'price_1' })
  })

  it('has no deleted or unknown product', async (t) => {
    const { stripe } = await serveStripe(t, (response, { path }) =>
      path.endsWith('gone')
        ? send(response, 200, { id: 'prod_gone', object: 'product', deleted: true })
        : sendError(response, 404, { code: 'resource_missing', param: 'id' }),
    )
    assert.equal(await stripe.fetchProduct('prod_gone'), undefined)
    assert.equal(await stripe.fetchProduct('prod_never'), undefined)
  })

  it('finds the product of a price', async (t) => {
    const { stripe } = await serveStripe(t, (response, { path }) =>
      path === '/v1/prices/price_1'
        ? send(response, 200, price)
        : sendError(response, 404, { code: 'resource_missing' }),
    )
    assert.equal(await stripe.findProductOfPrice('price_1'), 'prod_1')
    assert.equal(await stripe.findProductOfPrice('price_9'), undefined)
  })

  it('lets no id change the path of a request', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendError(response, 404, { code: 'resource_missing' }))
    for (const id of ['', '.', '..', '\ud800', 'x'.repeat(256)]) {
      assert.equal(await stripe.findProductOfPrice(id), undefined)
    }
    assert.equal(seen.length, 0)
    for (const id of ['../account', 'price_1?expand=x', 'price_1/x', 'price_1#x']) {
      assert.equal(await stripe.findProductOfPrice(id), undefined)
      assert.equal(seen.at(-1)?.path, `/v1/prices/${encodeURIComponent(id)}`)
    }
  })
})

describe('createSession', () => {
  const made = { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.example/c/pay/cs_1' }

  it('requests a payment of the lines under the given key', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => send(response, 200, made))
    assert.deepEqual(await stripe.createSession(someRequest, 'key-1'), { id: made.id, url: made.url })
    assert.equal(seen[0]?.method, 'POST')
    assert.equal(seen[0]?.path, '/v1/checkout/sessions')
    assert.equal(seen[0]?.headers['idempotency-key'], 'key-1')
    assert.deepEqual(seen[0]?.form, {
      mode: 'payment',
      'line_items[0][price]': 'price_1',
      'line_items[0][quantity]': '2',
      'line_items[1][price]': 'price_2',
      'line_items[1][quantity]': '1',
      success_url: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
      cancel_url: 'https://shop.example/checkoutcancel',
      'metadata[group]': 'g1',
      'metadata[site]': 's1',
      'payment_intent_data[metadata][group]': 'g1',
      'payment_intent_data[metadata][site]': 's1',
    })
  })

  it('passes on the business, the e-mail address and the shipping countries', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => send(response, 200, made))
    const details = { businessName: 'Bakery', contactEmail: 'ada@example.com', shippingCountries: ['CA', 'US'] }
    await stripe.createSession({ ...someRequest, ...details, metadata: {} }, 'key-1')
    const { form = {} } = seen[0] ?? {}
    assert.equal(form['branding_settings[display_name]'], 'Bakery')
    assert.equal(form.customer_email, 'ada@example.com')
    assert.equal(form['payment_intent_data[description]'], 'Bakery')
    assert.equal(form['payment_intent_data[receipt_email]'], 'ada@example.com')
    assert.equal(form['shipping_address_collection[allowed_countries][0]'], 'CA')
    assert.equal(form['shipping_address_collection[allowed_countries][1]'], 'US')
  })

  it('requests a subscription without the parameters of a payment', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => send(response, 200, made))
    const request = {
      ...someRequest,
      mode: 'subscription' as const,
      businessName: 'Bakery',
      contactEmail: 'a@b.example',
    }
    await stripe.createSession(request, 'key-1')
    const { form = {} } = seen[0] ?? {}
    assert.equal(form.mode, 'subscription')
    assert.equal(form['subscription_data[description]'], 'Bakery')
    assert.equal(form['subscription_data[metadata][group]'], 'g1')
    assert.deepEqual(
      Object.keys(form).filter((field) => field.startsWith('payment_intent_data')),
      [],
    )
  })

  for (const [what, status, body] of [
    ['a session without an address', 200, { ...made, url: null }],
    ['a session with an empty address', 200, { ...made, url: '' }],
    ['an address that is no text', 200, { ...made, url: { href: 'x' } }],
    ['a proxy that answers 502 with its own JSON', 502, { url: 'https://proxy.example/' }],
    ['a redirect', 302, { url: 'https://proxy.example/' }],
    ['null', 200, 'null'],
    ['a page', 200, '<html>'],
  ] as const) {
    it(`treats ${what} as a failure`, async (t) => {
      const { stripe } = await serveStripe(t, (response) => send(response, status, body))
      await assert.rejects(stripe.createSession(someRequest, 'key-1'), { name: 'ProviderFailure', kind: 'unreachable' })
    })
  }

  it('retries under the same key', async (t) => {
    const { stripe, seen } = await serveStripe(
      t,
      (response, _, nth) => (nth === 1 ? response.destroy() : send(response, 200, made)),
      { retries: 1 },
    )
    assert.equal((await stripe.createSession(someRequest, 'key-1')).url, made.url)
    assert.deepEqual(
      seen.map(({ headers }) => headers['idempotency-key']),
      ['key-1', 'key-1'],
    )
  })
})

describe('sessions', () => {
  const lines = (...ids: string[]) => ({ object: 'list', url: '/x', data: ids.map(line), has_more: false })

  it('returns what was bought, the customer, and the shipping address', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) =>
      send(response, 200, { ...session, line_items: lines('li_1') }),
    )
    assert.deepEqual(await stripe.fetchSession('cs_test_1'), {
      id: 'cs_test_1',
      status: 'paid',
      mode: 'payment',
      currency: 'cad',
      subtotal: '11.00',
      total: '12.43',
      email: 'ada@example.com',
      name: 'Ada',
      phone: '+15550100',
      shipping: {
        name: 'Ada L.',
        address: { line1: '1 Main', line2: null, city: 'Ottawa', state: 'ON', postalCode: 'K1A', country: 'CA' },
      },
      lines: [{ description: 'Rye bread', priceId: 'price_1', productId: 'prod_1', quantity: 2, amount: '12.43' }],
      metadata: { group: 'g1' },
      paymentId: 'pi_1',
      createdMs: 1_700_000_002_000,
    })
    assert.deepEqual(seen[0]?.query, {
      'expand[0]': 'line_items',
      'expand[1]': 'payment_intent',
      'expand[2]': 'subscription',
    })
  })

  it('reads further lines if the session has only the first ones', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response, _, nth) => {
      if (nth > 1) return sendList(response, [line(`li_${nth}`)], nth === 2)
      send(response, 200, { ...session, line_items: { ...lines('li_1'), has_more: true } })
    })
    assert.equal((await stripe.fetchSession('cs_test_1'))?.lines.length, 3)
    assert.deepEqual(
      seen.slice(1).map(({ path, query }) => [path, query.starting_after]),
      [
        ['/v1/checkout/sessions/cs_test_1/line_items', 'li_1'],
        ['/v1/checkout/sessions/cs_test_1/line_items', 'li_2'],
      ],
    )
  })

  const intent = (status: string) => ({ id: 'pi_1', object: 'payment_intent', status })
  for (const [expected, change] of [
    [null, { status: 'open', payment_status: 'unpaid' }],
    [null, { status: 'expired', payment_status: 'unpaid' }],
    [null, { status: 'open', payment_status: 'paid' }],
    ['paid', { payment_status: 'paid' }],
    ['paid', { payment_status: 'no_payment_required', payment_intent: null }],
    ['pending', { payment_status: 'unpaid', payment_intent: intent('processing') }],
    ['pending', { payment_status: 'unpaid', payment_intent: null }],
    ['failed', { payment_status: 'unpaid', payment_intent: intent('requires_payment_method') }],
    ['failed', { payment_status: 'unpaid', payment_intent: intent('canceled') }],
  ] as const) {
    const intentStatus = 'payment_intent' in change ? `, intent ${change.payment_intent?.status}` : ''
    const given = `${'status' in change ? change.status : 'complete'}, ${change.payment_status}${intentStatus}`
    it(`is ${expected} when it is ${given}`, async (t) => {
      const { stripe } = await serveStripe(t, (response) =>
        send(response, 200, { ...session, line_items: lines(), ...change }),
      )
      assert.equal((await stripe.fetchSession('cs_test_1'))?.status, expected)
    })
  }

  for (const [expected, status] of [
    ['pending', 'active'], // it may be active while the payment is pending
    ['pending', 'incomplete'],
    ['failed', 'past_due'],
    ['failed', 'unpaid'],
    ['failed', 'canceled'],
    ['failed', 'incomplete_expired'],
  ] as const) {
    it(`is ${expected} when the payment is outstanding and the subscription is ${status}`, async (t) => {
      const subscription = { id: 'sub_1', object: 'subscription', status }
      const change = { mode: 'subscription', payment_status: 'unpaid', payment_intent: null, subscription }
      const { stripe } = await serveStripe(t, (response) =>
        send(response, 200, { ...session, line_items: lines(), ...change }),
      )
      const fetched = await stripe.fetchSession('cs_test_1')
      assert.deepEqual([fetched?.status, fetched?.paymentId], [expected, 'sub_1'])
    })
  }

  it('names the subscription instead of the payment, and needs neither customer nor shipping', async (t) => {
    const change = {
      mode: 'subscription',
      subscription: 'sub_1',
      payment_intent: null,
      customer_details: null,
      customer_email: 'ada@example.com',
      collected_information: null,
      metadata: null,
      line_items: lines(),
    }
    const { stripe } = await serveStripe(t, (response) => send(response, 200, { ...session, ...change }))
    const fetched = await stripe.fetchSession('cs_test_1')
    assert.equal(fetched?.mode, 'subscription')
    assert.equal(fetched.paymentId, 'sub_1')
    assert.equal(fetched.email, 'ada@example.com')
    assert.deepEqual([fetched.name, fetched.shipping, fetched.metadata], [null, null, {}])
  })

  it('returns none for a session without purchases, or an unknown one', async (t) => {
    const { stripe } = await serveStripe(t, (response, { path }) =>
      path.endsWith('cs_setup')
        ? send(response, 200, { ...session, mode: 'setup', currency: null, line_items: lines() })
        : sendError(response, 404, { code: 'resource_missing' }),
    )
    assert.equal(await stripe.fetchSession('cs_setup'), undefined)
    assert.equal(await stripe.fetchSession('cs_none'), undefined)
  })

  it('lists those completed since a given time', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendList(response, [session], true))
    const page = await stripe.listCompletedSessions(1_700_000_000_999, 'cs_0')
    assert.deepEqual(page, { items: [{ id: 'cs_test_1', metadata: session.metadata }], next: 'cs_test_1' })
    assert.deepEqual(seen[0]?.query, {
      limit: '100',
      starting_after: 'cs_0',
      status: 'complete',
      'created[gte]': '1700000000',
    })
  })
})

describe('webhooks', () => {
  it('registers exactly the handled events, in our API version', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) =>
      send(response, 200, { id: 'we_1', object: 'webhook_endpoint', secret: 'whsec_1' }),
    )
    assert.deepEqual(await stripe.registerWebhook('https://c.example/webhooks/stripe/i1'), {
      id: 'we_1',
      secret: 'whsec_1',
    })
    const { url, api_version, description, ...events } = seen[0]?.form ?? {}
    assert.equal(url, 'https://c.example/webhooks/stripe/i1')
    assert.equal(api_version, '2026-10-28.endive')
    assert.ok(description)
    assert.deepEqual(Object.values(events).toSorted(), [
      'checkout.session.async_payment_failed',
      'checkout.session.async_payment_succeeded',
      'checkout.session.completed',
      'price.created',
      'price.deleted',
      'price.updated',
      'product.created',
      'product.deleted',
      'product.updated',
    ])
  })

  it('treats one without a secret as a failure', async (t) => {
    const { stripe } = await serveStripe(t, (response) => send(response, 200, { id: 'we_1' }))
    await assert.rejects(stripe.registerWebhook('https://c.example/'), { kind: 'unreachable' })
  })

  it('removes one, even if it no longer exists', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response, _, nth) =>
      nth === 1
        ? send(response, 200, { id: 'we_1', deleted: true })
        : sendError(response, 404, { code: 'resource_missing' }),
    )
    await stripe.removeWebhook('we_1')
    await stripe.removeWebhook('we_1')
    assert.deepEqual(
      seen.map(({ method, path }) => `${method} ${path}`),
      ['DELETE /v1/webhook_endpoints/we_1', 'DELETE /v1/webhook_endpoints/we_1'],
    )
  })
})
