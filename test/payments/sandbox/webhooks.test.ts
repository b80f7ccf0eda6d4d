import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, it } from 'node:test'
import Stripe from 'stripe'
import { makeId } from '../../../src/ids.ts'
import { createWorker } from '../../../src/jobs/worker.ts'
import { secretKeyOf } from '../../../src/payments/sandbox/keys.ts'
import { createSandbox } from '../../../src/payments/sandbox/sandbox.ts'
import { noteIntegrationPlace } from '../../../src/store/integrations.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'

interface Heard {
  path: string
  body: string
  signature: string
}

onBothEngines('webhooks of the sandbox', (engine) => {
  let house: Harness
  let baseUrl: string
  const heard: Heard[] = []
  let answer = 200
  const signingKey = Buffer.alloc(32, 7)

  const receiver = createServer(async (request, reply) => {
    const signature = String(request.headers['stripe-signature'])
    heard.push({ path: request.url ?? '', body: await text(request), signature })
    reply.writeHead(answer).end()
  })

  before(async () => {
    house = await createHarness(engine)
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    baseUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  })
  after(async () => {
    receiver.close()
    await house.close()
  })

  /** A sandbox of its own, whose service is the receiver. */
  async function open() {
    const { store, logger } = house.service
    const clock = () => house.clock.now
    const sandbox = createSandbox({ store, clock, signingKey, baseUrl: () => baseUrl })
    const worker = createWorker({ store, handlers: sandbox.handlers, clock, logger, workers: 0 })
    const { group } = await house.newGroup()
    const id = makeId()
    await noteIntegrationPlace(store, id, group.id)
    const { hostname, port } = new URL(await sandbox.url())
    const options = { host: hostname, port, protocol: 'http', telemetry: false } as const
    const stripe = new Stripe(secretKeyOf(signingKey, id), options)
    heard.length = 0
    answer = 200
    return { sandbox, worker, stripe }
  }

  it('tells who wants to hear of it, signed, at this service and nowhere else', async () => {
    const { sandbox, worker, stripe } = await open()
    const { secret = '' } = await stripe.webhookEndpoints.create({
      url: 'https://elsewhere.example/webhooks/stripe/x?a=b',
      enabled_events: ['product.created'],
    })
    const { id } = await stripe.products.create({ name: 'Größe “L”' })
    await stripe.products.update(id, { name: 'Other' })
    await worker.runDue()
    assert.deepEqual(
      heard.map(({ path }) => path),
      ['/webhooks/stripe/x?a=b'],
    )
    const [{ body, signature } = { body: '', signature: '' }] = heard
    const verify = (payload: string, atMs: number) =>
      stripe.webhooks.constructEvent(payload, signature, secret, 300, undefined, atMs)
    const event = verify(body, house.clock.now)
    assert.ok(event.type === 'product.created')
    assert.equal(event.data.object.id, id)
    assert.equal(event.livemode, false)
    assert.throws(() => verify(JSON.stringify(JSON.parse(body)), house.clock.now), /signature/)
    assert.throws(() => verify(body, house.clock.now + 301_000), /tolerance/)
    await sandbox.close()
  })

  it('tries again when it was not heard, with a new signature', async () => {
    const { sandbox, worker, stripe } = await open()
    const { secret = '' } = await stripe.webhookEndpoints.create({ url: baseUrl, enabled_events: ['*'] })
    answer = 500
    await stripe.products.create({ name: 'Loud' })
    await worker.runDue()
    assert.equal(heard.length, 1)
    answer = 204
    house.clock.now += 10_000
    await worker.runDue()
    assert.equal(heard.length, 2)
    const [first, second] = heard
    assert.equal(first?.body, second?.body)
    assert.notEqual(first?.signature, second?.signature)
    stripe.webhooks.constructEvent(second?.body ?? '', second?.signature ?? '', secret, 300, undefined, house.clock.now)
    house.clock.now += 100_000
    await worker.runDue()
    assert.equal(heard.length, 2, 'heard once is enough')
    await sandbox.close()
  })

  it('leaves no job where nobody wants to hear of it', async () => {
    const { sandbox, worker, stripe } = await open()
    await stripe.webhookEndpoints.create({ url: baseUrl, enabled_events: ['price.created'] })
    await stripe.products.create({ name: 'Quiet' })
    assert.equal(await worker.runDue(), 0)
    assert.equal((await stripe.events.list()).data.length, 1)
    await sandbox.close()
  })
})
