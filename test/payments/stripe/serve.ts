import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { openStripe, type StripeOptions } from '../../../src/payments/stripe/stripe.ts'

export const secretKey = 'sk_test_key-that-must-stay-secret'

export interface Seen {
  method: string
  path: string
  query: Record<string, string>
  /** The fields of the form that was sent. */
  form: Record<string, string>
  headers: IncomingMessage['headers']
}

/** Answers the nth request (from 1). */
export type Answer = (response: ServerResponse, request: Seen, nth: number) => void

/** A server that replaces Stripe, its requests, and our client of its account. */
export async function serveStripe(t: TestContext, answer: Answer, options: Partial<StripeOptions> = {}) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://stripe')
    const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString())
    const asked = {
      method: request.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      form: Object.fromEntries(form),
      headers: request.headers,
    }
    seen.push(asked)
    answer(response, asked, seen.length)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, stripe: await openStripe({ secretKey, url, retries: 0, ...options }) }
}

export function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

export const sendList = (response: ServerResponse, data: unknown[], hasMore = false) =>
  send(response, 200, { object: 'list', url: '/v1/things', data, has_more: hasMore })

export const sendError = (
  response: ServerResponse,
  status: number,
  error: Record<string, string>,
  headers?: Record<string, string>,
) => send(response, status, { error: { type: 'invalid_request_error', message: 'Because.', ...error } }, headers)

export const product = {
  id: 'prod_1',
  object: 'product',
  name: 'Rye bread',
  description: 'Dark.',
  active: true,
  images: ['https://files.example/rye.jpg'],
  metadata: { productType: 'Bread' },
  default_price: 'price_1',
  created: 1_700_000_000,
}

export const price = {
  id: 'price_1',
  object: 'price',
  product: 'prod_1',
  active: true,
  currency: 'cad',
  billing_scheme: 'per_unit',
  custom_unit_amount: null,
  unit_amount: 550,
  unit_amount_decimal: '550',
  recurring: null,
  nickname: 'Small',
  lookup_key: 'rye-small',
  metadata: { variant: 'Small' },
  created: 1_700_000_001,
}

export const session = {
  id: 'cs_test_1',
  object: 'checkout.session',
  mode: 'payment',
  status: 'complete',
  payment_status: 'paid',
  currency: 'cad',
  amount_subtotal: 1100,
  amount_total: 1243,
  customer_email: null,
  customer_details: { email: 'ada@example.com', name: 'Ada', phone: '+15550100' },
  collected_information: {
    shipping_details: {
      name: 'Ada L.',
      address: { line1: '1 Main', line2: null, city: 'Ottawa', state: 'ON', postal_code: 'K1A', country: 'CA' },
    },
  },
  payment_intent: { id: 'pi_1', object: 'payment_intent', status: 'succeeded' },
  subscription: null,
  metadata: { group: 'g1' },
  created: 1_700_000_002,
}

export const line = (id: string) => ({
  id,
  object: 'item',
  description: 'Rye bread',
  quantity: 2,
  currency: 'cad',
  amount_subtotal: 1100,
  amount_total: 1243,
  price,
})
