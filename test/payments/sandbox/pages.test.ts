import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, it } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { sessionMetadata } from '../../../src/content/checkout.ts'
import { makeId } from '../../../src/core/ids.ts'
import { orderKind } from '../../../src/payments/jobs.ts'
import type { Provider, SessionRequest } from '../../../src/payments/provider.ts'
import { seedSandbox } from '../../../src/payments/sandbox/catalogue.ts'
import { checkoutPath, findSession } from '../../../src/payments/sandbox/sessions.ts'
import { insertIntegration, registerIntegration } from '../../../src/store/commerce/integrations.ts'
import { createSite, write } from '../../helpers/authoring.ts'
import { createHarness, type Harness, onBothEngines, type TestGroup } from '../../helpers/harness.ts'
import { managing } from '../../helpers/manage.ts'
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
  let provider: Provider
  let integrationId: string

  before(async () => {
    house = await createHarness(engine)
    group = await house.newGroup()
    const account = await connectSandbox(house, group)
    provider = account.provider
    integrationId = account.integration.id
    await seedSandbox(group.store, integrationId, goods, house.clock.now)
    app = house.app
  })
  after(() => house.close())

  let keys = 0
  const wanted: SessionRequest = {
    mode: 'payment',
    lines: [{ price: 'price_loaf', quantity: 2 }],
    successUrl: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
    cancelUrl: 'https://shop.example/checkoutcancel?a=1&b=2',
    metadata: {},
  }
  const subscription: Partial<SessionRequest> = { mode: 'subscription', lines: [{ price: 'price_club', quantity: 1 }] }
  type Opened = Awaited<ReturnType<Provider['createSession']>>
  const open = (changes: Partial<SessionRequest> = {}, at = provider) =>
    at.createSession({ ...wanted, ...changes }, `key-${++keys}`)

  const pathOf = ({ url }: Opened): string => new URL(url).pathname
  const see = (session: Opened) => app.inject({ url: pathOf(session) })
  const pay = (path: string, typed: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: `${path}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(typed).toString(),
    })
  const stateOf = async ({ id }: Opened) => {
    const record = await findSession(group.store, integrationId, id, house.clock.now)
    assert.ok(record)
    return { ...record.session, payment: record.payment.status }
  }
  /** The number of order jobs for the session. */
  const ordersAsked = async ({ id }: Opened): Promise<number> => {
    const jobs = await group.store.database.read
      .selectFrom('jobs')
      .select('payload')
      .where('kind', '=', orderKind)
      .execute()
    return jobs.filter(({ payload }) => payload.includes(id)).length
  }

  it('shows the lines, the total, and that no money moves', async () => {
    const session = await open({
      contactEmail: 'ada@example.com',
      businessName: 'Maple & Rye',
      shippingCountries: ['CA', 'FR'],
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

  it('shows the name and country of the shop by default', async () => {
    const shop = await house.newGroup({ name: 'A group' })
    const { provider: other, integration } = await connectSandbox(house, shop, 'other')
    await seedSandbox(shop.store, integration.id, goods, house.clock.now)
    const shown = async (metadata: Record<string, string> = {}) => {
      const session = await open({ metadata, shippingCountries: ['US', 'CA', 'FR'] }, other)
      const { body } = await see(session)
      return [/<h1>(.*?)<\/h1>/.exec(body)?.[1], /<option value="(\w+)" selected>/.exec(body)?.[1]]
    }
    assert.deepEqual(await shown(), ['A group', undefined])
    const addSite = (name: string, businessInfo: object) =>
      createSite(shop.store, { name, domainName: '', settings: { businessInfo } }, house.clock.now)
    await addSite('First site', { address: { country: 'France' } })
    assert.deepEqual(await shown(), ['First site', 'FR'])
    const second = await addSite('Second site', { name: 'Maple & Rye', address: { country: 'ca' } })
    assert.deepEqual(await shown(sessionMetadata(shop.group.id, second.id)), ['Maple &amp; Rye', 'CA'])
    const third = await addSite('Third site', { address: { country: 'Narnia' } })
    assert.deepEqual(await shown(sessionMetadata(shop.group.id, third.id)), ['Third site', undefined])
  })

  it('shows hostile names as text', async () => {
    const session = await open({ businessName: '"><img src=x onerror=alert(1)>' })
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
    const session = await open()
    const presses = Array.from({ length: 3 }, () => pay(pathOf(session), { email: 'ada@example.com', name: 'Ada' }))
    for (const { statusCode, headers } of [...(await Promise.all(presses)), await pay(pathOf(session), {})]) {
      assert.equal(statusCode, 303)
      assert.equal(headers.location, `https://shop.example/checkoutsuccess?session_id=${session.id}`)
    }
    const done = await stateOf(session)
    assert.deepEqual([done.status, done.payment_status, done.url, done.payment], ['complete', 'paid', null, 'succeeded']) // biome-ignore format: short
    assert.deepEqual([done.customer_details?.email, done.customer_details?.name], ['ada@example.com', 'Ada'])
    assert.equal(await ordersAsked(session), 1)
    assert.match((await see(session)).body, /already been paid/)
    const { items } = await provider.listCompletedSessions(0, undefined)
    assert.equal(items[0]?.id, session.id)
    assert.deepEqual((await provider.listCompletedSessions(house.clock.now + 1000, undefined)).items, [])
  })

  it('asks for an address if goods are shipped', async () => {
    const session = await open({ shippingCountries: ['CA', 'FR'] })
    const address = { line1: '1 Main St', city: 'Montréal', postal_code: 'H2X 1Y4', country: 'CA' }
    await pay(pathOf(session), { email: 'ada@example.com', name: 'Ada', ...address, outcome: 'paid' })
    const { postal_code: postalCode, ...rest } = address
    assert.deepEqual((await provider.fetchSession(session.id))?.shipping, {
      name: 'Ada',
      address: { ...rest, postalCode, line2: null, state: null },
    })
  })

  it('accepts forms only', async () => {
    const session = await open()
    const payload = { email: 7, name: ['x'] }
    assert.equal((await app.inject({ method: 'POST', url: `${pathOf(session)}/pay`, payload })).statusCode, 415)
    assert.equal((await app.inject({ method: 'POST', url: `${pathOf(session)}/pay` })).statusCode, 400)
    assert.equal((await stateOf(session)).status, 'open')
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
      const session = await open({ shippingCountries: ['CA', 'FR'] })
      const { statusCode, body } = await pay(pathOf(session), typed)
      assert.equal(statusCode, 400)
      assert.match(body, problem)
      assert.equal((await stateOf(session)).status, 'open')
    })
  }

  for (const [outcome, paymentStatus, payment] of [
    ['paid-later', 'paid', 'succeeded'],
    ['fails-later', 'unpaid', 'requires_payment_method'],
  ] as const) {
    it(`reports the outcome of a bank debit later: ${outcome}`, async () => {
      const session = await open()
      await pay(pathOf(session), { email: 'ada@example.com', outcome })
      const first = await stateOf(session)
      assert.deepEqual([first.status, first.payment_status, first.payment], ['complete', 'unpaid', 'processing'])
      await house.service.worker.runDue()
      house.clock.now += 3000
      await house.service.worker.runDue()
      const last = await stateOf(session)
      assert.deepEqual([last.payment_status, last.payment], [paymentStatus, payment])
      assert.equal(await ordersAsked(session), 2)
    })
  }

  it('starts a subscription', async () => {
    const session = await open(subscription)
    assert.match((await see(session)).body, /Quantity 1, every month/)
    await pay(pathOf(session), { email: 'ada@example.com' })
    const { payment, payment_intent } = await stateOf(session)
    assert.deepEqual([payment, payment_intent], ['active', null])
  })

  for (const [outcome, status, early] of [
    ['paid', 'paid', 'paid'],
    ['paid-later', 'paid', 'pending'],
    ['fails-later', 'failed', 'pending'],
  ] as const) {
    it(`gives a subscription the right status: ${outcome}`, async () => {
      const session = await open(subscription)
      await pay(pathOf(session), { email: 'ada@example.com', outcome })
      const found = await provider.fetchSession(session.id)
      assert.deepEqual([found?.status, found?.paymentId?.slice(0, 4)], [early, 'sub_'])
      house.clock.now += 3000
      await house.service.worker.runDue()
      assert.equal((await provider.fetchSession(session.id))?.status, status)
    })
  }

  it('takes no payment for a free order', async () => {
    const free = { product: { id: 'prod_free', name: 'Sample' }, prices: [{ id: 'price_free', unit_amount: 0, currency: 'cad' }] } // biome-ignore format: short
    await seedSandbox(group.store, integrationId, [free], house.clock.now)
    const session = await open({ lines: [{ price: 'price_free', quantity: 1 }] })
    await pay(pathOf(session), { email: 'ada@example.com', outcome: 'fails-later' })
    const found = await provider.fetchSession(session.id)
    assert.deepEqual([found?.status, found?.paymentId, found?.total], ['paid', null, '0.00'])
  })

  it('leads to an order although the public URL does not resolve', async () => {
    const env = { PUBLIC_URL: 'https://no-such-host.invalid' }
    const { newManagedGroup, ask, app: shop, service } = await managing(engine, { env })
    const { groupId, key } = await newManagedGroup()
    const base = `/manage/groups/${groupId}`
    await ask('POST', `${base}/integrations/sandbox`, { type: 'stripe' })
    await service.worker.runDue()
    const payload = {
      products: [{ price: 'price_sandbox_mug', quantity: 1 }],
      requiresShipping: false,
      originUrl: 'https://shop.example',
    }
    const headers = { authorization: key }
    const made = await shop.inject({ method: 'POST', url: '/tenant/createCheckoutSession', headers, payload })
    assert.equal(made.statusCode, 200, made.body)
    const paid = await shop.inject({
      method: 'POST',
      url: `${new URL(made.json().data).pathname}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'email=ada%40example.com&outcome=paid',
    })
    assert.equal(paid.statusCode, 303)
    await service.worker.runDue()
    const { items } = await ask('GET', `${base}/orders`)
    assert.deepEqual(
      items.map(({ status, email }: { status: string; email: string }) => [status, email]),
      [['paid', 'ada@example.com']],
    )
  })

  it('keeps its content security policy with any return URL', async () => {
    for (const host of ["a.example;script-src'self'", 'a.example,b.example', "a.example'"]) {
      const { statusCode, headers } = await see(await open({ successUrl: `https://${host}/back` }))
      assert.equal(statusCode, 200)
      assert.match(String(headers['content-security-policy']), /; form-action 'self'; base-uri/)
    }
  })

  it('limits the requests of an IP address, for viewing and paying', async () => {
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

  it('accepts nothing for an expired session', async () => {
    const session = await open()
    house.clock.now += 24 * 3_600_000
    assert.equal((await see(session)).statusCode, 410)
    assert.equal((await pay(pathOf(session), { email: 'ada@example.com' })).statusCode, 410)
    assert.equal(await ordersAsked(session), 0)
    assert.equal((await stateOf(session)).status, 'expired')
  })

  it('exists only for sessions of sandbox accounts', async () => {
    const session = await open()
    const real = makeId()
    await registerIntegration(house.service.store, real, group.group.id)
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
