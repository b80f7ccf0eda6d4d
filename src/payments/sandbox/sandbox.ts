import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import type { JobHandler } from '../../jobs/handler.ts'
import { retryDelaysSeconds } from '../../jobs/retry-backoff.ts'
import { findSandboxObject } from '../../store/commerce/sandbox.ts'
import { findGroupById } from '../../store/control/groups.ts'
import type { GroupStore, Store } from '../../store/store.ts'
import { recordChange } from '../jobs.ts'
import { collectPages, type Page, type Provider } from '../provider.ts'
import { eventOf } from '../stripe/events.ts'
import { priceOf, productOf, sessionOf } from '../stripe/shapes.ts'
import type { LimitVisitor } from './checkout-routes.ts'
import { findObject, listObjects, newId, type Price, type SessionRecord, secondsOf, writeSandbox } from './objects.ts'
import { createSession, findSession, type SettleWork, settleKind, settleSession } from './sessions.ts'

/** A payment provider without money, for those who have no account. Its objects are in our own database. */
export interface Sandbox {
  open(group: GroupStore, integrationId: string): Provider
  /** Adds the checkout pages. They are public, so each visitor is rate limited. */
  registerPages(app: FastifyInstance, limit: LimitVisitor): void
  handlers: JobHandler[]
}

export interface SandboxDeps {
  store: Store
  clock: Clock
  /** The URL of this service, which has the checkout pages. */
  baseUrl(): string
}

const maxSeconds = 60

const mapPage = <Item, Ours>({ items, next }: Page<Item>, convert: (item: Item) => Ours): Page<Ours> => ({
  items: items.map(convert),
  next,
})

function checkoutSessionOf({ session, lines, prices, payment }: SessionRecord) {
  const priceById = new Map(prices.map((price) => [price.id, price]))
  const lineItems = lines.map(({ priceId, amount, ...line }) => ({
    ...line,
    amount_total: amount,
    currency: session.currency,
    price: priceById.get(priceId) ?? null,
  }))
  const payments = {
    payment_intent: session.payment_intent && payment,
    subscription: session.subscription && payment,
  }
  return sessionOf({ ...session, ...payments }, lineItems)
}

function openAccount({ store, clock, baseUrl }: SandboxDeps, group: GroupStore, integrationId: string): Provider {
  const ownerOf = () => findGroupById(store, group.groupId)
  const find = <K extends Parameters<typeof findObject>[2]>(kind: K, id: string) =>
    findObject(group, integrationId, kind, id)

  return {
    async verify() {
      const { name } = await ownerOf()
      return { id: `acct_${integrationId}`, name: `${name} (sandbox)`, live: false }
    },

    async listProducts(after) {
      return mapPage(await listObjects(group, integrationId, 'product', after), productOf)
    },

    async listPrices(after) {
      return mapPage(await listObjects(group, integrationId, 'price', after, ({ active }) => active), priceOf)
    },

    async fetchProduct(id) {
      const product = await find('product', id)
      if (!product) return undefined
      const isOurs = (price: Price) => price.active && price.product === id
      const prices = await collectPages((after) => listObjects(group, integrationId, 'price', after, isOurs))
      return { product: productOf(product), prices: prices.map(priceOf) }
    },

    async findProductOfPrice(priceId) {
      return (await find('price', priceId))?.product
    },

    async createSession(request, idempotencyKey) {
      const owner = await ownerOf()
      const options = { idempotencyKey, owner, baseUrl: baseUrl() }
      return writeSandbox(group, clock(), (writer) => createSession(writer, integrationId, request, options))
    },

    async fetchSession(id) {
      const record = await findSession(group, integrationId, id, clock())
      return record && checkoutSessionOf(record)
    },

    async listCompletedSessions(sinceMs, after) {
      const isWanted = ({ session }: SessionRecord) =>
        session.status === 'complete' && session.created >= secondsOf(sinceMs)
      const page = await listObjects(group, integrationId, 'session', after, isWanted)
      return mapPage(page, ({ session: { id, metadata } }) => ({ id, metadata }))
    },

    // Changes are recorded in their own transaction, so no webhook is needed.
    registerWebhook: async () => ({ id: newId('we_'), secret: newId('whsec_', 32) }),
    removeWebhook: async () => {},
  }
}

/** Lets a delayed payment succeed or fail. */
const settleHandler: JobHandler = {
  kind: settleKind,
  retryDelaysSeconds: retryDelaysSeconds.settleSandboxPayment,
  maxSeconds,
  run: ({ payload }, { finish }) => finish((writer) => settleSession(writer, payload as SettleWork)),
}

/** Up to 0.6 each change was stored as an event with a delivery job; such jobs may be pending after an upgrade. */
const formerEventHandler: JobHandler = {
  kind: 'sandbox.event',
  retryDelaysSeconds: retryDelaysSeconds.sendSandboxEvent,
  maxSeconds,
  async run({ payload }, { group, finish }) {
    const { integrationId, eventId } = payload as { integrationId: string; eventId: string }
    const stored = await findSandboxObject(group, integrationId, eventId)
    const concerns = stored && eventOf(JSON.parse(stored.data)).concerns
    if (concerns) await finish((writer) => recordChange(writer, integrationId, concerns))
  },
}

export const createSandbox = (deps: SandboxDeps): Sandbox => ({
  open: (group, integrationId) => openAccount(deps, group, integrationId),
  registerPages: (app, limit) =>
    void app.register(async (scope) => {
      const { registerCheckoutPages } = await import('./checkout-routes.ts') // loads what only a server needs
      registerCheckoutPages(scope, deps, limit)
    }),
  handlers: [settleHandler, formerEventHandler],
})
