import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, beforeEach, describe, it } from 'node:test'
import { runCommand } from '../../src/cli/index.ts'
import { verbs } from '../../src/manage/index.ts'
import { listIntegrations } from '../../src/store/commerce/integrations.ts'
import { recordOrder } from '../../src/store/commerce/orders.ts'
import { createGroup, write } from '../helpers/authoring.ts'
import {
  createMigratedDatabase,
  onBothEnginesInProve,
  openTestStore,
  type TestDatabase,
  type TestEngine,
} from '../helpers/harness.ts'
import { newOrder } from '../helpers/orders.ts'
import { programEnv, startServer } from '../helpers/process.ts'
import { startStripeServer } from '../helpers/stripe-server.ts'
import { terminal } from '../helpers/terminal.ts'

const main = join(import.meta.dirname, '../../src/main.ts')

/** Runs a command of the real program with input. */
async function pipe(args: string[], env: Record<string, string>, input = '') {
  const child = spawn(process.execPath, [main, ...args], { env: { ...programEnv, LOG_LEVEL: 'silent', ...env } })
  child.stdin.end(input)
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { out, err, code }
} // biome-ignore format: short

async function opened(engine: TestEngine, env: Record<string, string> = {}) {
  const stripe = await startStripeServer()
  after(() => stripe.close())
  const created = await terminal(engine, { STRIPE_URL: stripe.url, ...env })
  const group = await created.newGroup({ name: 'Shop' })
  return { ...created, group, stripe }
}

/** Runs with a secret in the environment, like a script. */
async function withSecret<Result>(variable: string, secret: string, work: () => Promise<Result>): Promise<Result> {
  process.env[variable] = secret
  try {
    return await work()
  } finally {
    delete process.env[variable]
  }
}

onBothEnginesInProve('payment accounts at the command line', (engine) => {
  it('are connected with a key from the environment, which is not printed, and shown by handle', async () => {
    const { run, json } = await opened(engine)
    const shown = await withSecret('STRIPE_SECRET_KEY', 'sk_test_shop_canary\n', () =>
      run('integration', 'connect', 'stripe', '--group', 'Shop', '--account-handle', 'eu'),
    )
    assert.match(shown, /^ID +[0-9a-f]{24}\nTYPE +stripe\nACCOUNT HANDLE +eu\n/)
    assert.match(shown, /\nACCOUNT\n {2}ID +acct_shop\n {2}NAME +Shop shop\n/)
    assert.match(shown, /\nLAST SYNC\n {2}STARTED AT +2026/)
    assert.ok(!/[{}]|canary/.test(shown), 'for a person, and without the secret')
    assert.equal((await json('integration', 'show', 'Shop', 'eu')).account.id, 'acct_shop')
    assert.match(
      await run('integration', 'list', '--group', 'Shop'),
      /^ID +TYPE[^\n]+\n[0-9a-f]{24} +stripe +eu +active/,
    )
  })

  it('are connected although the provider refuses a webhook, and the reason is shown', async () => {
    const { run, stripe } = await opened(engine, { PUBLIC_URL: 'https://shop.example' })
    stripe.webhookRefusal = 'Invalid URL: it must be publicly accessible'
    const shown = await withSecret('STRIPE_SECRET_KEY', 'sk_test_shop_canary', () =>
      run('integration', 'connect', 'stripe', '--group', 'Shop'),
    )
    assert.match(shown, /\nWEBHOOK +none\nWEBHOOK PROBLEM +Stripe does not accept this: Invalid URL: it must be/)
    assert.match(shown, /\nLAST SYNC\n/)
    stripe.webhookRefusal = undefined
    assert.ok(!(await run('integration', 'webhook', 'Shop', 'main')).includes('WEBHOOK PROBLEM'))
  })

  it('accept no secret as an argument', async () => {
    const { run, group } = await opened(engine)
    for (const option of ['--secret-key', '--secretKey', '--key'])
      await assert.rejects(run('integration', 'connect', 'Shop', 'stripe', option, 'sk_test_shop_1'), /Unknown option/)
    assert.match(
      await run('integration', 'connect', '--help'),
      /The secret comes from STRIPE_SECRET_KEY, or from standard/,
    )
    assert.deepEqual(await listIntegrations(group.store), [])
  })

  it('can be rotated, given a webhook secret, synchronised and disconnected by handle', async () => {
    const { run, json, group, service } = await opened(engine)
    await withSecret('STRIPE_SECRET_KEY', 'sk_test_shop_1', () => run('integration', 'connect', 'Shop', 'stripe'))
    await withSecret('STRIPE_SECRET_KEY', 'sk_test_shop_2', () => run('integration', 'rotate', 'Shop', 'main'))
    await withSecret('STRIPE_WEBHOOK_SECRET', 'whsec_by_hand', () => run('integration', 'secret', 'Shop', 'main'))
    assert.equal((await json('integration', 'sync', 'Shop', 'main')).webhook, 'by hand')
    assert.equal(await run('integration', 'disconnect', 'Shop', 'main'), 'Done.')
    await service.worker.runDue()
    assert.deepEqual(await listIntegrations(group.store), [])
    await assert.rejects(run('integration', 'show', 'Shop', 'main'), /no such account/)
  })

  it('are synchronised in this process when no server does it, and a failure is reported with its reason', async () => {
    const { run, json, group, stripe, clock } = await opened(engine)
    const made = await json('integration', 'sandbox', 'Shop', 'stripe')
    assert.equal(made.lastSync.added, 4)
    clock.now += 60_000
    const again = await json('integration', 'sync', 'Shop', 'sandbox')
    assert.deepEqual([again.lastSync.added, again.lastSync.startedAt], [0, '2026-03-01T12:01:00.000Z'])
    const products = (await group.get('/tenant/integrationObjects?type=stripe')).json().data
    assert.equal(products.totalCount, 4)
    await withSecret('STRIPE_SECRET_KEY', 'sk_test_shop_1', () => run('integration', 'connect', 'Shop', 'stripe'))
    await stripe.close()
    await assert.rejects(run('integration', 'sync', 'Shop', 'main'), /could not be read: Stripe could not/)
  })

  it('have orders printed in readable form, without JSON', async () => {
    const { run, group, clock } = await opened(engine)
    assert.equal(await run('order', 'list', 'Shop'), 'Nothing yet.')
    const lines = [
      ...newOrder().lines,
      { description: 'Coffee', priceId: null, productId: null, quantity: 1, amount: '4.00' },
    ]
    await write(group.store, clock.now, (writer) => recordOrder(writer, newOrder({ lines, total: '22.00' })))
    const list = await run('order', 'list', '--group', 'Shop', '--status', 'paid')
    assert.match(list, /paid +\S+ +22\.00 +cad +ada@people\.example +2 × Sourdough loaf, 1 × Coffee$/)
    const [, id = ''] = /\n([0-9a-f]{24}) /.exec(list) ?? []
    const order = await run('order', 'show', 'Shop', id)
    assert.match(order, /\nSHIPPING\n {2}NAME +Ada\n {2}ADDRESS\n {4}LINE1 +1 Main St\n/)
    assert.match(order, /\nLINES\n {2}DESCRIPTION +QUANTITY +AMOUNT[^\n]+\n {2}Sourdough loaf +2 +18\.00 /)
    assert.ok(!/[{}]/.test(list + order))
  })
})

