import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import Stripe from 'stripe'
import { makeId } from '../../../src/ids.ts'
import { createWorker } from '../../../src/jobs/worker.ts'
import type { ProviderCall } from '../../../src/payments/receive-event.ts'
import { secretKeyOf } from '../../../src/payments/sandbox/keys.ts'
import { type EventWork, eventKind } from '../../../src/payments/sandbox/objects.ts'
import { createSandbox } from '../../../src/payments/sandbox/sandbox.ts'
import { noteIntegrationPlace } from '../../../src/store/integrations.ts'
import { findPendingJobs } from '../../../src/store/jobs.ts'
import { createHarness, type Harness, onBothEngines } from '../../helpers/harness.ts'
import { managing } from '../../helpers/manage.ts'

onBothEngines('webhooks of the sandbox', (engine) => {
  let house: Harness
  const heard: ProviderCall[] = []
  let problem: Error | undefined
  const signingKey = Buffer.alloc(32, 7)
  const url = 'https://elsewhere.example/webhooks/stripe/x?a=b'

  before(async () => {
    house = await createHarness(engine)
  })
  after(() => house.close())

  /** A sandbox of its own, with a service that only listens. */
  async function open() {
    const { store, logger } = house.service
    const clock = () => house.clock.now
    const receive = async (call: ProviderCall) => {
      heard.push(call)
      if (problem) throw problem
    }
    const sandbox = createSandbox({ store, clock, signingKey, baseUrl: () => 'https://no-such-host.invalid', receive })
    const worker = createWorker({ store, handlers: sandbox.handlers, clock, logger, workers: 0 })
    const group = await house.newGroup()
    const id = makeId()
    await noteIntegrationPlace(store, id, group.group.id)
    const { hostname, port } = new URL(await sandbox.url())
    const options = { host: hostname, port, protocol: 'http', telemetry: false } as const
    const stripe = new Stripe(secretKeyOf(signingKey, id), options)
    heard.length = 0
    problem = undefined
    after(() => sandbox.close())
    return { worker, stripe, group }
  }

  it('tells who wants to hear of it, signed, at this service and nowhere else', async () => {
    const { worker, stripe } = await open()
    const { secret = '' } = await stripe.webhookEndpoints.create({
      url,
      enabled_events: ['product.created'],
    })
    const { id } = await stripe.products.create({ name: 'Größe “L”' })
    await stripe.products.update(id, { name: 'Other' })
    await worker.runDue()
    assert.deepEqual(
      heard.map(({ type, integrationId }) => [type, integrationId]),
      [['stripe', 'x']],
    )
    const [{ body: bytes, signature } = { body: Buffer.alloc(0), signature: '' }] = heard
    const body = bytes.toString()
    const verify = (payload: string, atMs: number) =>
      stripe.webhooks.constructEvent(payload, signature, secret, 300, undefined, atMs)
    const event = verify(body, house.clock.now)
    assert.ok(event.type === 'product.created')
    assert.equal(event.data.object.id, id)
    assert.equal(event.livemode, false)
    assert.throws(() => verify(JSON.stringify(JSON.parse(body)), house.clock.now), /signature/)
    assert.throws(() => verify(body, house.clock.now + 301_000), /tolerance/)
  })

  it('tries again when it was not heard, with a new signature, and says why until then', async () => {
    const { worker, stripe, group } = await open()
    const { secret = '' } = await stripe.webhookEndpoints.create({ url, enabled_events: ['*'] })
    problem = new Error('out for lunch')
    const loud = await stripe.products.create({ name: 'Loud' })
    await worker.runDue()
    assert.equal(heard.length, 1)
    const [job] = await findPendingJobs(group.store, eventKind)
    assert.match(job?.problem ?? '', /^product\.created could not be told at .*: out for lunch$/)
    const { type, about } = job?.payload as EventWork
    assert.deepEqual([type, about], ['product.created', loud.id], 'who looks at the job sees what it is about')
    problem = undefined
    house.clock.now += 10_000
    await worker.runDue()
    assert.equal(heard.length, 2)
    const [first, second] = heard
    assert.deepEqual(first?.body, second?.body)
    assert.notEqual(first?.signature, second?.signature)
    stripe.webhooks.constructEvent(
      second?.body.toString() ?? '',
      second?.signature ?? '',
      secret,
      300,
      undefined,
      house.clock.now,
    )
    house.clock.now += 100_000
    await worker.runDue()
    assert.equal(heard.length, 2, 'heard once is enough')
  })

  it('leaves no job where nobody wants to hear of it', async () => {
    const { worker, stripe } = await open()
    await stripe.webhookEndpoints.create({ url, enabled_events: ['price.created'] })
    await stripe.products.create({ name: 'Quiet' })
    assert.equal(await worker.runDue(), 0)
    assert.equal((await stripe.events.list()).data.length, 1)
  })

  it('reach the service although nobody can resolve its public address: what was paid is an order', async () => {
    const env = { PUBLIC_URL: 'https://no-such-host.invalid' }
    const { newManagedGroup, ask, app, service } = await managing(engine, { env })
    const { groupId, key } = await newManagedGroup()
    const base = `/manage/groups/${groupId}`
    await ask('POST', `${base}/integrations/sandbox`, { type: 'stripe' })
    await service.worker.runDue()
    const body = {
      products: [{ price: 'price_sandbox_mug', quantity: 1 }],
      requiresShipping: false,
      originUrl: 'https://shop.example',
    }
    const headers = { authorization: key }
    const made = await app.inject({ method: 'POST', url: '/tenant/createCheckoutSession', headers, payload: body })
    assert.equal(made.statusCode, 200, made.body)
    const { pathname } = new URL(made.json().data)
    const paid = await app.inject({
      method: 'POST',
      url: `${pathname}/pay`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'email=ada%40example.com&outcome=paid',
    })
    assert.equal(paid.statusCode, 303)
    while ((await service.worker.runDue()) > 0);
    const { items } = await ask('GET', `${base}/orders`)
    assert.deepEqual(
      items.map(({ status, email }: { status: string; email: string }) => [status, email]),
      [['paid', 'ada@example.com']],
    )
  })
})
