import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { showIntegration } from '../../src/manage/integrations.ts'
import { connectAccount, storeWebhookSecret } from '../../src/payments/connect.ts'
import { orderJob, syncJob } from '../../src/payments/jobs.ts'
import { webhookSecretField } from '../../src/payments/payments.ts'
import { updateIntegration, updateSyncState } from '../../src/store/commerce/integrations.ts'
import { deleteSecrets } from '../../src/store/content/secrets.ts'
import { insertJob } from '../../src/store/jobs/jobs.ts'
import { authoring, write } from '../helpers/authoring.ts'
import { assertUnchanged } from '../helpers/dump.ts'
import { onBothEnginesInProve, type TestEngine } from '../helpers/harness.ts'
import { startStripeServer } from '../helpers/stripe-server.ts'
import { assertOnly, assertSound, patient } from './patient.ts'

const hourMs = 3_600_000

/** A healthy service with an account, a reachable provider and webhooks. */
async function connected(engine: TestEngine, { env = {}, isTold = true, webhookRefusal = '' } = {}) {
  const stripe = await startStripeServer()
  after(() => stripe.close())
  if (webhookRefusal !== '') stripe.webhookRefusal = webhookRefusal
  const on = await patient(engine, { STRIPE_URL: stripe.url, ...env })
  const { service, clock, newGroup } = on
  const shop = await newGroup({ name: 'Shop' })
  const { group, store: content } = shop
  const deps = { ...service, authoring: authoring(clock.now), confirm: async () => {} }
  const account = { type: 'stripe', accountHandle: 'main', secretKey: 'sk_test_shop_canary' }
  const integration = await connectAccount(deps, content, account)
  if (isTold) await storeWebhookSecret(deps, content, integration.id, 'whsec_canary')
  await service.worker.runDue()
  return { ...on, stripe, shop, content, integration, account: `${group.id} ${integration.id}` }
}

