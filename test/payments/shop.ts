import type { LightMyRequestResponse } from 'fastify'
import type { CataloguePrice, CatalogueProduct } from '../../src/content/catalogue.ts'
import { makeId } from '../../src/core/ids.ts'
import { refreshProduct } from '../../src/payments/mirror/mirror.ts'
import type { CheckoutSession, Provider, SessionRequest } from '../../src/payments/provider.ts'
import { type Integration, insertIntegration, registerIntegration } from '../../src/store/commerce/integrations.ts'
import { write } from '../helpers/authoring.ts'
import { type Harness, harness, type TestEngine, type TestGroup } from '../helpers/harness.ts'

/** A scripted provider that records its calls. */
export interface ScriptedProvider extends Provider {
  products: Map<string, { product: CatalogueProduct; prices: CataloguePrice[] }>
  /** The created sessions by idempotency key. */
  sessions: Map<string, { id: string; url: string }>
  /** Every request for a session. */
  asked: { request: SessionRequest; key: string }[]
  /** Its completed sessions. */
  completed: Map<string, CheckoutSession>
  /** Hooks before and after it creates a session. */
  before: () => Promise<void>
  after: () => Promise<void>
}

const notExpected = async (): Promise<never> => {
  throw new Error('This call is not expected.')
}

export function createScriptedProvider(): ScriptedProvider {
  const provider: ScriptedProvider = {
    products: new Map(),
    sessions: new Map(),
    asked: [],
    completed: new Map(),
    before: async () => {},
    after: async () => {},
    verify: notExpected,
    listProducts: notExpected,
    listPrices: notExpected,
    listCompletedSessions: notExpected,
    registerWebhook: notExpected,
    removeWebhook: notExpected,
    fetchProduct: async (id) => provider.products.get(id),
    async findProductOfPrice(priceId) {
      const all = [...provider.products.values()]
      return all.find(({ prices }) => prices.some(({ id }) => id === priceId))?.product.id
    },
    async createSession(request, key) {
      provider.asked.push({ request, key })
      await provider.before()
      const id = `cs_${provider.sessions.size + 1}`
      const session = provider.sessions.get(key) ?? { id, url: `https://pay.example/${id}` }
      provider.sessions.set(key, session)
      await provider.after()
      return session
    },
    fetchSession: async (id) => provider.completed.get(id),
  }
  return provider
}

const priceOf = (id: string, productId: string, more: Partial<CataloguePrice> = {}): CataloguePrice => ({
  id,
  productId,
  active: true,
  currency: 'eur',
  unitAmount: '450',
  interval: null,
  nickname: null,
  lookupKey: null,
  metadata: {},
  createdMs: 1,
  ...more,
})

/** An account of a group, and the provider behind it. */
export interface Account {
  integration: Integration
  provider: ScriptedProvider
  /** Adds a product with one price to the provider's catalogue, not yet mirrored. */
  offer(priceId: string, more?: Partial<CataloguePrice>): string
  /** The same, mirrored. */
  sell(priceId: string, more?: Partial<CataloguePrice>): Promise<void>
}

/** A group with a shop: products are `prod_<price>`, sold at `price`. */
export interface Shop extends Harness {
  group: TestGroup
  connect(group: TestGroup, accountHandle: string): Promise<Account>
  post(body: unknown, headers?: Record<string, string>): Promise<LightMyRequestResponse>
}

export const checkoutPath = '/tenant/createCheckoutSession'

/** A checkout from a website that is not one of the group's sites. */
export const oneLoaf = {
  products: [{ price: 'price_loaf', quantity: 2 }],
  requiresShipping: false,
  originUrl: 'https://shop.example/cart',
}

/** Connects an account of a scripted provider to a group. */
export async function connectAccount(created: Harness, group: TestGroup, accountHandle: string): Promise<Account> {
  const { service, clock } = created
  const provider = createScriptedProvider()
  const id = makeId()
  await registerIntegration(service.store, id, group.group.id)
  const account = { type: 'stripe', accountHandle, accountId: `acct_${id}`, accountName: 'Shop' }
  const integration = await write(group.store, clock.now, (writer) =>
    insertIntegration(writer, { id, ...account, sandbox: false, live: false }),
  )
  const { open } = service.payments
  service.payments.open = async (store, wanted) => (wanted.id === id ? provider : open(store, wanted))
  function offer(priceId: string, more?: Partial<CataloguePrice>): string {
    const productId = `prod_${priceId}`
    const product: CatalogueProduct = {
      id: productId,
      name: `Product of ${priceId}`,
      description: null,
      active: true,
      images: [],
      metadata: {},
      defaultPriceId: priceId,
      createdMs: 1,
    }
    provider.products.set(productId, { product, prices: [priceOf(priceId, productId, more)] })
    return productId
  }
  return {
    integration,
    provider,
    offer,
    async sell(priceId, more) {
      const productId = offer(priceId, more)
      await refreshProduct({ clock: () => clock.now, versionsKept: 50 }, group.store, integration, provider, productId)
    },
  }
}

/** A group with one account that sells a loaf. */
export async function openShop(engine: TestEngine): Promise<Shop & Account> {
  const created = await harness(engine)
  const group = await created.newGroup()
  const account = await connectAccount(created, group, 'main')
  await account.sell('price_loaf')
  return {
    ...created,
    ...account,
    group,
    connect: (other, accountHandle) => connectAccount(created, other, accountHandle),
    post: (body, headers = {}) =>
      created.app.inject({
        method: 'POST',
        url: checkoutPath,
        headers: { authorization: group.key, 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  }
}
