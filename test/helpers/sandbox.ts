import { makeId } from '../../src/core/ids.ts'
import { recordChange } from '../../src/payments/jobs.ts'
import type { Provider } from '../../src/payments/provider.ts'
import { type SeedProduct, seedSandbox } from '../../src/payments/sandbox/catalogue.ts'
import { type Integration, insertIntegration, registerIntegration } from '../../src/store/commerce/integrations.ts'
import type { GroupStore } from '../../src/store/store.ts'
import { write } from './authoring.ts'
import type { Harness, TestGroup } from './harness.ts'

/** An account of the sandbox, as our code sees it. */
export interface SandboxAccount {
  integration: Integration
  provider: Provider
}

/** Connects a group with the sandbox; nothing is mirrored until jobs run. */
export async function connectSandbox(
  { service, clock }: Harness,
  { group, store }: Pick<TestGroup, 'group' | 'store'>,
  accountHandle = 'main',
): Promise<SandboxAccount> {
  const id = makeId()
  await registerIntegration(service.store, id, group.id)
  const account = { accountId: `acct_${id}`, accountName: 'Sandbox', live: false, sandbox: true }
  const integration = await write(store, clock.now, (writer) =>
    insertIntegration(writer, { id, type: 'stripe', accountHandle, ...account }),
  )
  return { integration, provider: service.payments.sandbox.open(store, id) }
}

/** Adds products with chosen ids; the mirror is notified as of any other change. */
export async function addToSandbox(
  group: GroupStore,
  integrationId: string,
  products: readonly SeedProduct[],
  nowMs: number,
): Promise<void> {
  await seedSandbox(group, integrationId, products, nowMs)
  await write(group, nowMs, async (writer) => {
    for (const { product } of products) await recordChange(writer, integrationId, { kind: 'product', id: product.id })
  })
}
