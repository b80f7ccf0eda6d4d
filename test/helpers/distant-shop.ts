import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import Stripe from 'stripe'
import type { Provider } from '../../src/payments/provider.ts'
import type { SeedProduct } from '../../src/payments/sandbox/catalogue.ts'
import { openStripe } from '../../src/payments/stripe/stripe.ts'
import { type FlakyProxy, startFlakyProxy } from './flaky-proxy.ts'
import type { TestEngine } from './harness.ts'
import { type ManagedGroup, type Managing, managing } from './manage.ts'
import { startStripeServer } from './stripe-server.ts'

/**
 * A service connected with a secret key to Stripe by HTTP: STRIPE_URL is a proxy, which can make calls fail, in front of
 * the in-memory Stripe server.
 */
export interface DistantShop {
  shop: Managing
  group: ManagedGroup
  proxy: FlakyProxy
  /** The id of the account at Stripe. */
  secretKey: string
  /** The settings for another process of the same service. */
  env: Record<string, string>
  /** Connects the account and returns its id in Sluice. Jobs then fetch the catalogue. */
  connect(): Promise<string>
  /** Adds products to the catalogue at Stripe, without events. */
  seed(products: readonly SeedProduct[]): void
  /** A client of the same account that bypasses the proxy. */
  stripe: Stripe
  /** Our client of the same account, bypassing the proxy. */
  provider: Provider
}

/** The secret of a webhook registered at Stripe by hand. */
export const webhookSecret = 'whsec_distant'

const account = 'distant'

export async function distantShop(engine: TestEngine, env: Record<string, string> = {}): Promise<DistantShop> {
  const server = await startStripeServer()
  after(() => server.close())
  const proxy = await startFlakyProxy(server.url, { faultRate: 0, seed: 1 })
  after(() => proxy.close())
  const shop = await managing(engine, { env: { STRIPE_URL: proxy.url, ...env } })
  const group = await shop.newManagedGroup({ name: 'The shop' })
  const { dataDir, databaseUrl = '' } = shop.config
  const secretKey = `sk_test_${account}_${randomBytes(24).toString('hex')}`
  const { hostname, port } = new URL(server.url)
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
    seed: (products) => server.seed(account, products),
    stripe: new Stripe(secretKey, { host: hostname, port, protocol: 'http', telemetry: false }),
    provider: await openStripe({ secretKey, url: server.url }),
  }
}

/** Different products, some with variants of either kind. */
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
