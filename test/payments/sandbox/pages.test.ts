import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, it } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type Stripe from 'stripe'
import { notesOf } from '../../../src/content/checkout.ts'
import { makeId } from '../../../src/ids.ts'
import { seedSandbox } from '../../../src/payments/sandbox/seed.ts'
import { checkoutPath } from '../../../src/payments/sandbox/server.ts'
import { openStripe } from '../../../src/payments/stripe.ts'
import { insertIntegration, noteIntegrationPlace } from '../../../src/store/integrations.ts'
import { createSite, write } from '../../helpers/authoring.ts'
import { createHarness, type Harness, onBothEngines, type TestGroup } from '../../helpers/harness.ts'
import { connectSandbox } from '../../helpers/sandbox.ts'

const goods = [
  {
    product: { id: 'prod_loaf', name: 'Loaf <script>alert("x")</script>' },
    prices: [{ id: 'price_loaf', unit_amount: 550, currency: 'cad' }],
  },
  {
    product: { id: 'prod_club', name: 'Club' },
    prices: [{ id: 'price_club', unit_amount: 1000, currency: 'jpy', recurring: { interval: 'month' as const } }],
  },
]

const strictLimits = 'anonymous=1/2,free=1/1,basic=1/1,pro=1/1,proplus=1/1'

