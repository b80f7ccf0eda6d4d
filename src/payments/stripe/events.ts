import { isProviderId } from '../../content/catalogue.ts'
import { isRecord } from '../../content/schema.ts'
import { invalid } from '../../core/errors.ts'
import type { ProviderEvent } from '../provider.ts'

/** The subscribed events. Everything else is fetched when it is needed. */
export const handledEvents = [
  'product.created',
  'product.updated',
  'product.deleted',
  'price.created',
  'price.updated',
  'price.deleted',
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
] as const

const toleranceSeconds = 300
/** Disables the SDK's check of the time, which covers the past only: both directions are checked here. */
const anyTime = 0

/** Verifies the signature before anything else, so that unsigned calls learn nothing. */
export async function readStripeEvent(call: {
  body: Buffer
  signature: string
  secret: string
  nowMs: number
}): Promise<ProviderEvent> {
  const { default: Stripe } = await import('stripe')
  const { body, signature, secret, nowMs } = call
  if (!isSigned(() => Stripe.webhooks.signature?.verifyHeader(body, signature, secret, anyTime))) throw wrongSignature()
  if (Math.abs(Math.floor(nowMs / 1000) - signedAtSeconds(signature)) > toleranceSeconds) {
    throw invalid('This call was signed too long ago, or in the future.')
  }
  return eventOf(parse(body))
}

const wrongSignature = () => invalid('The signature of this call is invalid.')

function isSigned(verify: () => boolean | undefined): boolean {
  try {
    return verify() === true
  } catch {
    return false
  }
}

/** Stricter than the SDK, which reads `t=12x` as 12 and accepts the last of two times. */
function signedAtSeconds(signature: string): number {
  const [time, ...more] = signature.split(',').filter((part) => part.startsWith('t='))
  if (time === undefined || !/^t=\d+$/.test(time) || more.length > 0) throw wrongSignature()
  return Number(time.slice(2))
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    throw invalid('This call contains no event.')
  }
}

/** The part of a Stripe event that we use. */
export function eventOf(event: unknown): ProviderEvent {
  if (!isRecord(event) || typeof event.id !== 'string' || typeof event.type !== 'string') {
    throw invalid('This call contains no event.')
  }
  const { id, type } = event
  // An invalid id could not be stored or queried.
  const concerns = isProviderId(id) ? concernOf(type, event) : undefined
  return { id, type, live: event.livemode === true, concerns }
}

function concernOf(type: string, { account, data }: Record<string, unknown>): ProviderEvent['concerns'] {
  // Events with an account come from a connected account, not ours; those without data are thin events.
  if (account || !isRecord(data) || !isRecord(data.object)) return undefined
  if (!handledEvents.some((handled) => handled === type)) return undefined
  const { object } = data
  const kind = type.startsWith('checkout.session.') ? 'session' : 'product'
  const id = idOf(type.startsWith('price.') ? object.product : object)
  return id === undefined ? undefined : { kind, id }
}

/** Stripe refers to another object by its id, or embeds it. */
function idOf(reference: unknown): string | undefined {
  const id = isRecord(reference) ? reference.id : reference
  return typeof id === 'string' && isProviderId(id) ? id : undefined
}
