import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Value } from 'typebox/value'
import { integrationShape } from '../../src/manage/integrations.ts'
import { onBothEngines, type TestEngine } from '../helpers/harness.ts'
import { managing } from '../helpers/manage.ts'

const refusal = 'Invalid URL: it must be publicly accessible'
const problem = `Stripe does not accept this: ${refusal}`

/** An account connected while the provider refused a webhook. */
async function refused(engine: TestEngine, webhookRefusal = refusal) {
  const created = await managing(engine, { env: { PUBLIC_URL: 'https://shop.example' } })
  created.stripe.webhookRefusal = webhookRefusal
  const { groupId } = await created.newManagedGroup()
  const accounts = `/manage/groups/${groupId}/integrations`
  const answer = await created.ask('POST', accounts, { type: 'stripe', secretKey: 'sk_test_shop_canary' })
  return { ...created, answer, path: `${accounts}/${answer._id}`, accounts }
}

onBothEngines('a webhook that the provider refuses', (engine) => {
  it('does not prevent connecting the account; the answer, the account and the log have the reason', async () => {
    const { ask, accounts, answer, path, log } = await refused(engine)
    assert.deepEqual([answer.status, answer.webhook, answer.webhookProblem], ['active', 'none', problem])
    assert.ok(Value.Check(integrationShape, answer))
    assert.equal((await ask('GET', path)).webhookProblem, problem)
    assert.equal((await ask('GET', accounts)).items[0].webhookProblem, problem)
    const lines = log().split('\n').filter((line) => line.includes('a webhook was not registered'))
    assert.equal(lines.length, 1)
    for (const part of [answer._id, refusal]) assert.ok(lines[0]?.includes(part), part)
    assert.ok(!log().includes('canary'))
  }) // biome-ignore format: short

  it('is requested again on demand: the latest reason is stored until there is a webhook', async () => {
    const { ask, call, path, stripe } = await refused(engine)
    stripe.webhookRefusal = 'You have reached the maximum of 16 webhook endpoints'
    assert.match((await call('POST', `${path}/webhook`)).json().error, /maximum of 16/)
    assert.match((await ask('GET', path)).webhookProblem, /maximum of 16/)
    stripe.webhookRefusal = undefined
    const { webhook, webhookProblem } = await ask('POST', `${path}/webhook`)
    assert.deepEqual([webhook, webhookProblem], ['registered', undefined])
  })

  it('is no longer a problem once the secret of another one is stored', async () => {
    const { ask, path } = await refused(engine)
    const { webhook, webhookProblem } = await ask('PUT', `${path}/webhookSecret`, { webhookSecret: 'whsec_by_hand' })
    assert.deepEqual([webhook, webhookProblem], ['by hand', undefined])
  })

  it('discloses no secret that the provider quotes', async () => {
    const { answer, log } = await refused(engine, 'The key sk_test_shop_canary may not do this')
    assert.equal(answer.webhookProblem, 'Stripe does not accept this.')
    assert.ok(!log().includes('canary'))
  })

  it('is not requested without a public URL, and nothing is logged', async () => {
    const { ask, newManagedGroup, log, stripe } = await managing(engine)
    const { groupId } = await newManagedGroup()
    for (const [path, body] of [
      ['', { secretKey: 'sk_test_shop_canary' }],
      ['/sandbox', {}],
    ] as const) {
      const made = await ask('POST', `/manage/groups/${groupId}/integrations${path}`, { type: 'stripe', ...body })
      assert.ok(!('webhookProblem' in made))
    }
    assert.ok(!stripe.asked.some((call) => call.includes('webhook')))
    assert.ok(!log().includes('a webhook was not registered'))
  })
})