onBothEngines('the sandbox’s checkout page', (engine) => {
  let house: Harness
  let group: TestGroup
  let app: FastifyInstance
  let stripe: Stripe
  let integrationId: string

  before(async () => {
    house = await createHarness(engine)
    group = await house.newGroup()
    const account = await connectSandbox(house, group)
    stripe = account.stripe
    integrationId = account.integration.id
    await seedSandbox(group.store, integrationId, goods, house.clock.now)
    app = house.app
  })
  after(() => house.close())

  const open = (changes: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
    stripe.checkout.sessions.create({
      mode: 'payment',
      line_items: [{ price: 'price_loaf', quantity: 2 }],
      success_url: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
      cancel_url: 'https://shop.example/checkoutcancel?a=1&b=2',
      ...changes,
    })

  const pathOf = (session: Stripe.Checkout.Session): string => new URL(session.url ?? '').pathname
  const see = (session: Stripe.Checkout.Session) => app.inject({ url: pathOf(session) })
  const pay = (path: string, typed: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: `${path}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(typed).toString(),
    })
  const eventsOf = async (id: string): Promise<string[]> => {
    const { data } = await stripe.events.list({ limit: 100 })
    return data
      .filter(({ data: { object } }) => 'id' in object && object.id === id)
      .map(({ type }) => type)
      .reverse()
  }

  it('shows what is bought, what it costs and that no money moves', async () => {
    const session = await open({
      customer_email: 'ada@example.com',
      branding_settings: { display_name: 'Maple & Rye' },
      shipping_address_collection: { allowed_countries: ['CA', 'FR'] },
    })
    const { statusCode, headers, body } = await see(session)
    assert.equal(statusCode, 200)
    assert.match(String(headers['content-type']), /^text\/html/)
    assert.match(body, /Sandbox: no money moves/)
    assert.match(body, /Maple &amp; Rye/)
    assert.match(body, /Pay CA\$11\.00/)
    assert.match(body, /value="ada@example\.com"/)
    assert.match(body, /<option value="CA">Canada<\/option><option value="FR">France<\/option>/)
    assert.match(body, /href="https:\/\/shop\.example\/checkoutcancel\?a=1&amp;b=2"/)
    assert.match(String(headers['content-security-policy']), /form-action 'self' https:\/\/shop\.example;/)
  })

  it('shows the name and the country of the shop where nobody says otherwise', async () => {
    const shop = await house.newGroup({ name: 'A group' })
    const { stripe: till } = await connectSandbox(house, shop, { accountHandle: 'till' })
    const address = { allowed_countries: ['US', 'CA', 'FR'] as const }
    const product = await till.products.create({
      name: 'Loaf',
      default_price_data: { currency: 'eur', unit_amount: 5 },
    })
    const lines = [{ price: String(product.default_price), quantity: 1 }]
    const shown = async (metadata: Record<string, string> = {}) => {
      const session = await till.checkout.sessions.create({
        mode: 'payment',
        line_items: lines,
        success_url: 'https://shop.example',
        metadata,
        shipping_address_collection: { allowed_countries: [...address.allowed_countries] },
      })
      const { body } = await see(session)
      return [/<h1>(.*?)<\/h1>/.exec(body)?.[1], /<option value="(\w+)" selected>/.exec(body)?.[1]]
    }
    assert.deepEqual(await shown(), ['A group', undefined])
    const addSite = (name: string, businessInfo: object) =>
      createSite(shop.store, { name, domainName: '', settings: { businessInfo } }, house.clock.now)
    await addSite('First site', { address: { country: 'France' } })
    assert.deepEqual(await shown(), ['First site', 'FR'])
    const second = await addSite('Second site', { name: 'Maple & Rye', address: { country: 'ca' } })
    assert.deepEqual(await shown(notesOf(shop.group.id, second.id)), ['Maple &amp; Rye', 'CA'])
    const third = await addSite('Third site', { address: { country: 'Narnia' } })
    assert.deepEqual(await shown(notesOf(shop.group.id, third.id)), ['Third site', undefined])
  })

  it('shows hostile names as text', async () => {
    const session = await open({ branding_settings: { display_name: '"><img src=x onerror=alert(1)>' } })
    const { body } = await see(session)
    assert.doesNotMatch(body, /<script|<img/)
    assert.match(body, /Loaf &lt;script&gt;/)
  })

  it('allows its own style and no script', async () => {
    const { headers, body } = await see(await open())
    const [, style = ''] = /<style>(.*)<\/style>/s.exec(body) ?? []
    const policy = String(headers['content-security-policy'])
    assert.ok(policy.includes(`style-src 'sha256-${hash('sha256', style, 'base64')}'`))
    assert.ok(policy.startsWith("default-src 'none'"))
    assert.doesNotMatch(body, / style="/)
  })

  it('completes the session once, however often the button is pressed', async () => {
    const session = await open({ payment_intent_data: { description: 'Bakery', metadata: { a: 'b' } } })
    const presses = Array.from({ length: 3 }, () => pay(pathOf(session), { email: 'ada@example.com', name: 'Ada' }))
    for (const { statusCode, headers } of [...(await Promise.all(presses)), await pay(pathOf(session), {})]) {
      assert.equal(statusCode, 303)
      assert.equal(headers.location, `https://shop.example/checkoutsuccess?session_id=${session.id}`)
    }
    const done = await stripe.checkout.sessions.retrieve(session.id, { expand: ['payment_intent'] })
    assert.deepEqual([done.status, done.payment_status, done.url], ['complete', 'paid', null])
    assert.deepEqual([done.customer_details?.email, done.customer_details?.name], ['ada@example.com', 'Ada'])
    assert.ok(typeof done.payment_intent === 'object' && done.payment_intent)
    const { status, description, metadata } = done.payment_intent
    assert.deepEqual([status, description, metadata], ['succeeded', 'Bakery', { a: 'b' }])
    assert.deepEqual(await eventsOf(session.id), ['checkout.session.completed'])
    assert.match((await see(session)).body, /paid already/)
    const { data } = await stripe.checkout.sessions.list({ status: 'complete', limit: 1 })
    assert.equal(data[0]?.id, session.id)
  })

  it('takes an address where goods are sent', async () => {
    const session = await open({ shipping_address_collection: { allowed_countries: ['CA', 'FR'] } })
    const address = { line1: '1 Main St', city: 'Montréal', postal_code: 'H2X 1Y4', country: 'CA' }
    await pay(pathOf(session), { email: 'ada@example.com', name: 'Ada', ...address, outcome: 'paid' })
    const { collected_information: collected } = await stripe.checkout.sessions.retrieve(session.id)
    assert.deepEqual(collected?.shipping_details, {
      name: 'Ada',
      address: { ...address, line2: null, state: null },
    })
  })

  it('reads forms and nothing else', async () => {
    const session = await open()
    const payload = { email: 7, name: ['x'] }
    assert.equal((await app.inject({ method: 'POST', url: `${pathOf(session)}/pay`, payload })).statusCode, 415)
    assert.equal((await app.inject({ method: 'POST', url: `${pathOf(session)}/pay` })).statusCode, 400)
    assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
  })

  const wrong: [name: string, typed: Record<string, string>, problem: RegExp][] = [
    ['no e-mail address', {}, /valid e-mail/],
    ['an e-mail address that is none', { email: 'ada@' }, /valid e-mail/],
    ['a country that was not offered', { email: 'a@example.com', country: 'US', line1: 'x', city: 'y' }, /countries/],
    ['no street', { email: 'a@example.com', country: 'CA', city: 'y' }, /street/],
    ['too much text', { email: 'a@example.com', name: 'x'.repeat(201) }, /too long/],
  ]
  for (const [name, typed, problem] of wrong) {
    it(`asks again for ${name}`, async () => {
      const session = await open({ shipping_address_collection: { allowed_countries: ['CA', 'FR'] } })
      const { statusCode, body } = await pay(pathOf(session), typed)
      assert.equal(statusCode, 400)
      assert.match(body, problem)
      assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'open')
    })
  }

  for (const [outcome, event, status, intentStatus] of [
    ['paid-later', 'checkout.session.async_payment_succeeded', 'paid', 'succeeded'],
    ['fails-later', 'checkout.session.async_payment_failed', 'unpaid', 'requires_payment_method'],
  ] as const) {
    it(`tells later how a bank debit ended: ${outcome}`, async () => {
      const session = await open()
      await pay(pathOf(session), { email: 'ada@example.com', outcome })
      const first = await stripe.checkout.sessions.retrieve(session.id, { expand: ['payment_intent'] })
      assert.ok(typeof first.payment_intent === 'object')
      assert.deepEqual(
        [first.status, first.payment_status, first.payment_intent?.status],
        ['complete', 'unpaid', 'processing'],
      )
      house.clock.now += 3000
      await house.service.worker.runDue()
      const last = await stripe.checkout.sessions.retrieve(session.id, { expand: ['payment_intent'] })
      assert.ok(typeof last.payment_intent === 'object')
      assert.deepEqual([last.payment_status, last.payment_intent?.status], [status, intentStatus])
      assert.deepEqual(await eventsOf(session.id), ['checkout.session.completed', event])
    })
  }

  it('begins a subscription', async () => {
    const session = await open({ mode: 'subscription', line_items: [{ price: 'price_club', quantity: 1 }] })
    assert.match((await see(session)).body, /Quantity 1, every month/)
    await pay(pathOf(session), { email: 'ada@example.com' })
    const { subscription, payment_intent } = await stripe.checkout.sessions.retrieve(session.id, {
      expand: ['subscription'],
    })
    assert.ok(typeof subscription === 'object')
    assert.deepEqual([subscription?.status, payment_intent], ['active', null])
  })

  for (const [outcome, status, early] of [
    ['paid', 'paid', 'paid'],
    ['paid-later', 'paid', 'pending'],
    ['fails-later', 'failed', 'pending'],
  ] as const) {
    it(`is heard rightly of a subscription: ${outcome}`, async () => {
      const { secretKeyOf, url } = house.service.payments.sandbox
      const provider = await openStripe({ secretKey: secretKeyOf(integrationId), url: await url() })
      const session = await open({ mode: 'subscription', line_items: [{ price: 'price_club', quantity: 1 }] })
      await pay(pathOf(session), { email: 'ada@example.com', outcome })
      const told = await provider.fetchSession(session.id)
      assert.deepEqual([told?.status, told?.paymentId?.slice(0, 4)], [early, 'sub_'])
      house.clock.now += 3000
      await house.service.worker.runDue()
      assert.equal((await provider.fetchSession(session.id))?.status, status)
    })
  }

  it('lets no return address change its policy', async () => {
    for (const host of ["a.example;script-src'self'", 'a.example,b.example', "a.example'"]) {
      const { statusCode, headers } = await see(await open({ success_url: `https://${host}/back` }))
      assert.equal(statusCode, 200)
      assert.match(String(headers['content-security-policy']), /; form-action 'self'; base-uri/)
    }
  })

  it('lets an address come so often and not more, to see and to pay', async () => {
    const strict = await createHarness(engine, { env: { RATE_LIMITS: strictLimits } })
    try {
      const url = checkoutPath('0'.repeat(24), 'cs_test_none')
      const ask = async (method: 'GET' | 'POST', path: string) =>
        (await strict.app.inject({ method, url: path })).statusCode
      assert.deepEqual(
        [
          await ask('GET', url),
          await ask('POST', `${url}/pay`),
          await ask('GET', url),
          await ask('POST', `${url}/pay`),
        ],
        [404, 404, 429, 429],
      )
    } finally {
      await strict.close()
    }
  })

  it('takes nothing for a session whose time is over', async () => {
    const session = await open()
    house.clock.now += 24 * 3_600_000
    assert.equal((await see(session)).statusCode, 410)
    assert.equal((await pay(pathOf(session), { email: 'ada@example.com' })).statusCode, 410)
    assert.deepEqual(await eventsOf(session.id), [])
  })

  it('exists for sessions of accounts of the sandbox only', async () => {
    const session = await open()
    const real = makeId()
    await noteIntegrationPlace(house.service.store, real, group.group.id)
    await write(group.store, house.clock.now, (writer) =>
      insertIntegration(writer, {
        ...{ id: real, type: 'stripe', accountHandle: 'real', accountId: 'acct_1', accountName: 'Real' },
        ...{ sandbox: false, live: true },
      }),
    )
    for (const path of [
      `${integrationId}/cs_test_none`,
      `${integrationId}/cs_test_%00`,
      `${integrationId}/${'x'.repeat(3000)}`,
      `${real}/${session.id}`,
      `${'0'.repeat(24)}/${session.id}`,
      '%00/%00',
    ]) {
      for (const method of ['GET', 'POST'] as const) {
        const url = `/sandbox/checkout/${path}${method === 'POST' ? '/pay' : ''}`
        assert.equal((await app.inject({ method, url })).statusCode, 404, url)
      }
    }
  })
})