describe('--group', () => {
  it('names the group in every command that takes one, anywhere in the command line', async () => {
    const { run, json, newGroup, config, clock, service } = await terminal('sqlite')
    await newGroup({ name: 'Shop' })
    await json('collection', 'create', 'Posts', '--group', 'Shop', '--schema', '{"title":{"type":"text"}}')
    assert.equal((await json('object', 'list', '--group=Shop', 'Posts')).totalCount, 0)
    await assert.rejects(run('collection', 'show', '--group', 'Nowhere', 'Posts'), /no group "Nowhere"/)
    await assert.rejects(run('key', 'create', 'Shop', '--group', 'Shop'), /Usage: sluice key create <group>/)
    const context = { config, clock: () => clock.now, logger: service.logger, store: async () => service.store }
    for (const { name } of verbs.filter(({ inPath }) => inPath.includes('groupId')))
      await runCommand([...name.split(' '), '--group', 'Shop', '--help'], { ...context, print: () => {} })
  })
})

async function databaseWithShop(): Promise<TestDatabase> {
  const created = await createMigratedDatabase('sqlite')
  const store = await openTestStore(created)
  await createGroup(store, { name: 'Shop' }, Date.now())
  await store.close()
  return created
}

describe('a piped secret', () => {
  beforeEach(() => delete process.env.STRIPE_SECRET_KEY)

  it('is read from standard input; progress goes to standard error; without input there is a hint', async () => {
    const testDatabase = await databaseWithShop()
    const stripe = await startStripeServer()
    after(async () => {
      await stripe.close()
      await testDatabase.remove()
    })
    const env = { ...testDatabase.env, STRIPE_URL: stripe.url }
    const connect = ['integration', 'connect', 'stripe', '--group', 'Shop']
    const none = await pipe(connect, env)
    assert.deepEqual([none.code, none.err], [1, 'Set STRIPE_SECRET_KEY, or send the secret to standard input.\n'])
    const wrong = await pipe(connect, env, 'sk_live_wrong-canary\n')
    assert.deepEqual([wrong.code, wrong.out, wrong.err.includes('canary')], [1, '', false])
    const made = await pipe(connect, env, 'sk_test_shop_canary\n')
    assert.deepEqual([made.code, made.err], [0, 'Reading the catalogue …\n'])
    assert.match(made.out, /^ID [\s\S]+acct_shop/)
    assert.ok(!made.out.includes('canary'))
  })
})

describe('a synchronisation while a server runs', () => {
  it('is done by the server; the command only follows it', async () => {
    const testDatabase = await databaseWithShop()
    const stripe = await startStripeServer()
    const server = await startServer({ ...testDatabase.env, STRIPE_URL: stripe.url })
    after(async () => {
      await server.stop()
      await stripe.close()
      await testDatabase.remove()
    })
    const connect = ['integration', 'connect', 'stripe', '--group', 'Shop']
    await pipe(connect, { ...testDatabase.env, STRIPE_URL: stripe.url }, 'sk_test_shop_1')
    // The provider is unreachable from here: only the server can have synchronised.
    const env = { ...testDatabase.env, STRIPE_URL: 'http://127.0.0.1:1' }
    const startedMs = Date.now()
    const { code, out, err } = await pipe(['integration', 'sync', 'main', '--group', 'Shop', '--json'], env)
    assert.deepEqual([code, err], [0, ''])
    assert.ok(Date.parse(JSON.parse(out).lastSync.startedAt) >= startedMs)
  })
})
