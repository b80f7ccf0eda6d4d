import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createClient, isVariant, priceOf, type SluiceClient, variantsOf } from '../../client/src/index.ts'
import { openPage, startBrowser } from '../helpers/browser.ts'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { type ManagedGroup, type Managing, managing } from '../helpers/manage.ts'
import { addToSandbox } from '../helpers/sandbox.ts'

/** Saves screenshots to this folder if it is set. */
const keptIn = process.env.SCREENSHOTS
const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
}
/** A bank debit is decided later. */
const bankTakesMs = 3_600_000

let browser: Browser

before(async () => {
  browser = await startBrowser()
})

after(() => browser.close())

const head = '<!doctype html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'

/** A website's server that lists products and redirects buyers to the checkout. */
async function answerVisitor(sluice: SluiceClient, origin: string, request: IncomingMessage, response: ServerResponse) {
  const { pathname, searchParams } = new URL(request.url ?? '', origin)
  const { items } = await sluice.products.list({ type: 'stripe', search: 'sourdough' })
  const [bread] = items
  assert.ok(bread && isVariant(bread), 'the bread is on sale, in several sizes')
  if (pathname === '/buy') {
    const { priceId } = priceOf(bread, searchParams.get('size') ?? '')
    const location = await sluice.checkout.create({
      products: [{ price: priceId, quantity: 2 }],
      requiresShipping: true,
      originUrl: origin,
      businessName: 'Harbour Bakery',
    })
    response.writeHead(303, { location }).end()
    return
  }
  const choices = variantsOf(bread).map(
    ({ variant, name, price }) =>
      `<p><label><input type="radio" name="size" value="${variant}" required> ${variant}: ${name}, ${price}</label>`,
  )
  const shown: Record<string, string> = {
    '/': `<form action="/buy">${choices.join('')}<p><button>Buy two</button></form>`,
    '/checkoutsuccess': '<h1>Thank you</h1>',
    '/checkoutcancel': '<h1>Maybe another time</h1>',
  }
  response.setHeader('content-type', 'text/html; charset=utf-8').end(head + shown[pathname])
}

interface Bakery extends Managing {
  group: ManagedGroup
  origin: string
}

/** A service with a sandbox account that sells a bread in two sizes, and a website. */
async function openBakery(engine: TestEngine): Promise<Bakery> {
  const managed = await managing(engine)
  const group = await managed.newManagedGroup({ name: 'Harbour Bakery' })
  const { baseUrl } = await managed.service.listen()
  const { _id } = await managed.ask('POST', `/manage/groups/${group.groupId}/integrations/sandbox`, { type: 'stripe' })
  const sizes = [['Small', 450], ['Large', 725]] as const // biome-ignore format: short
  const products = sizes.map(([variant, unit_amount]) => ({
    product: {
      id: `prod_${variant}`,
      name: `Sourdough ${variant.toLowerCase()}`,
      metadata: { variant_of: 'sourdough', variant, variant_name: 'size' },
    },
    prices: [{ id: `price_${variant}`, currency: 'cad', unit_amount }],
  }))
  await addToSandbox(group.store, _id, products, managed.clock.now)
  await managed.service.worker.runDue()

  const sluice = createClient({ baseUrl, apiKey: group.key })
  const website = createServer((request, response) => {
    answerVisitor(sluice, origin, request, response).catch((error) => response.writeHead(500).end(String(error)))
  }).listen(0, '127.0.0.1')
  after(() => void website.close())
  await once(website, 'listening')
  const origin = `http://127.0.0.1:${(website.address() as AddressInfo).port}`
  return { ...managed, group, origin }
}

async function photograph(page: Page, name: string): Promise<void> {
  if (keptIn) await page.screenshot({ path: join(keptIn, `${name}.png`), fullPage: true })
}

/** Chooses the large one in the shop, and opens the checkout page. */
async function goToCheckout(origin: string, options?: BrowserContextOptions) {
  const opened = await openPage(browser, options)
  const { page } = opened
  await page.goto(origin)
  await page.getByLabel('Large').check()
  await page.getByRole('button', { name: 'Buy two' }).click()
  await page.waitForURL(/\/sandbox\/checkout\//)
  return opened
}

async function fillIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail').fill('ada@example.com')
  await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace')
  await page.getByLabel('Country').selectOption('CA')
  await page.getByLabel('Street and number').fill('12 Harbour Street')
  await page.getByLabel('Postal code').fill('B3H 1A1')
  await page.getByLabel('City').fill('Halifax')
  await page.getByLabel('State or province').fill('NS')
}

