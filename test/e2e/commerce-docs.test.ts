import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { blocksOf, readDocument, startGuide } from '../helpers/guide.ts'
import { onBothEnginesInProve } from '../helpers/harness.ts'

const guide = readDocument('docs/commerce.md')
const orderTimeoutMs = 30_000

/** The commands of the guide's first part, verbatim. */
function commandsOfSale() {
  const commands = blocksOf(guide, 'A sale, from product to order')
  assert.equal(commands.length, 4, 'the setting, the products, the checkout, the orders')
  const [setting = '', ...requests] = commands
  return { setting, requests: requests.map((request) => setting + request) as [string, string, string] }
}

/** Presses the button with the amount. */
async function pay(checkoutUrl: string, email: string): Promise<Response> {
  const page = await (await fetch(checkoutUrl)).text()
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(page) ?? []
  assert.match(page, /no money moves/i)
  const body = new URLSearchParams({ email, outcome: 'paid' })
  return fetch(new URL(action, checkoutUrl), { method: 'POST', body, redirect: 'manual' })
}

onBothEnginesInProve('the commerce guide', (engine) => {
  it('leads from a product to a paid order with its commands, and to one session however often they run', async () => {
    const demo = await startGuide(engine)
    after(() => demo.close())
    const { server } = demo
    const run = async (commands: string) => {
      const answer = JSON.parse(await demo.run(commands))
      assert.ok(answer.success, JSON.stringify(answer))
      return answer.data
    }
    const {
      setting,
      requests: [products, checkout, orders],
    } = commandsOfSale()

    const { items } = await run(products)
    assert.deepEqual(
      items.map(({ objectValue }: { objectValue: { default_price: string } }) => objectValue.default_price),
      ['price_demo_croissant'],
    )
    const url = await run(checkout)
    assert.ok(url.startsWith(`${server.baseUrl}/sandbox/checkout/`), url)
    assert.equal(await run(checkout), url)
    assert.equal((await run(orders)).totalCount, 0)

    const paid = await pay(url, 'ada@example.com')
    const sessionId = url.split('/').at(-1)
    assert.equal(paid.status, 303)
    assert.equal(paid.headers.get('location'), `https://demo.example/checkoutsuccess?session_id=${sessionId}`)

    const deadline = Date.now() + orderTimeoutMs
    let found = await run(orders)
    while (found.totalCount === 0 && Date.now() < deadline) {
      await sleep(200)
      found = await run(orders)
    }
    const [order] = found.items
    const { status, total, currency, email, lines } = order
    assert.deepEqual(
      { status, total, currency, email, sessionId: order.sessionId },
      { status: 'paid', total: '7.20', currency: 'cad', email: 'ada@example.com', sessionId },
    )
    assert.deepEqual(
      lines.map(({ priceId, quantity, amount }: Record<string, unknown>) => ({ priceId, quantity, amount })),
      [{ priceId: 'price_demo_croissant', quantity: 2, amount: '7.20' }],
    )

    const [look = '', ask = ''] = blocksOf(guide, 'Orders')
    const looked = look.replaceAll('Corner Bakery', 'Demo Bakery').replace('<order id>', order._id)
    assert.match(await demo.run(looked), /paid[\s\S]+Butter croissant/)
    assert.equal((await run(setting + ask.replace('cs_test_a1…', sessionId ?? ''))).items[0]._id, order._id)
  })
})