onBothEnginesInProve('the doctor’s check of payments', (engine) => {
  it('finds nothing when the key works and webhooks are registered', async () => {
    const { examine, service } = await connected(engine)
    await assertUnchanged(service.store, async () => assertSound(await examine()))
  })

  it('finds an unreachable provider: products are still served', async () => {
    const { examine, stripe } = await connected(engine)
    await stripe.close()
    assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^The provider of the stripe account "main" of Shop does not answer: /,
      advice: /checkouts fail/,
    })
  })

  it('finds a failed synchronisation, with the reason, which the account shows too', async () => {
    const { examine, service, clock, content, integration, account } = await connected(engine)
    await write(content, clock.now, async (writer) => {
      const id = await insertJob(writer, syncJob(integration.id))
      await writer.db.updateTable('jobs').set({ attempts: 1, problem: 'No right to read prices.' }).where('id', '=', id).execute() // biome-ignore format: short
    })
    assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^The catalogue of the stripe account "main" of Shop could not be synchronised: No right to read prices\.$/,
      commands: [`npx sluice integration sync ${account}`],
    })
    assert.equal((await showIntegration(content, integration)).problem, 'No right to read prices.')
    await service.worker.runDue()
    assertSound(await examine())
  })

  it('finds a key that the provider no longer accepts, and advises how to replace it', async () => {
    const { examine, service, clock, content, integration, account } = await connected(engine)
    await write(content, clock.now, (writer) =>
      service.payments.vault.put(writer, integration.id, 'secretKey', 'sk_live_gone-canary'),
    )
    const finding = assertOnly(await examine(), {
      check: 'Payments',
      level: 'wrong',
      what: /^The key of the stripe account "main" of Shop cannot be used: /,
      commands: [`npx sluice integration rotate ${account}`],
    })
    assert.ok(!JSON.stringify(finding).includes('canary'))
  })

  it('finds a changed master key, and advises to restore it first', async () => {
    const { examine, config, account } = await connected(engine)
    const masterKey = randomBytes(32)
    const found = (await examine({ config: { ...config, masterKey } })).find(({ name }) => name === 'Payments')
    const [finding] = found?.findings ?? []
    assert.match(finding?.what ?? '', /cannot be used: The sealed \w+ cannot be opened/)
    assert.match(finding?.advice ?? '', /Restore the master key/)
    assert.deepEqual(finding?.commands, [`npx sluice integration disconnect ${account}`])
  })

  it('finds an account without a webhook', async () => {
    const { examine, content, integration, account } = await connected(engine)
    await content.database.write((db) =>
      db
        .deleteFrom('secrets')
        .where('subject_id', '=', integration.id)
        .where('field', '=', webhookSecretField)
        .execute(),
    )
    assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^There is no webhook for the stripe account "main" of Shop/,
      commands: [`npx sluice integration webhook ${account}`, `npx sluice integration secret ${account}`],
    })
  })

  it('finds a refused webhook, with the provider’s reason; without a public address it names PUBLIC_URL', async () => {
    const webhookRefusal = 'Invalid URL: it must be publicly accessible'
    const env = { PUBLIC_URL: 'https://shop.example' }
    const { examine, config, service, account } = await connected(engine, { env, isTold: false, webhookRefusal })
    const silence = {
      check: 'Payments',
      level: 'attention' as const,
      what: /^There is no webhook for the stripe account "main" of Shop/,
      commands: [`npx sluice integration webhook ${account}`, `npx sluice integration secret ${account}`],
    }
    const looked = async (publicUrl: string | undefined) =>
      (await examine({ config: { ...config, publicUrl } })).filter(({ name }) => name === 'Payments')
    await assertUnchanged(service.store, async () => {
      const refused = assertOnly(await looked(env.PUBLIC_URL), {
        ...silence,
        advice: /refused to create a webhook/,
      })
      assert.deepEqual(refused.examples, [`Stripe does not accept this: ${webhookRefusal}`])
      assert.ok(!refused.advice.includes('PUBLIC_URL'))
      for (const local of [undefined, 'http://shop.example']) {
        const unreachable = assertOnly(await looked(local), {
          ...silence,
          advice: /^Set PUBLIC_URL to an https address/,
        })
        assert.equal(unreachable.examples, undefined)
      }
    })
  })

  it('does not advise setting PUBLIC_URL when it is set and no webhook was requested', async () => {
    const { examine, config } = await connected(engine, { isTold: false })
    const results = await examine({ config: { ...config, publicUrl: 'https://shop.example' } })
    assertOnly(
      results.filter(({ name }) => name === 'Payments'),
      { check: 'Payments', level: 'attention', what: /^There is no webhook/, advice: /^Have the provider call us/ },
    )
  })

  it('finds a catalogue not synchronised for twice the interval, unless that is switched off', async () => {
    const { examine, config, clock, content, integration, account } = await connected(engine)
    const syncedMs = clock.now - 2 * config.catalogueSyncHours * hourMs - 1
    await write(content, clock.now, (writer) => updateSyncState(writer, integration.id, { syncedMs }))
    assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^The catalogue of the stripe account "main" of Shop was last synchronised, 2 days ago\.$/,
      commands: [`npx sluice integration sync ${account}`],
    })
    assertSound(await examine({ config: { ...config, catalogueSyncHours: 0 } }))
  })

  it('finds partially imported products, with examples', async () => {
    const { examine, clock, content, integration, account } = await connected(engine)
    const problems = ['The price price_1 has no fixed amount.']
    const counts = { prices: 1, products: 1, added: 0, changed: 0, archived: 0, ordersFound: 0 }
    const lastSync = { startedMs: clock.now, finishedMs: clock.now, ...counts, problems }
    await write(content, clock.now, (writer) => updateSyncState(writer, integration.id, { lastSync }))
    const finding = assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^Not everything of the stripe account "main" of Shop could be imported\.$/,
      commands: [`npx sluice integration show ${account}`],
    })
    assert.deepEqual(finding.examples, problems)
  })

  it('finds orders that could not be recorded, with the reason, until they are', async () => {
    const { examine, clock, content, integration, shop } = await connected(engine)
    const problem = 'Stripe could not be reached, or could not answer.'
    const jobId = await write(content, clock.now, async (writer) => {
      const id = await insertJob(writer, orderJob(integration.id, 'cs_1'))
      await writer.db.updateTable('jobs').set({ attempts: 1, problem }).where('id', '=', id).execute()
      await insertJob(writer, orderJob('another', 'cs_1'))
      return id
    })
    const finding = assertOnly(await examine(), {
      check: 'Payments',
      level: 'attention',
      what: /^1 order of the stripe account "main" of Shop could not be recorded so far\.$/,
      commands: [`npx sluice job retry ${shop.group.id} ${jobId}`],
    })
    assert.deepEqual(finding.examples, [`${jobId}: ${problem}`])
  })

  it('finds a missing master key, and creates none', async () => {
    const { examine, config, service } = await connected(engine)
    const file = join(config.dataDir, 'master.key')
    renameSync(file, `${file}.away`)
    await assertUnchanged(service.store, async () => {
      const found = (await examine()).find(({ name }) => name === 'Payments')?.findings ?? []
      assert.deepEqual(found.map(({ level }) => level), ['wrong'])
      assert.match(found[0]?.what ?? '', /^1 payment account cannot be used: there is no master key/)
    })
    assert.equal(existsSync(file), false)
  }) // biome-ignore format: short

  it('ignores an account that is being disconnected', async () => {
    const { examine, clock, content, integration, stripe } = await connected(engine)
    await write(content, clock.now, async (writer) => {
      await updateIntegration(writer, integration, { status: 'disconnecting' }, 'disconnecting')
      await deleteSecrets(writer, integration.id)
    })
    await stripe.close()
    assertSound(await examine())
  })

  it('finds nothing in a sandbox, without a network request', async () => {
    const { examine, service, clock, newGroup } = await patient(engine)
    const { store: content } = await newGroup({ name: 'Shop' })
    const deps = { ...service, authoring: authoring(clock.now), confirm: async () => {} }
    await connectAccount(deps, content, { type: 'stripe', accountHandle: 'sandbox', secretKey: undefined })
    await service.worker.runDue()
    await assertUnchanged(service.store, async () => assertSound(await examine()))
  })
})
