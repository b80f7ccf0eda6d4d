import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEmptyPlace, onBothEngines } from '../helpers/harness.ts'
import { startServer } from '../helpers/process.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/commerce.md'), 'utf8')
const orderTimeoutMs = 30_000

/** The commands of the guide's first part, exactly as they are printed. */
function commandsOfSale() {
  const [, sale = ''] = /^## A sale, from product to order\n([\s\S]*?)^## /m.exec(guide) ?? []
  const commands = [...sale.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  assert.equal(commands.length, 4, 'the setting, the products, the checkout, the orders')
  const [setting = '', ...requests] = commands
  return requests.map((request) => setting + request) as [products: string, checkout: string, orders: string]
}

/** Runs commands where the guide runs them, and gives what they print as JSON. */
async function run(commands: string, cwd: string) {
  const child = spawn('sh', ['-eu', '-c', commands], { cwd, env: { PATH: process.env.PATH ?? '' } })
  let printed = ''
  let complaints = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (printed += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (complaints += text))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, complaints)
  const answer = JSON.parse(printed)
  assert.ok(answer.success, printed)
  return answer.data
}

/** Presses the button that is marked with the amount. */
async function pay(checkoutUrl: string, email: string): Promise<Response> {
  const page = await (await fetch(checkoutUrl)).text()
  const [, action = ''] = /<form method="post" action="([^"]+)"/.exec(page) ?? []
  assert.match(page, /no money moves/i)
  const body = new URLSearchParams({ email, outcome: 'paid' })
  return fetch(new URL(action, checkoutUrl), { method: 'POST', body, redirect: 'manual' })
}

onBothEngines('the guide to commerce', (engine) => {
  it('leads from a product to a paid order with the commands that it prints, and to one session however often', async () => {
    const place = await createEmptyPlace(engine)
    const folder = await mkdtemp(join(tmpdir(), 'sluice-guide-'))
    const server = await startServer(place.env, ['--demo'])
    after(async () => {
      await server.stop()
      await place.remove()
      await rm(folder, { recursive: true })
    })
    await symlink(place.env.DATA_DIR, join(folder, 'data'))
    const [products, checkout, orders] = commandsOfSale()

    const { items } = await run(products, folder)
    assert.deepEqual(
      items.map(({ objectValue }: { objectValue: { default_price: string } }) => objectValue.default_price),
      ['price_demo_croissant'],
    )
    const url = await run(checkout, folder)
    assert.ok(url.startsWith(`${server.baseUrl}/sandbox/checkout/`), url)
    assert.equal(await run(checkout, folder), url)
    assert.equal((await run(orders, folder)).totalCount, 0)

    const paid = await pay(url, 'ada@example.com')
    const sessionId = url.split('/').at(-1)
    assert.equal(paid.status, 303)
    assert.equal(paid.headers.get('location'), `https://shop.example/checkoutsuccess?session_id=${sessionId}`)

    const deadline = Date.now() + orderTimeoutMs
    let found = await run(orders, folder)
    while (found.totalCount === 0 && Date.now() < deadline) {
      await sleep(200)
      found = await run(orders, folder)
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
  })
})