/** Presses a button of the checkout page, and returns the session id that the shop receives. */
async function press(page: Page, origin: string, button: string): Promise<string> {
  await page.getByRole('button', { name: button }).click()
  await page.waitForURL(`${origin}/checkoutsuccess?*`)
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
  const sessionId = new URL(page.url()).searchParams.get('session_id') ?? ''
  assert.match(sessionId, /^cs_test_\w+$/)
  return sessionId
}

/** The order, once all events have been processed. */
async function ordersOf({ service, ask, group }: Bakery) {
  await service.worker.runDue()
  return (await ask('GET', `/manage/groups/${group.groupId}/orders`)).items
}

async function assertFits(page: Page): Promise<void> {
  const fits = await page.evaluate('document.documentElement.scrollWidth <= innerWidth')
  assert.ok(fits, 'nothing is wider than the screen')
}

onBothEnginesInProve('a customer with a browser', (engine) => {
  it('chooses a variant, pays, and returns to the shop; the order has everything entered and paid', async () => {
    const bakery = await openBakery(engine)
    const { origin } = bakery
    const { page, problems } = await goToCheckout(origin)
    const summary = page.getByRole('table')
    for (const said of ['Sourdough large', 'Quantity 2', 'CA$14.50']) await summary.getByText(said).first().waitFor()
    await page.getByText('Sandbox: no money moves').waitFor()
    await photograph(page, `${engine}-empty`)
    await page.getByRole('button', { name: 'Pay CA$14.50' }).click()
    assert.match(page.url(), /\/sandbox\/checkout\//, 'it asks for the shipping address')
    await fillIn(page)
    await photograph(page, `${engine}-filled`)
    const sessionId = await press(page, origin, 'Pay CA$14.50')
    assert.equal(page.url(), `${origin}/checkoutsuccess?session_id=${sessionId}`)

    const [order, ...others] = await ordersOf(bakery)
    assert.deepEqual(others, [])
    const address = { line1: '12 Harbour Street', line2: null, city: 'Halifax', state: 'NS', postalCode: 'B3H 1A1' }
    const answer = await bakery.group.get('/tenant/integrationObjects?type=stripe&search=sourdough')
    const [bread] = answer.json().data.items
    const [line] = order.lines
    assert.deepEqual(order.lines, [{ ...line, description: 'Sourdough large', quantity: 2, amount: '14.50' }])
    assert.equal(line.priceId, bread.objectValue.default_price.Large)
    assert.deepEqual(
      [order.status, order.total, order.subtotal, order.currency, order.sessionId, order.mode],
      ['paid', '14.50', '14.50', 'cad', sessionId, 'payment'],
    )
    assert.deepEqual([order.email, order.name], ['ada@example.com', 'Ada Lovelace'])
    assert.deepEqual(order.shipping, { name: 'Ada Lovelace', address: { ...address, country: 'CA' } })

    await page.goBack()
    await page.reload()
    await page.getByText('This has already been paid.').waitFor()
    await photograph(page, `${engine}-paid-already`)
    assert.equal((await ordersOf(bakery)).length, 1)
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('does the same on a phone, in dark mode', async () => {
    const bakery = await openBakery(engine)
    const { page, problems } = await goToCheckout(bakery.origin, { ...phone, colorScheme: 'dark' })
    await assertFits(page)
    await fillIn(page)
    await photograph(page, `${engine}-phone`)
    await press(page, bakery.origin, 'Pay CA$14.50')
    assert.equal((await ordersOf(bakery))[0].status, 'paid')
    assert.deepEqual(problems, [])
    await page.close()
  })

  it('returns to the shop without paying, and nothing was bought', async () => {
    const bakery = await openBakery(engine)
    const { page, problems } = await goToCheckout(bakery.origin)
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.waitForURL(`${bakery.origin}/checkoutcancel`)
    assert.deepEqual(await ordersOf(bakery), [])
    assert.deepEqual(problems, [])
    await page.close()
  })

  for (const [button, outcome] of [
    ['Pay later: the payment succeeds', 'paid'],
    ['Pay later: the payment fails', 'failed'],
  ] as const)
    it(`pays by bank debit: the order is pending, and ${outcome} when the bank has decided`, async () => {
      const bakery = await openBakery(engine)
      const { page, problems } = await goToCheckout(bakery.origin)
      await fillIn(page)
      const sessionId = await press(page, bakery.origin, button)
      const [pending] = await ordersOf(bakery)
      assert.deepEqual([pending.status, pending.sessionId], ['pending', sessionId])
      bakery.clock.now += bankTakesMs
      const [settled, ...others] = await ordersOf(bakery)
      assert.deepEqual(others, [])
      assert.deepEqual([settled._id, settled.status, settled.total], [pending._id, outcome, '14.50'])
      assert.deepEqual(problems, [])
      await page.close()
    })
})
