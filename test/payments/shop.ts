import type { LightMyRequestResponse } from 'fastify'
import type { CataloguePrice, CatalogueProduct } from '../../src/content/catalogue.ts'
import { makeId } from '../../src/core/ids.ts'
import { refreshProduct } from '../../src/payments/mirror/mirror.ts'
import type { CheckoutSession, Provider, SessionRequest } from '../../src/payments/provider.ts'
import { type Integration, insertIntegration, registerIntegration } from '../../src/store/commerce/integrations.ts'
import { write } from '../helpers/authoring.ts'
import { type Harness, harness, type TestEngine, type TestGroup } from '../helpers/harness.ts'

/** A provider that does as the test says, and remembers what it was asked for. */
export interface ScriptedProvider extends Provider {
  products: Map<string, { product: CatalogueProduct; prices: CataloguePrice[] }>
  /** What it made, by the key that it was asked with: the same key gives the same session. */
  sessions: Map<string, { id: string; url: string }>
  /** Every time that it was asked for a session. */
  asked: { request: SessionRequest; key: string }[]
  /** Sessions as it tells of them. */
  told: Map<string, CheckoutSession>
  /** What happens when it is asked for a session, before and after it made one. */
  before: () => Promise<void>
  after: () => Promise<void>
}

const nobodyAsks = async (): Promise<never> => {
  throw new Error('Nobody asks for this here.')
}

export function createScriptedProvider(): ScriptedProvider {
  const provider: ScriptedProvider = {
    products: new Map(),
    sessions: new Map(),
    asked: [],
    told: new Map(),
    before: async () => {},
    after: async () => {},
    verify: nobodyAsks,
    listProducts: nobodyAsks,
    listPrices: nobodyAsks,
    listCompletedSessions: nobodyAsks,
    registerWebhook: nobodyAsks,
    removeWebhook: nobodyAsks,
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
    fetchSession: async (id) => provider.told.get(id),
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
  /** Puts a product with one price into the provider's catalogue; the mirror does not know of it yet. */
  offer(priceId: string, more?: Partial<CataloguePrice>): string
  /** The same, and the mirror knows. */
  sell(priceId: string, more?: Partial<CataloguePrice>): Promise<void>
}

/** A group that sells: products are `prod_<price>`, sold at `price`. */
export interface Shop extends Harness {
  group: TestGroup
  connect(group: TestGroup, accountHandle: string): Promise<Account>
  post(body: unknown, headers?: Record<string, string>): Promise<LightMyRequestResponse>
}

export const checkoutPath = '/tenant/createCheckoutSession'

/** Something to buy, from a website that is none of the group's sites. */
export const oneLoaf = {
  products: [{ price: 'price_loaf', quantity: 2 }],
  requiresShipping: false,
  originUrl: 'https://shop.example/cart',
}

/** Connects an account to a group, and puts a provider behind it. */
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

/** A group with one account, in which a loaf is sold. */
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
