import type Stripe from 'stripe'
import { collectPages, type Provider, ProviderFailure, type SessionRequest } from '../provider.ts'
import { handledEvents } from './events.ts'
import { cannotAnswer, failureOf } from './failures.ts'
import { accountNameOf, pageOf, priceOf, productOf, sessionOf } from './shapes.ts'

export { readStripeEvent } from './events.ts'

/** Overrides the account's version, so that responses and events keep their shape until we upgrade. */
export const apiVersion = '2026-10-28.endive'
const pageSize = 100
/** With the backoff in between, all attempts end before our own request times out. */
const defaultTimeoutMs = 6000
const defaultRetries = 2
const maxIdLength = 255

export interface StripeOptions {
  secretKey: string
  url: string
  /** Per attempt. */
  timeoutMs?: number
  retries?: number
}

export async function openStripe({
  secretKey,
  url,
  timeoutMs = defaultTimeoutMs,
  retries = defaultRetries,
}: StripeOptions): Promise<Provider> {
  const { default: Stripe } = await import('stripe')
  const stripe = new Stripe(secretKey, {
    apiVersion,
    telemetry: false,
    maxNetworkRetries: retries,
    timeout: timeoutMs,
    appInfo: { name: 'Sluice' },
    ...endpointOf(new URL(url), Stripe),
  })

  /** The SDK treats any response without an error object as a success, even a proxy's 502. */
  async function ask<Answer>(request: Promise<Stripe.Response<Answer>>): Promise<Answer> {
    const answer = await request.catch((error: unknown) => {
      throw failureOf(error, Stripe.errors)
    })
    if (answer.lastResponse.statusCode >= 300) throw new ProviderFailure('unreachable', cannotAnswer)
    return answer
  }

  const listPrices = async (after: string | undefined, product?: string) =>
    pageOf(await ask(stripe.prices.list({ ...pageAfter(after), active: true, ...(product && { product }) })), priceOf)

  const listLines = async (sessionId: string, after: string | undefined) =>
    pageOf(await ask(stripe.checkout.sessions.listLineItems(sessionId, pageAfter(after))), asIs)

  return {
    async verify() {
      refuseOtherKeys(secretKey)
      const live = /^[sr]k_live_/.test(secretKey)
      try {
        const account = await ask(stripe.accounts.retrieve(null))
        return { id: account.id, name: accountNameOf(account), live }
      } catch (error) {
        if (!isFailure(error, 'refused') || !secretKey.startsWith('rk_')) throw error
      }
      // A restricted key need not have access to the account, but must have access to the catalogue.
      await ask(stripe.products.list({ limit: 1 }))
      return { id: '', name: '', live }
    },

    async listProducts(after) {
      return pageOf(await ask(stripe.products.list(pageAfter(after))), productOf)
    },

    listPrices: (after) => listPrices(after),

    fetchProduct: (id) =>
      ifKnown(id, async () => {
        const product = await ask(stripe.products.retrieve(id))
        if (isDeleted(product)) return undefined
        return { product: productOf(product), prices: await collectPages((after) => listPrices(after, id)) }
      }),

    findProductOfPrice: (priceId) =>
      ifKnown(priceId, async () => priceOf(await ask(stripe.prices.retrieve(priceId))).productId),

    async createSession(request, idempotencyKey) {
      const { id, url } = await ask(stripe.checkout.sessions.create(sessionParams(request), { idempotencyKey }))
      // The type promises a URL, but the response is unchecked.
      if (typeof url !== 'string' || url === '') throw new ProviderFailure('unreachable', cannotAnswer)
      return { id, url }
    },

    fetchSession: (id) =>
      ifKnown(id, async () => {
        const expand = ['line_items', 'payment_intent', 'subscription']
        const session = await ask(stripe.checkout.sessions.retrieve(id, { expand }))
        if (session.mode === 'setup') return undefined // nothing was bought
        const firstLines = session.line_items && pageOf(session.line_items, asIs)
        return sessionOf(session, await collectPages((after) => listLines(id, after), firstLines))
      }),

    async listCompletedSessions(sinceMs, after) {
      const created = { gte: Math.floor(sinceMs / 1000) }
      const sessions = stripe.checkout.sessions.list({ ...pageAfter(after), status: 'complete', created })
      return pageOf(await ask(sessions), ({ id, metadata }) => ({ id, metadata: metadata ?? {} }))
    },

    async registerWebhook(webhookUrl) {
      const { id, secret } = await ask(
        stripe.webhookEndpoints.create({
          url: webhookUrl,
          enabled_events: [...handledEvents],
          api_version: apiVersion,
          description: 'Sluice: catalogue and orders',
        }),
      )
      if (!id || !secret) throw new ProviderFailure('unreachable', cannotAnswer)
      return { id, secret }
    },

    async removeWebhook(id) {
      await ifKnown(id, () => ask(stripe.webhookEndpoints.del(id)))
    },
  }
}

