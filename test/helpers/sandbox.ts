import assert from 'node:assert/strict'
import Stripe from 'stripe'
import { makeId } from '../../src/ids.ts'
import { secretKeyField, webhookSecretField } from '../../src/payments/payments.ts'
import {
  type Integration,
  insertIntegration,
  noteIntegrationPlace,
  updateIntegration,
} from '../../src/store/integrations.ts'
import { write } from './authoring.ts'
import type { Harness, TestGroup } from './harness.ts'

/** The provider's own SDK, speaking to the sandbox as an account of it; or to what stands before the sandbox. */
export async function stripeFor(
  { service: { payments } }: Pick<Harness, 'service'>,
  integrationId: string,
  { url, retries = 0 }: { url?: string; retries?: number } = {},
): Promise<Stripe> {
  const { hostname, port } = new URL(url ?? (await payments.sandbox.url()))
  return new Stripe(payments.sandbox.secretKeyOf(integrationId), {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries: retries,
    telemetry: false,
  })
}

/** An account of the sandbox, and the SDK to work with it. */
export interface SandboxAccount {
  integration: Integration
  stripe: Stripe
  /** With which the sandbox signs what it sends. */
  webhookSecret: string
}

/** Connects a group with the sandbox by hand: nothing is mirrored, and its webhooks go where the test says. */
export async function connectSandbox(
  harness: Harness,
  { group, store }: Pick<TestGroup, 'group' | 'store'>,
  { accountHandle = 'main', webhookUrl = 'http://127.0.0.1/hook' } = {},
): Promise<SandboxAccount> {
  const { service, clock } = harness
  const { vault, sandbox } = service.payments
  const id = makeId()
  await noteIntegrationPlace(service.store, id, group.id)
  const stripe = await stripeFor(harness, id)
  const endpoint = await stripe.webhookEndpoints.create({ url: webhookUrl, enabled_events: ['*'] })
  const webhookSecret = endpoint.secret ?? ''
  const integration = await write(store, clock.now, async (writer) => {
    const account = { accountId: `acct_${id}`, accountName: 'Sandbox', live: false, sandbox: true }
    const created = await insertIntegration(writer, { id, type: 'stripe', accountHandle, ...account })
    await vault.put(writer, id, secretKeyField, sandbox.secretKeyOf(id))
    await vault.put(writer, id, webhookSecretField, webhookSecret)
    return updateIntegration(writer, created, { webhookId: endpoint.id }, 'webhook')
  })
  return { integration, stripe, webhookSecret }
}

/** What the SDK throws, because the call must not succeed. */
export async function refusalOf(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(failure instanceof Stripe.errors.StripeError, `accepted, or no answer of the provider: ${failure}`)
  return failure
}
