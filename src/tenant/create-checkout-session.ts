import { parseCheckout } from '../content/checkout.ts'
import { maxAddressLength } from '../content/email.ts'
import { Type } from '../core/type.ts'
import { checkoutAnswer } from '../http/answer-schemas.ts'
import { defineEndpoint, type Endpoint } from '../http/endpoint.ts'
import { createCheckouts } from '../payments/checkout.ts'

const maxProducts = 100
const maxQuantity = 10_000

/** Only these fields are read: amounts never come from the caller. */
const body = Type.Object({
  products: Type.Array(
    Type.Object({
      price: Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The provider’s price id: `default_price` of a product.',
        examples: ['price_large'],
      }),
      quantity: Type.Integer({ minimum: 1, maximum: maxQuantity, examples: [2] }),
    }),
    {
      minItems: 1,
      maxItems: maxProducts,
      description: `What is bought: 1 to ${maxProducts} of \`{ price, quantity }\`, with whole quantities from 1 to ${maxQuantity}.`,
    },
  ),
  requiresShipping: Type.Boolean({ description: 'Whether the customer is asked for a shipping address.' }),
  originUrl: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: 'Where the customer returns to. Default: the request’s `Origin`, else the group’s first site.',
      examples: ['https://bakery.example'],
    }),
  ),
  businessName: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'The name that the customer is shown.' }),
  ),
  contactEmail: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: maxAddressLength,
      description: 'The customer’s e-mail address, for the receipt.',
    }),
  ),
})

/** spec §4.5 */
export const createCheckoutSession: Endpoint = (deps) => {
  const checkOut = createCheckouts(deps)
  return defineEndpoint({
    summary: 'A checkout session',
    description:
      'Returns the URL at which the customer pays. From there they return to `<origin>/checkoutsuccess?session_id=…` or `<origin>/checkoutcancel`. If sites list allowed origins, only those are accepted; if none does, only origins in the domains of the sites, and loopback origins in test mode.\n\nSend an `Idempotency-Key`, and retry with it if no answer arrives: only one session is created.',
    query: Type.Object({}),
    body,
    honoursIdempotencyKey: true,
    answer: checkoutAnswer,
    failures: ['IntegrationNotActive', 'OriginNotAllowed', 'ProductUnavailable', 'ProviderError'],
    handle: async (call) => checkOut(call.group, parseCheckout(call.body, call.origin), call.idempotencyKey),
  })(deps)
}
