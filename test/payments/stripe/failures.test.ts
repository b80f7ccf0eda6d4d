import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { ProviderFailure } from '../../../src/payments/provider.ts'
import { openStripe, type StripeOptions } from '../../../src/payments/stripe/stripe.ts'
import { type Answer, secretKey, send, sendError, sendList, serveStripe } from './serve.ts'

async function failureOf(call: Promise<unknown>): Promise<ProviderFailure> {
  try {
    await call
  } catch (error) {
    assert.ok(error instanceof ProviderFailure, inspect(error))
    return error
  }
  return assert.fail('the call was expected to reject')
}

const request = {
  mode: 'payment' as const,
  lines: [{ price: 'price_1', quantity: 1 }],
  successUrl: 'https://shop.example/checkoutsuccess',
  cancelUrl: 'https://shop.example/checkoutcancel',
  metadata: {},
}

async function failWith(t: TestContext, answer: Answer, options?: Partial<StripeOptions>): Promise<ProviderFailure> {
  const { stripe } = await serveStripe(t, answer, options)
  return failureOf(stripe.createSession(request, 'key-1'))
}

const maskedKey = 'sk_test_**********************cret'

describe('failures of Stripe', () => {
  for (const [what, status, error, kind] of [
    ['an unknown price', 400, { code: 'resource_missing', param: 'line_items[0][price]' }, 'unknown'],
    ['an unknown address', 404, { code: 'resource_missing', param: 'id' }, 'unknown'],
    ['a price that is not in use', 400, { param: 'line_items[0][price]' }, 'invalid'],
    ['a payment that is refused', 402, { type: 'card_error' }, 'invalid'],
    ['a key that is not accepted', 401, {}, 'refused'],
    ['a key that may not do this', 403, {}, 'refused'],
    ['an idempotency key in use', 409, { type: 'idempotency_error', code: 'idempotency_key_in_use' }, 'unreachable'],
    ['too many requests', 429, { code: 'rate_limit' }, 'limited'],
    ['too many requests for one object', 429, { code: 'lock_timeout' }, 'limited'],
    ['its own failure', 500, { type: 'api_error' }, 'unreachable'],
    ['a time of rest', 503, { type: 'api_error' }, 'unreachable'],
  ] as const) {
    it(`calls ${what} ${kind}`, async (t) => {
      const failure = await failWith(t, (response) => sendError(response, status, error))
      assert.equal(failure.kind, kind)
      assert.equal(failure.parameter, 'param' in error ? error.param : undefined)
    })
  }

  it('are internal for an idempotency key that Stripe has seen with another request', async (t) => {
    const failure = await failWith(t, (response) => sendError(response, 400, { type: 'idempotency_error' }))
    assert.deepEqual([failure.kind, failure.parameter], ['invalid', 'idempotency_key'])
  })

  it('are about a line for an amount that Stripe refuses', async (t) => {
    const failure = await failWith(t, (response) => sendError(response, 400, { code: 'amount_too_small' }))
    assert.deepEqual([failure.kind, failure.parameter], ['invalid', 'line_items'])
  })

  it('pass on Stripe’s message about a request', async (t) => {
    const missing = { code: 'resource_missing', message: "No such price: 'price_1'" }
    const { message } = await failWith(t, (response) => sendError(response, 400, missing))
    assert.equal(message, "Stripe does not know it: No such price: 'price_1'")
    const bad = await failWith(t, (response) => sendError(response, 400, { message: 'Invalid email address: x' }))
    assert.equal(bad.message, 'Stripe does not accept this: Invalid email address: x')
  })

  it('quote at most a sentence', async (t) => {
    const { message } = await failWith(t, (response) => sendError(response, 400, { message: 'x'.repeat(5000) }))
    assert.ok(message.length < 400, String(message.length))
  })

  it('include the wait that Stripe asks for', async (t) => {
    const limit = (seconds: string): Answer => {
      return (response) => sendError(response, 429, { code: 'rate_limit' }, { 'retry-after': seconds })
    }
    assert.equal((await failWith(t, limit('7'))).retryAfterSeconds, 7)
    assert.equal((await failWith(t, limit('soon'))).retryAfterSeconds, undefined)
  })

  it('are retried after a second while the same request is in progress', async (t) => {
    const failure = await failWith(t, (response) => sendError(response, 409, { code: 'idempotency_key_in_use' }))
    assert.equal(failure.retryAfterSeconds, 1)
  })

  it('are not retried internally when Stripe asks to slow down', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendError(response, 429, { code: 'rate_limit' }), {
      retries: 2,
    })
    assert.equal((await failureOf(stripe.createSession(request, 'key-1'))).kind, 'limited')
    assert.equal(seen.length, 1)
  })

  it('are retried after an error of Stripe, a limited number of times', async (t) => {
    const { stripe, seen } = await serveStripe(t, (response) => sendError(response, 500, { type: 'api_error' }), {
      retries: 1,
    })
    assert.equal((await failureOf(stripe.createSession(request, 'key-1'))).kind, 'unreachable')
    assert.equal(seen.length, 2)
  })
})

