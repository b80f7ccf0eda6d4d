import type Stripe from 'stripe'
import { ProviderFailure, type ProviderFailureKind } from '../provider.ts'

type StripeError = Stripe.errors.StripeError

/** Longer messages repeat the request. */
const maxQuotedLength = 300
/** Stripe quotes parts of keys, and anything passed as an id. */
const secretPattern = /\b(?:sk|rk|pk|ek|whsec)_/i

export const cannotAnswer = 'Stripe could not be reached, or could not answer.'

/** Converts an error of the SDK. Only parts without secrets are kept as its cause, since they may be logged. */
export function failureOf(error: unknown, { StripeError }: typeof Stripe.errors): ProviderFailure {
  if (!(error instanceof StripeError)) {
    const type = error instanceof Error ? error.name : typeof error
    return new ProviderFailure('unreachable', cannotAnswer, { cause: { type } })
  }
  const { type, statusCode, requestId } = error
  const [kind, message] = describe(error)
  return new ProviderFailure(kind, message, {
    cause: { type, code: error.code ?? codeOfConnection(error), statusCode, requestId },
    parameter: parameterOf(error),
    retryAfterSeconds: statusCode === 409 ? 1 : readRetryAfter(error.headers?.['retry-after']),
  })
}

/** Errors about the total, which results from the lines; Stripe names no parameter for them. */
const amountCodes = ['amount_too_small', 'amount_too_large']

function parameterOf({ type, code, param }: StripeError): string | undefined {
  if (type === 'StripeIdempotencyError') return 'idempotency_key' // not the caller's: we choose the key
  return param ?? (amountCodes.includes(code ?? '') ? 'line_items' : undefined)
}

function describe(error: StripeError): [kind: ProviderFailureKind, message: string] {
  if (error.code === 'resource_missing') return ['unknown', `Stripe does not know it${quote(error)}`]
  if (error.statusCode === 409) return ['unreachable', 'Stripe is still busy with the same request.']
  switch (error.type) {
    case 'StripeRateLimitError':
      return ['limited', 'Stripe asks us to slow down.']
    case 'StripeAuthenticationError':
      return ['refused', 'Stripe does not accept the secret key.']
    case 'StripePermissionError':
      return ['refused', `The secret key may not do this at Stripe.${missingPermission(error)}`]
    case 'StripeIdempotencyError':
      return ['invalid', 'Stripe knows this idempotency key from another request.']
    case 'StripeInvalidRequestError':
    case 'StripeCardError':
      return ['invalid', `Stripe does not accept this${quote(error)}`]
    default:
      return ['unreachable', cannotAnswer]
  }
}

const quote = ({ message }: StripeError): string =>
  message === '' || secretPattern.test(message) ? '.' : `: ${message.slice(0, maxQuotedLength)}`

/** The permission that a restricted key lacks, extracted because the whole message quotes the key. */
function missingPermission({ message }: StripeError): string {
  const [permission] = /\brak_[a-z_]+\b/.exec(message) ?? []
  return permission === undefined ? '' : ` It needs the permission ${permission}.`
}

/** Such as `ECONNREFUSED`. */
const codeOfConnection = ({ detail }: StripeError): unknown =>
  detail instanceof Error && 'code' in detail ? detail.code : undefined

const readRetryAfter = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,5}$/.test(header) ? Number(header) : undefined