/** The SDK's options for an API base URL. It does not support a base path, so the client prepends it. */
function endpointOf(
  { protocol, hostname, port, pathname }: URL,
  { createNodeHttpClient }: typeof Stripe,
): Pick<Stripe.StripeConfig, 'host' | 'port' | 'protocol' | 'httpClient'> {
  const isHttp = protocol === 'http:'
  const basePath = pathname.replace(/\/+$/, '')
  const client = createNodeHttpClient()
  return {
    protocol: isHttp ? 'http' : 'https',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (isHttp ? 80 : 443),
    ...(basePath !== '' && {
      httpClient: {
        getClientName: () => client.getClientName(),
        makeRequest: (host, hostPort, path, ...rest) => client.makeRequest(host, hostPort, basePath + path, ...rest),
      },
    }),
  }
}

/** Names the mistake behind keys with which Stripe would refuse everything. */
function refuseOtherKeys(key: string): void {
  if (key.startsWith('pk_')) {
    throw new ProviderFailure('refused', 'This is a publishable key (pk_…). Give the secret key, or a restricted one.')
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ProviderFailure('refused', 'This is not a secret key: keys contain no spaces or non-ASCII characters.')
  }
}

const pageAfter = (after: string | undefined) => ({
  limit: pageSize,
  ...(after !== undefined && { starting_after: after }),
})

const asIs = <Item>(item: Item): Item => item

const isFailure = (error: unknown, kind: ProviderFailure['kind']): boolean =>
  error instanceof ProviderFailure && error.kind === kind

/** Undefined if the id is unknown to Stripe, or cannot be part of a URL. */
async function ifKnown<Answer>(id: string, fetch: () => Promise<Answer>): Promise<Answer | undefined> {
  if (/^\.*$/.test(id) || id.length > maxIdLength || !id.isWellFormed()) return undefined
  try {
    return await fetch()
  } catch (error) {
    if (isFailure(error, 'unknown')) return undefined
    throw error
  }
}

const isDeleted = (object: object): boolean => 'deleted' in object && object.deleted === true

function sessionParams(request: SessionRequest): Stripe.Checkout.SessionCreateParams {
  const { mode, lines, successUrl, cancelUrl, shippingCountries, businessName, contactEmail, metadata } = request
  const described = { metadata, ...(businessName && { description: businessName }) }
  return {
    mode,
    line_items: lines.map(({ price, quantity }) => ({ price, quantity })),
    success_url: successUrl,
    cancel_url: cancelUrl,
    metadata,
    ...(shippingCountries && { shipping_address_collection: { allowed_countries: shippingCountries } }),
    ...(contactEmail && { customer_email: contactEmail }),
    ...(businessName && { branding_settings: { display_name: businessName } }),
    ...(mode === 'payment'
      ? { payment_intent_data: { ...described, ...(contactEmail && { receipt_email: contactEmail }) } }
      : { subscription_data: described }),
  }
}