describe('network failures', () => {
  it('make a silent Stripe unreachable at the timeout', async (t) => {
    assert.equal((await failWith(t, () => {}, { timeoutMs: 50 })).kind, 'unreachable')
  })

  it('make a Stripe that stalls within an answer unreachable', async (t) => {
    const failure = await failWith(t, (response) => response.writeHead(200).write('{"id":'), { timeoutMs: 50 })
    assert.equal(failure.kind, 'unreachable')
  })

  it('make a Stripe whose connection breaks unreachable', async (t) => {
    assert.equal((await failWith(t, (response) => response.destroy())).kind, 'unreachable')
  })

  it('make a Stripe that refuses connections unreachable, with the reason as the cause', async () => {
    const server = createServer()
    const port = await new Promise<number>((listening) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address()
        listening(typeof address === 'object' ? (address?.port ?? 0) : 0)
      })
    })
    await new Promise((closed) => server.close(closed))
    const stripe = await openStripe({ secretKey, url: `http://127.0.0.1:${port}`, retries: 0 })
    const failure = await failureOf(stripe.listProducts(undefined))
    assert.equal(failure.kind, 'unreachable')
    assert.deepEqual(failure.cause, {
      type: 'StripeConnectionError',
      code: 'ECONNREFUSED',
      statusCode: undefined,
      requestId: undefined,
    })
  })

  it('make a Stripe unreachable when a proxy answers a list', async (t) => {
    const { stripe } = await serveStripe(t, (response) => send(response, 503, { message: 'later' }))
    assert.equal((await failureOf(stripe.listProducts(undefined))).kind, 'unreachable')
  })

  it('end when Stripe is back', async (t) => {
    const { stripe } = await serveStripe(t, (response, _, nth) =>
      nth === 1 ? response.destroy() : sendList(response, []),
    )
    // A broken connection is always retried once.
    assert.deepEqual(await stripe.listProducts(undefined), { items: [], next: undefined })
  })
})

describe('secrets', () => {
  for (const [what, status, message] of [
    ['a key that is not accepted', 401, `Invalid API Key provided: ${maskedKey}`],
    ['a key that may not do this', 403, `The provided key '${maskedKey}' does not have access to account 'acct_1'.`],
    ['a key instead of a price', 400, `No such price: '${secretKey}'`],
    ['a webhook secret', 400, 'Invalid: whsec_abcdef'],
    ['a failure of its own', 500, `Lost ${secretKey}`],
  ] as const) {
    it(`are not disclosed in any message about ${what}`, async (t) => {
      const failure = await failWith(t, (response) =>
        sendError(response, status, { message }, { 'x-echo': `Bearer ${secretKey}` }),
      )
      const shown = inspect(failure, { depth: Infinity, showHidden: true }) + JSON.stringify(failure)
      assert.doesNotMatch(shown, /sk_test|whsec_|must-stay-secret|\*{3}|Bearer/)
      assert.deepEqual(Object.keys(Object(failure.cause)), ['type', 'code', 'statusCode', 'requestId'])
      assert.equal(Object(failure.cause).requestId, 'req_1')
    })
  }

  it('do not hide the permission that a restricted key lacks', async (t) => {
    const message = `The provided key '${maskedKey}' lacks it. Having the 'rak_checkout_session_write' permission would help.`
    const failure = await failWith(t, (response) => sendError(response, 403, { message }))
    assert.equal(
      failure.message,
      'The secret key may not do this at Stripe. It needs the permission rak_checkout_session_write.',
    )
  })
})
