import assert from 'node:assert/strict'
import { it } from 'node:test'
import { defaultShippingCountries } from '../../src/content/countries.ts'
import { refreshProduct } from '../../src/payments/mirror/mirror.ts'
import { ProviderFailure } from '../../src/payments/provider.ts'
import { findPrices } from '../../src/store/commerce/catalogue.ts'
import { updateIntegration } from '../../src/store/commerce/integrations.ts'
import { changeObject, type ObjectChange } from '../../src/store/content/change-objects.ts'
import { findIntegration } from '../../src/store/content/containers.ts'
import { createSite, write } from '../helpers/authoring.ts'
import { assertFailure } from '../helpers/common-suite.ts'
import { onBothEngines } from '../helpers/harness.ts'
import { postSuite } from '../helpers/post-suite.ts'
import { type Account, checkoutPath, connectAccount, oneLoaf, openShop, type Shop } from '../payments/shop.ts'

onBothEngines(`POST ${checkoutPath}, as every endpoint with a body`, (engine) =>
  postSuite(engine, {
    path: checkoutPath,
    required: ['products', 'requiresShipping'],
    status: 200,
    async prepare(group, harness) {
      const { sell } = await connectAccount(harness, group, 'main')
      await sell('price_loaf')
      return oneLoaf
    },
  }),
)

const lastAsked = ({ provider }: Shop & Account) => {
  const asked = provider.asked.at(-1)
  assert.ok(asked, 'a session was requested')
  return asked.request
}

/** Changes a delivered product. */
async function changeProduct({ group, clock }: Shop, priceId: string, wanted: ObjectChange): Promise<void> {
  const [known] = await findPrices(group.store, [priceId])
  assert.ok(known?.object)
  const { object } = known
  await write(group.store, clock.now, async (writer) => {
    const container = await findIntegration(writer.group, 'stripe')
    assert.ok(container)
    await changeObject(writer, container, object, wanted, 'test')
  })
}

