import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { SeedProduct } from '../../src/payments/sandbox/catalogue.ts'

/**
 * The part of Stripe's HTTP API that we use, in memory, so that tests run the real SDK over HTTP. Keys are
 * `sk_test_<account>_<anything>`; each account has a catalogue of its own, which is empty at first.
 */
export interface StripeServer {
  url: string
  /** The requests, such as `GET /v1/account`. */
  asked: string[]
  /** The error on registering a webhook; undefined to accept it. */
  webhookRefusal: string | undefined
  /** Fills the catalogue of an account, without events. The last product is the newest. */
  seed(account: string, products: readonly SeedProduct[]): void
  close(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: Stripe's objects, which the SDK reads
type StripeObject = { id: string; [name: string]: any }
type Form = { [name: string]: string | Form }

const createdSeconds = 1_780_000_000

class Refusal extends Error {
  readonly status: number
  readonly details: object
  constructor(status: number, message: string, details: object = {}) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** Parses `a[b][0]=x` as nested objects. */
function parseForm(encoded: string): Form {
  const form: Form = {}
  for (const [name, value] of new URLSearchParams(encoded)) {
    const parts = name.split(/\]?\[|\]$/).filter((part) => part !== '')
    const last = parts.pop() ?? ''
    let inner = form
    for (const part of parts) {
      inner[part] ??= {}
      inner = inner[part] as Form
    }
    inner[last] = value
  }
  return form
}

const mergeMetadata = (before: object, given: unknown): object =>
  Object.fromEntries(Object.entries({ ...before, ...(given as Form) }).filter(([, value]) => value !== ''))

/** One account: its objects by kind, and its answers by idempotency key. */
function createAccount(name: string, server: Pick<StripeServer, 'webhookRefusal'>) {
  const objects: Record<string, Map<string, StripeObject>> = {
    products: new Map(),
    prices: new Map(),
    'checkout/sessions': new Map(),
    events: new Map(),
  }
  const answers = new Map<string, object>()
  let made = 0
  let webhooks = 0
  const newId = (prefix: string): string => `${prefix}_${name}_${++made}`

  function get(kind: string, id: string): StripeObject {
    const found = objects[kind]?.get(id)
    if (!found) throw new Refusal(404, `No such ${kind}: '${id}'`, { code: 'resource_missing', param: 'id' })
    return found
  }

  function put(kind: string, object: StripeObject, event?: string): StripeObject {
    objects[kind]?.set(object.id, object)
    if (event !== undefined) {
      const id = newId('evt')
      objects.events?.set(id, { id, object: 'event', type: event, livemode: false, data: { object } })
    }
    return object
  }

  function makePrice(product: string, given: Form): StripeObject {
    const { id = newId('price'), currency = '', unit_amount = '0', nickname = null, recurring, active } = given
    const interval = (recurring as Form | undefined)?.interval
    return {
      ...{ id: String(id), object: 'price', product, currency, nickname, active: String(active) !== 'false' },
      ...{
        billing_scheme: 'per_unit',
        custom_unit_amount: null,
        lookup_key: null,
        metadata: {},
        created: createdSeconds,
      },
      ...{ unit_amount: Number(unit_amount), unit_amount_decimal: String(unit_amount) },
      recurring: interval === undefined ? null : { interval, interval_count: 1 },
    }
  }

  function makeProduct(given: Form): StripeObject {
    const { id = newId('prod'), name: productName, description = null, metadata = {}, active } = given
    const product = { id: String(id), object: 'product', name: productName, description, metadata, images: [] }
    return { ...product, active: String(active) !== 'false', default_price: null, created: createdSeconds }
  }

  function makeSession(given: Form, baseUrl: string): StripeObject {
    const id = newId('cs_test')
    const lines = Object.values(given.line_items as Form).map((line, index) => {
      const { price: priceId, quantity } = line as Record<string, string>
      const price = get('prices', priceId ?? '')
      const { currency, unit_amount: unit } = price
      return { id: `li_${index}`, object: 'item', description: 'x', quantity: Number(quantity), currency, price, amount_total: unit * Number(quantity) } // biome-ignore format: short
    })
    const total = lines.reduce((sum, { amount_total }) => sum + amount_total, 0)
    return {
      ...{ id, object: 'checkout.session', url: `${baseUrl}/checkout/${id}`, status: 'open', payment_status: 'unpaid' },
      ...{ mode: given.mode, metadata: given.metadata ?? {}, customer_email: given.customer_email ?? null },
      ...{ customer_details: null, collected_information: null, payment_intent: null, subscription: null },
      ...{ currency: lines[0]?.currency, amount_subtotal: total, amount_total: total, created: createdSeconds },
      line_items: { object: 'list', url: '/v1/lines', has_more: false, data: lines },
    }
  }

  function list(kind: string, path: string, query: Form): object {
    const { limit = '10', starting_after: after, active, product, status } = query
    const newestFirst = [...(objects[kind]?.values() ?? [])].reverse()
    const position = after === undefined ? 0 : newestFirst.indexOf(get(kind, String(after))) + 1
    const shown = newestFirst
      .slice(position)
      .filter((item) => active === undefined || String(item.active) === active)
      .filter((item) => product === undefined || item.product === product)
      .filter((item) => status === undefined || item.status === status)
    return { object: 'list', url: path, has_more: shown.length > Number(limit), data: shown.slice(0, Number(limit)) }
  }

  function create(kind: string, given: Form, baseUrl: string): object {
    if (kind === 'checkout/sessions') return put(kind, makeSession(given, baseUrl))
    if (kind === 'products') return put(kind, makeProduct(given), 'product.created')
    return put(kind, makePrice(get('products', String(given.product)).id, given), 'price.created')
  }

  function update(kind: string, id: string, { metadata, active, ...given }: Form): object {
    const before = get(kind, id)
    const changed = { ...(active !== undefined && { active: active === 'true' }), ...given }
    const after = { ...before, ...changed, metadata: mergeMetadata(before.metadata, metadata) }
    return put(kind, after, `${kind.slice(0, -1)}.updated`)
  }

  function remove(kind: string, id: string): object {
    const gone = get(kind, id)
    if ([...(objects.prices?.values() ?? [])].some(({ product }) => product === id))
      throw new Refusal(400, 'This product cannot be deleted because it has prices.')
    put(kind, gone, 'product.deleted')
    objects[kind]?.delete(id)
    return { id, object: 'product', deleted: true }
  }

  function registerWebhook(): object {
    if (server.webhookRefusal !== undefined) throw new Refusal(400, server.webhookRefusal, { param: 'url' })
    webhooks += 1
    const secret = `whsec_${webhooks}_${randomBytes(32).toString('hex')}_canary`
    return { id: `we_${webhooks}`, object: 'webhook_endpoint', secret }
  }

  function answer(method: string, path: string, given: Form, baseUrl: string): object {
    if (path === '/v1/account')
      return { id: `acct_${name}`, object: 'account', business_profile: { name: `Shop ${name}` } }
    const [, kind = '', id, part] = /^\/v1\/(checkout\/sessions|\w+)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? []
    if (kind === 'webhook_endpoints')
      return id === undefined ? registerWebhook() : { id, object: 'webhook_endpoint', deleted: true }
    if (!objects[kind]) throw new Refusal(404, `Unrecognized request URL (${method}: ${path}).`)
    if (id === undefined) return method === 'GET' ? list(kind, path, given) : create(kind, given, baseUrl)
    if (method === 'POST') return update(kind, id, given)
    if (method === 'DELETE') return remove(kind, id)
    const { line_items: lines, ...found } = get(kind, id)
    if (part === 'line_items') return lines
    return given.expand === undefined ? found : { ...found, line_items: lines }
  }

  return {
    /** Repeats the answer for a repeated key. */
    answer(method: string, path: string, given: Form, baseUrl: string, idempotencyKey: string | undefined): object {
      const known = idempotencyKey === undefined ? undefined : answers.get(idempotencyKey)
      const found = known ?? structuredClone(answer(method, path, given, baseUrl))
      if (idempotencyKey !== undefined) answers.set(idempotencyKey, found)
      return found
    },
    seed(products: readonly SeedProduct[]) {
      for (const { product, prices } of products) {
        put('products', { ...makeProduct(JSON.parse(JSON.stringify(product))), default_price: prices[0]?.id ?? null })
        for (const price of prices) put('prices', makePrice(product.id, JSON.parse(JSON.stringify(price))))
      }
    },
  }
}

export async function startStripeServer(): Promise<StripeServer> {
  const accounts = new Map<string, ReturnType<typeof createAccount>>()
  const accountOf = (name: string) => {
    const account = accounts.get(name) ?? createAccount(name, started)
    accounts.set(name, account)
    return account
  }

  async function serve(request: IncomingMessage): Promise<object> {
    const { method = '', headers } = request
    const { pathname, search } = new URL(request.url ?? '', 'http://stripe')
    started.asked.push(`${method} ${pathname}`)
    const given = parseForm([search.slice(1), await text(request)].filter((part) => part !== '').join('&'))
    const name = /^Bearer sk_test_([a-z0-9-]+)_/i.exec(headers.authorization ?? '')?.[1]
    if (name === undefined) throw new Refusal(401, 'Invalid API Key provided.')
    const key = method === 'POST' ? headers['idempotency-key'] : undefined
    return accountOf(name).answer(method, pathname, given, started.url, key && String(key))
  }

  function send(response: ServerResponse, status: number, body: object): void {
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' }).end(JSON.stringify(body))
  }

  const server = createServer((request, response) => {
    serve(request).then(
      (body) => send(response, 200, body),
      (error: Error) => {
        const { status, details } = error instanceof Refusal ? error : new Refusal(500, error.message)
        send(response, status, { error: { type: 'invalid_request_error', message: error.message, ...details } })
      },
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const started: StripeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    webhookRefusal: undefined,
    seed: (account, products) => accountOf(account).seed(products),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return started
}
