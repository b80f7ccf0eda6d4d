import assert from 'node:assert/strict'
import { it } from 'node:test'
import { distantShop, manyProducts } from '../helpers/distant-shop.ts'
import { failSome, seededRandom } from '../helpers/flaky-proxy.ts'
import { onBothEngines } from '../helpers/harness.ts'

/** `npm run prove -- checkout` runs 1,000. */
const callCount = Number(process.env.CHECKOUT_CALLS ?? 40)
const keyCount = Math.ceil(callCount * 0.3)
const atOnce = 8
const faultRate = 0.3

interface Envelope {
  success: boolean
  data: unknown
  error: unknown
  code?: unknown
}

interface Answered {
  customer: number
  status: number
  retryAfter: string | null
  body: Envelope
  ms: number
}

/** Each customer clicks several times, with varying delays. */
function clicks(): number[] {
  const random = seededRandom(4)
  const inTurn = Array.from({ length: callCount }, (_, call) => call % keyCount)
  const clicks = inTurn.map((customer) => ({ customer, position: customer + random() * 6 }))
  return clicks.toSorted((one, other) => one.position - other.position).map(({ customer }) => customer)
}

const emailOf = (customer: number): string => `customer-${customer}@example.com`

/** Runs all of them, several at a time. */
async function inLanes<Item>(items: Iterable<Item>, work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items].values()
  const lane = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}

function assertClear({ status, retryAfter, body }: Answered): void {
  if (status === 200) {
    assert.match(String(body.data), /^http:\/\/\S+\/checkout\/cs_\S+$/)
    return
  }
  assert.equal(status, 503, JSON.stringify(body))
  assert.ok(Number(retryAfter) >= 1, 'it has a Retry-After')
  assert.deepEqual({ ...body, error: '' }, { success: false, data: null, error: '', code: 'Unavailable' })
  assert.match(String(body.error), /^[A-Z].+\.$/)
}

onBothEngines(`${callCount.toLocaleString('en')} checkouts at a provider that fails 30 % of the calls`, (engine) => {
  it('create at most one session per idempotency key, and answer each caller clearly', async (context) => {
    const { shop, group, proxy, seed, connect, stripe } = await distantShop(engine)
    seed(manyProducts(1))
    await connect()
    await shop.service.worker.runDue()
    const { baseUrl } = await shop.service.listen()
    const checkOut = async (customer: number): Promise<Answered> => {
      const startedMs = performance.now()
      const answer = await fetch(`${baseUrl}/tenant/createCheckoutSession`, {
        method: 'POST',
        headers: {
          authorization: group.key,
          'content-type': 'application/json',
          'idempotency-key': `click-${customer}`,
        },
        body: JSON.stringify({
          products: [{ price: 'price_0_Small', quantity: 1 + (customer % 5) }],
          requiresShipping: customer % 2 === 0,
          originUrl: 'https://shop.example',
          contactEmail: emailOf(customer),
        }),
      })
      const body = (await answer.json()) as Envelope
      const ms = performance.now() - startedMs
      return { customer, status: answer.status, retryAfter: answer.headers.get('retry-after'), body, ms }
    }

    proxy.chooseFault = failSome({ faultRate, seed: 79 })
    const answers: Answered[] = []
    await inLanes(clicks(), async (customer) => void answers.push(await checkOut(customer)))
    proxy.chooseFault = () => undefined
    const { passed, refused, ...faults } = proxy.counts

    answers.forEach(assertClear)
    assert.equal(answers.length, callCount)
    const sold = answers.filter(({ status }) => status === 200)
    const urls = Map.groupBy(sold, ({ customer }) => customer)
    for (const [customer, same] of urls)
      assert.equal(new Set(same.map(({ body }) => body.data)).size, 1, `${emailOf(customer)} has one address`)

    const sessions = async () => Array.fromAsync(stripe.checkout.sessions.list({ limit: 100 }))
    const made = Map.groupBy(await sessions(), ({ customer_email: email }) => email)
    for (const [email, same] of made) assert.equal(same.length, 1, `${email} has one session`)

    await inLanes(Array(keyCount).keys(), async (customer) => {
      const { status, body } = await checkOut(customer)
      assert.equal(status, 200, JSON.stringify(body))
      const before = urls.get(customer)?.[0]
      if (before) assert.equal(body.data, before.body.data, 'the same as before')
    })
    const all = await sessions()
    assert.equal(all.length, keyCount)
    assert.equal(new Set(all.map(({ customer_email: email }) => email)).size, keyCount)

    const slowest = Math.max(...answers.map(({ ms }) => ms))
    const kinds = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`)
    context.diagnostic(
      `${engine}: ${callCount} calls under ${keyCount} keys, ${atOnce} at once: ${sold.length} answered 200, ` +
        `${callCount - sold.length} answered 503; slowest ${(slowest / 1000).toFixed(1)} s; the provider heard ` +
        `${passed} calls without faults, faults: ${kinds.join(', ')}; sessions ${made.size} then, ${all.length} at the end`,
    )
  })
})