onBothEngines(`POST ${checkoutPath}`, (engine) => {
  it('answers the URL of a session, and passes the request on to the provider', async () => {
    const shop = await openShop(engine)
    const { post, provider, group } = shop
    const answer = await post({
      ...oneLoaf,
      requiresShipping: true,
      businessName: 'Corner Bakery',
      contactEmail: 'ada@customer.example',
    })
    assert.equal(answer.body, '{"success":true,"data":"https://pay.example/cs_1","error":null}')
    assert.deepEqual(lastAsked(shop), {
      mode: 'payment',
      lines: [{ price: 'price_loaf', quantity: 2 }],
      successUrl: 'https://shop.example/checkoutsuccess?session_id={CHECKOUT_SESSION_ID}',
      cancelUrl: 'https://shop.example/checkoutcancel',
      shippingCountries: [...defaultShippingCountries],
      businessName: 'Corner Bakery',
      contactEmail: 'ada@customer.example',
      metadata: { sluice_group: group.group.id },
    })
    assert.equal(provider.asked.length, 1)
  })

  it('collects no shipping address if nothing is shipped', async () => {
    const shop = await openShop(engine)
    await shop.post(oneLoaf)
    assert.equal(lastAsked(shop).shippingCountries, undefined)
  })

  it('keeps lines as sent, also with a repeated price', async () => {
    const shop = await openShop(engine)
    await shop.sell('price_cake')
    const products = ['price_loaf', 'price_cake', 'price_loaf'].map((price, at) => ({ price, quantity: at + 1 }))
    assert.equal((await shop.post({ ...oneLoaf, products })).statusCode, 200)
    assert.deepEqual(lastAsked(shop).lines, products)
  })

  it('creates a subscription for a recurring price', async () => {
    const shop = await openShop(engine)
    await shop.sell('price_weekly', { interval: 'week' })
    const products = [...oneLoaf.products, { price: 'price_weekly', quantity: 1 }]
    assert.equal((await shop.post({ ...oneLoaf, products })).statusCode, 200)
    assert.equal(lastAsked(shop).mode, 'subscription')
  })

  it('ignores prices, amounts and names sent by the caller', async () => {
    const shop = await openShop(engine)
    const line = { price: 'price_loaf', quantity: 1, price_data: { unit_amount: 1 }, amount: 1, currency: 'usd' }
    const more = { price_data: { unit_amount: 1 }, line_items: [], discounts: [{ coupon: 'all' }], mode: 'setup' }
    assert.equal((await shop.post({ ...oneLoaf, ...more, products: [line] })).statusCode, 200)
    const plain = await openShop(engine)
    await plain.post({ ...oneLoaf, products: [{ price: 'price_loaf', quantity: 1 }] })
    const { metadata: _own, ...asked } = lastAsked(shop)
    const { metadata: _other, ...expected } = lastAsked(plain)
    assert.deepEqual(asked, expected)
    const without = { quantity: 1, price_data: { unit_amount: 1, currency: 'eur' } }
    assertFailure(await shop.post({ ...oneLoaf, products: [without] }), 400, 'ValidationError', /price is required/)
  })

  it('refuses invalid input with the reason, without calling the provider', async () => {
    const { post, provider } = await openShop(engine)
    const line = (more: object) => ({ products: [{ price: 'price_loaf', quantity: 1, ...more }] })
    const quantity = /^products\[0\]\.quantity must be/
    const price = /^products\[0\]\.price must/
    const originUrl = /^originUrl must/
    const cases: [object, RegExp][] = [
      ...[0, -1, 1.5, 1e9, 10_001, '1', null, true, [1]].map((bad): [object, RegExp] => [
        line({ quantity: bad }),
        quantity,
      ]),
      ...['', 5, null, {}, 'p'.repeat(256)].map((bad): [object, RegExp] => [line({ price: bad }), price]),
      [{ products: [] }, /^products must not be empty/],
      [{ products: Array.from({ length: 101 }, () => oneLoaf.products[0]) }, /^products must have at most 100 entries/],
      [{ products: {} }, /^products must be a list/],
      [{ products: ['price_loaf'] }, /^products\[0\] must be an object/],
      ...['true', 1, null].map((bad): [object, RegExp] => [
        { requiresShipping: bad },
        /^requiresShipping must be true or false/,
      ]),
      ...[
        '', 5, null, 'shop.example', '/cart', '//evil.example', 'javascript:alert(1)', 'ftp://shop.example', 'https://',
        'https:\\\\evil.example', 'https://shop.example\\@evil.example', 'https://u@evil.example', 'https://u:p@evil.example',
        'https://shop.example\n.evil.example', ' https://shop.example', 'https://shop .example', 'https://shop.example:99999',
      ].map((bad): [object, RegExp] => [{ originUrl: bad }, originUrl]),
      [{ businessName: '' }, /^businessName must not be empty/],
      [{ businessName: 'x'.repeat(201) }, /^businessName must have at most 200/],
      ...['ada', 'a@b.c, d@e.f', 'a@b.c\r\nBcc: d@e.f', 'Ada <a@b.c>'].map((bad): [object, RegExp] => [
        { contactEmail: bad },
        /^contactEmail must be one e-mail address/,
      ]),
    ] // biome-ignore format: a few lines read better
    for (const [bad, message] of cases)
      assertFailure(await post({ ...oneLoaf, ...bad }), 400, 'ValidationError', message)
    assert.deepEqual(provider.asked, [])
  })

  it('names every problem in one answer', async () => {
    const { post } = await openShop(engine)
    const answer = await post({ products: [{ price: '', quantity: 0 }, { quantity: 1.5 }], originUrl: 5 })
    assertFailure(answer, 400, 'ValidationError')
    const { error } = answer.json()
    for (const what of ['products[0].price', 'products[0].quantity', 'products[1].price', 'products[1].quantity'])
      assert.ok(error.includes(what), `${what}: ${error}`)
    for (const what of ['requiresShipping is required', 'originUrl must be a text'])
      assert.ok(error.includes(what), `${what}: ${error}`)
    const both = await post({ ...oneLoaf, originUrl: 'x', contactEmail: 'x' })
    assertFailure(both, 400, 'ValidationError', /^originUrl must .*; contactEmail must/)
  })

  it('returns to originUrl, else to the request’s Origin, else to the first site with a domain', async () => {
    const shop = await openShop(engine)
    const { post, group, clock } = shop
    const { originUrl: _none, ...silent } = oneLoaf
    const cancelUrl = async (body: object, headers = {}) => {
      const answer = await post(body, headers)
      assert.equal(answer.statusCode, 200, answer.body)
      return lastAsked(shop).cancelUrl
    }
    assertFailure(await post(silent), 400, 'ValidationError', /^originUrl is required here/)
    assertFailure(await post(silent, { origin: 'null' }), 400, 'ValidationError', /^originUrl is required here/)
    for (const domainName of ['', 'bücher.example:8443', 'second.example'])
      await createSite(group.store, { name: 'Site', domainName, settings: {} }, clock.now)
    assert.equal(await cancelUrl(silent), 'https://xn--bcher-kva.example:8443/checkoutcancel')
    assert.equal(await cancelUrl(silent, { origin: 'null' }), 'https://xn--bcher-kva.example:8443/checkoutcancel')
    const browser = { origin: 'http://localhost:3000' }
    assert.equal(await cancelUrl(silent, browser), 'http://localhost:3000/checkoutcancel')
    const full = { ...silent, originUrl: 'HTTPS://Second.Example:443/a/b?c#d' }
    assert.equal(await cancelUrl(full, browser), 'https://second.example/checkoutcancel')
  })

  it('returns to the domains of sites if they list no origins, and in test mode also to localhost', async () => {
    const shop = await openShop(engine)
    const { post, group, clock, provider } = shop
    const at = (originUrl: string) => post({ ...oneLoaf, originUrl })
    assert.equal((await at('https://evil.example')).statusCode, 200, 'a group without sites')
    const site = (domainName: string) => createSite(group.store, { name: 'Site', domainName, settings: {} }, clock.now)
    await site('')
    assert.equal((await at('https://evil.example')).statusCode, 200, 'a site without a domain')
    await site('www.bücher.example:8443')
    const machine = ['http://localhost:3000', 'http://127.0.0.1:8080', 'http://[::1]:3000', 'http://shop.localhost']
    const own = ['https://www.bücher.example:8443', 'https://bücher.example', 'https://new.bücher.example']
    for (const originUrl of [...own, ...machine]) assert.equal((await at(originUrl)).statusCode, 200, originUrl)
    const asked = provider.asked.length
    const refused = [
      'https://evil.example', 'https://xn--bcher-kva.example.evil.example', 'https://evilxn--bcher-kva.example',
      'https://127.0.0.1.evil.example', 'https://localhost.evil.example', 'https://example',
    ] // biome-ignore format: a few lines read better
    for (const originUrl of refused)
      assertFailure(
        await at(originUrl),
        403,
        'OriginNotAllowed',
        /not in the domain of any of its sites.+allowedOrigins/,
      )
    await write(group.store, clock.now, async (writer) => {
      await writer.db
        .updateTable('integrations')
        .set({ live: 1 })
        .where('group_id', '=', writer.group.groupId)
        .execute()
    })
    for (const originUrl of machine) assertFailure(await at(originUrl), 403, 'OriginNotAllowed')
    assert.equal(provider.asked.length, asked)
    assert.equal((await at('https://bücher.example')).statusCode, 200)
  })

  it('returns only to allowed origins if any site of the group lists some', async () => {
    const shop = await openShop(engine)
    const { post, group, clock, provider } = shop
    const site = (domainName: string, ...allowedOrigins: string[]) =>
      createSite(
        group.store,
        { name: 'Site', domainName, settings: {}, privateSettings: { allowedOrigins } },
        clock.now,
      )
    await createSite(group.store, { name: 'Site', domainName: 'first.example', settings: {} }, clock.now)
    await site('second.example', 'https://shop.example')
    await site('third.example', 'http://localhost:3000', 'https://third.example')
    for (const originUrl of ['https://shop.example/x', 'http://localhost:3000', 'https://third.example'])
      assert.equal((await post({ ...oneLoaf, originUrl })).statusCode, 200)
    const refused = [
      'http://shop.example', 'https://shop.example:444', 'https://shop.example.evil.example', 'https://evilshop.example',
      'https://evil.example/https://shop.example', 'https://shop.example@evil.example', 'https://shоp.example',
    ] // biome-ignore format: a few lines read better
    for (const originUrl of refused) {
      const answer = await post({ ...oneLoaf, originUrl })
      if (originUrl.includes('@')) assertFailure(answer, 400, 'ValidationError')
      else assertFailure(answer, 403, 'OriginNotAllowed', /may not return to/)
    }
    const { originUrl: _none, ...silent } = oneLoaf
    assertFailure(await post(silent, { origin: 'https://evil.example' }), 403, 'OriginNotAllowed')
    assertFailure(await post(silent), 403, 'OriginNotAllowed', /first\.example/)
    assert.equal(provider.asked.length, 3)
  })

  it('uses the countries and the name of the site at the origin, else of the first', async () => {
    const shop = await openShop(engine)
    const { post, group, clock } = shop
    const site = (domainName: string, shippingCountries: string[]) =>
      createSite(
        group.store,
        { name: 'Site', domainName, settings: {}, privateSettings: { shippingCountries } },
        clock.now,
      )
    const first = await site('first.example', ['CA'])
    const second = await site('second.example', ['AT', 'DE'])
    const asked = async (originUrl: string) => {
      await post({ ...oneLoaf, requiresShipping: true, originUrl })
      const { shippingCountries, metadata } = lastAsked(shop)
      return [shippingCountries, metadata]
    }
    const sluice_group = group.group.id
    assert.deepEqual(await asked('https://second.example'), [['AT', 'DE'], { sluice_group, sluice_site: second.id }])
    assert.deepEqual(await asked('http://localhost:3000'), [['CA'], { sluice_group, sluice_site: first.id }])
  })

  it('refuses a price unknown to the provider, and names it', async () => {
    const { post, provider } = await openShop(engine)
    const products = [...oneLoaf.products, { price: 'price_nowhere', quantity: 1 }]
    assertFailure(await post({ ...oneLoaf, products }), 400, 'ValidationError', /"price_nowhere"/)
    assert.deepEqual(provider.asked, [])
  })

  it('looks up an unusable price occasionally, not each time', async () => {
    const { post, provider, offer, clock } = await openShop(engine)
    offer('price_old', { active: false })
    provider.products.get('prod_price_old')?.prices.splice(0) // the provider lists active prices only
    let asked = 0
    provider.findProductOfPrice = async (priceId) => {
      asked += 1
      return priceId === 'price_old' ? 'prod_price_old' : undefined
    }
    const buy = (price: string) => post({ ...oneLoaf, products: [{ price, quantity: 1 }] })
    for (let time = 0; time < 3; time += 1) {
      assertFailure(await buy('price_old'), 409, 'ProductUnavailable', /"price_old"/)
      assertFailure(await buy('price_nowhere'), 400, 'ValidationError', /does not know the price "price_nowhere"/)
    }
    assert.equal(asked, 2)
    clock.now += 30_000
    assertFailure(await buy('price_old'), 409, 'ProductUnavailable')
    assert.equal(asked, 3)
  })

  it('looks up no price if more than ten are unknown', async () => {
    const { post, provider, offer } = await openShop(engine)
    const products = Array.from({ length: 11 }, (_, number) => ({ price: `price_${number}`, quantity: 1 }))
    for (const { price } of products) offer(price)
    provider.findProductOfPrice = () => assert.fail('the provider was asked')
    assertFailure(await post({ ...oneLoaf, products }), 400, 'ValidationError', /11 of the prices are unknown/)
  })

  it('sells at the delivered price, and at no other of the same product', async () => {
    const { post, provider, sell, integration, group, clock } = await openShop(engine)
    await sell('price_cake', { unitAmount: '4500' })
    const cake = provider.products.get('prod_price_cake')
    const [price] = cake?.prices ?? []
    assert.ok(cake && price)
    cake.prices.push({ ...price, id: 'price_staff', unitAmount: '1' })
    const deps = { clock: () => clock.now, versionsKept: 50 }
    await refreshProduct(deps, group.store, integration, provider, 'prod_price_cake')
    const buy = (wanted: string) => post({ ...oneLoaf, products: [{ price: wanted, quantity: 1 }] })
    assertFailure(await buy('price_staff'), 409, 'ProductUnavailable', /"price_staff"/)
    assert.equal((await buy('price_cake')).statusCode, 200)
  })

  it('sells products of the provider that are not yet mirrored', async () => {
    const { post, offer } = await openShop(engine)
    offer('price_new')
    assert.equal((await post({ ...oneLoaf, products: [{ price: 'price_new', quantity: 1 }] })).statusCode, 200)
  })

  it('does not sell hidden products: archived, not yet published, or with an inactive price', async () => {
    const shop = await openShop(engine)
    const { post, sell, offer, clock, provider } = shop
    const buy = (price: string) => post({ ...oneLoaf, products: [...oneLoaf.products, { price, quantity: 1 }] })
    await sell('price_archived')
    await changeProduct(shop, 'price_archived', { archived: true })
    await sell('price_later')
    await changeProduct(shop, 'price_later', { publishMs: clock.now + 1000 })
    for (const price of ['price_archived', 'price_later'])
      assertFailure(await buy(price), 409, 'ProductUnavailable', new RegExp(`"${price}"`))
    // The provider names the product of a price, but an inactive price has none.
    const productId = offer('price_old')
    provider.findProductOfPrice = async (id) => (id === 'price_old' ? productId : undefined)
    provider.products.get(productId)?.prices.splice(0)
    assertFailure(await buy('price_old'), 409, 'ProductUnavailable', /"price_old"/)
    assert.deepEqual(provider.asked, [])
    clock.now += 1000
    assert.equal((await buy('price_later')).statusCode, 200) // it becomes visible by time alone
  })

  it('refuses prices of two accounts in one checkout, and accepts either alone', async () => {
    const { post, connect, group, provider } = await openShop(engine)
    const second = await connect(group, 'second')
    await second.sell('price_book')
    const book = { price: 'price_book', quantity: 1 }
    const both = [...oneLoaf.products, book]
    assertFailure(await post({ ...oneLoaf, products: both }), 400, 'ValidationError', /one account/)
    assert.equal((await post({ ...oneLoaf, products: [book] })).statusCode, 200)
    assert.deepEqual([provider.asked.length, second.provider.asked.length], [0, 1])
  })

  it('refuses if no integration is active: none at all, or one that is being disconnected', async () => {
    const { post, group, clock, integration, newGroup } = await openShop(engine)
    const bare = await newGroup()
    const nowhere = await bare.post(checkoutPath, oneLoaf)
    assertFailure(nowhere, 400, 'IntegrationNotActive', /no active payment integration/)
    await write(group.store, clock.now, (writer) =>
      updateIntegration(writer, integration, { status: 'disconnecting' }, 'test'),
    )
    assertFailure(await post(oneLoaf), 400, 'IntegrationNotActive')
  })

  it('answers another group’s price byte for byte like an unknown one', async () => {
    const shop = await openShop(engine)
    const stranger = await shop.newGroup()
    const { sell } = await shop.connect(stranger, 'main')
    await sell('price_theirs')
    const ask = async (price: string) =>
      (await shop.post({ ...oneLoaf, products: [{ price, quantity: 1 }] })).body.replaceAll(price, 'price')
    assert.equal(await ask('price_theirs'), await ask('price_unknown'))
  })

  it('attributes a failure of the provider correctly', async () => {
    const { post, provider, log } = await openShop(engine)
    const cases: [ProviderFailure, number, string, RegExp, string?][] = [
      [new ProviderFailure('unreachable', 'It is unreachable.'), 503, 'Unavailable', /It is unreachable\. Try again/, '1'],
      [new ProviderFailure('limited', 'Slow down.', { retryAfterSeconds: 7 }), 503, 'Unavailable', /Slow/, '7'],
      [new ProviderFailure('limited', 'Slow down.', { retryAfterSeconds: 0 }), 503, 'Unavailable', /Slow/, '1'],
      [new ProviderFailure('refused', 'Not accepted.'), 502, 'ProviderError', /does not accept the key/],
      [new ProviderFailure('unknown', 'No such price.', { parameter: 'line_items[0][price]' }), 400, 'ValidationError', /No such price/],
      [new ProviderFailure('unknown', 'No such thing.', { parameter: 'customer' }), 502, 'ProviderError', /did not accept/],
      [new ProviderFailure('unknown', 'No such thing.'), 502, 'ProviderError', /did not accept/],
      [new ProviderFailure('invalid', 'Too small an amount.', { parameter: 'line_items' }), 400, 'ValidationError', /Too small/],
      [new ProviderFailure('invalid', 'Set a name in your account.'), 502, 'ProviderError', /^The payment provider did not accept the checkout\.$/],
      [new ProviderFailure('invalid', 'Not a valid email.', { parameter: 'customer_email' }), 400, 'ValidationError', /email/],
      [new ProviderFailure('invalid', 'Ours.', { parameter: 'metadata' }), 502, 'ProviderError', /did not accept/],
    ] // biome-ignore format: one line a case reads better
    for (const [failure, status, code, message, retryAfter] of cases) {
      provider.before = async () => {
        throw failure
      }
      const answer = await post(oneLoaf)
      assertFailure(answer, status, code, message)
      assert.equal(answer.headers['retry-after'], retryAfter)
    }
    assert.match(log(), /Ours\./) // our own error is in the log
    assert.match(log(), /Set a name in your account\./)
    provider.before = async () => {}
    assert.equal((await post(oneLoaf)).statusCode, 200)
  })

  it('uses a new idempotency key for each call without one', async () => {
    const { post, provider } = await openShop(engine)
    for (const _time of [1, 2]) await post(oneLoaf)
    assert.equal(provider.sessions.size, 2)
  })
})
