import { after } from 'node:test'
import type Stripe from 'stripe'
import { makeId } from '../../src/ids.ts'
import type { Provider } from '../../src/payments/provider.ts'
import { type SeedProduct, seedSandbox } from '../../src/payments/sandbox/seed.ts'
import { openStripe } from '../../src/payments/stripe.ts'
import { noteIntegrationPlace } from '../../src/store/integrations.ts'
import { type FlakyProxy, startFlakyProxy } from './flaky-proxy.ts'
import { harness, type TestEngine } from './harness.ts'
import { type ManagedGroup, type Managing, managing } from './manage.ts'
import { stripeFor } from './sandbox.ts'

/**
 * A service that sells through a provider somewhere else, exactly as it would through Stripe: it is connected with a
 * secret key and speaks to STRIPE_URL. There stands a proxy that can spoil calls, and behind it another service's sandbox.
 */
export interface DistantShop {
  shop: Managing
  group: ManagedGroup
  proxy: FlakyProxy
  /** Of the account at the provider. */
  secretKey: string
  /** The settings with which another process is the same service. */
  env: Record<string, string>
  /** Connects the account and gives its id here. The catalogue comes in when jobs run. */
  connect(): Promise<string>
  /** Puts things into the provider's catalogue, and nobody is told. */
  seed(products: readonly SeedProduct[]): Promise<void>
  /** Somebody who works at the provider, past the proxy. */
  stripe: Stripe
  /** The same place through our own eyes. */
  provider: Provider
}

/** The secret of a webhook that somebody has set up there by hand. */
export const webhookSecret = 'whsec_distant'

export async function distantShop(engine: TestEngine, env: Record<string, string> = {}): Promise<DistantShop> {
  const there = await harness(engine)
  const { group: owner, store } = await there.newGroup({ name: 'The provider' })
  const accountThere = makeId()
  await noteIntegrationPlace(there.service.store, accountThere, owner.id)
  const { sandbox } = there.service.payments
  const [secretKey, url] = [sandbox.secretKeyOf(accountThere), await sandbox.url()]

  const proxy = await startFlakyProxy(url, { faultRate: 0, seed: 1 })
  after(() => proxy.close())
  const shop = await managing(engine, { env: { STRIPE_URL: proxy.url, ...env } })
  const group = await shop.newManagedGroup({ name: 'The shop' })
  const { dataDir, databaseUrl = '' } = shop.config
  return {
    shop,
    group,
    proxy,
    secretKey,
    env: { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, STRIPE_URL: proxy.url },
    async connect() {
      const integrations = `/manage/groups/${group.groupId}/integrations`
      const { _id } = await shop.ask('POST', integrations, { type: 'stripe', secretKey })
      await shop.ask('PUT', `${integrations}/${_id}/webhookSecret`, { webhookSecret })
      return _id
    },
    seed: (products) => seedSandbox(store, accountThere, products, there.clock.now),
    stripe: await stripeFor(there, accountThere),
    provider: await openStripe({ secretKey, url }),
  }
}

/** Products that differ, some of them with variants of either kind. */
export function manyProducts(count: number): SeedProduct[] {
  return Array.from({ length: count }, (_, number) => {
    const id = `prod_${String(number).padStart(5, '0')}`
    const isPart = number % 10 === 1
    const hasSizes = number % 10 === 2
    const shared = { variant_of: `set_${Math.floor(number / 30)}`, variant: `Part ${number}` }
    const price = (name: string, unit_amount: number) => ({
      id: `price_${number}_${name}`,
      currency: 'cad',
      unit_amount,
      nickname: name,
    })
    return {
      product: {
        id,
        name: `Product ${number}`,
        description: 'What people write about a product. '.repeat(20),
        metadata: { productType: ['Bread', 'Cake', 'Tea'][number % 3] ?? '', ...(isPart && shared) },
      },
      prices: [price('Small', 100 + number), ...(hasSizes ? [price('Large', 200 + number)] : [])],
    }
  })
}
