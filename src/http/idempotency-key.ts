import { invalid } from '../core/errors.ts'
import { Type } from '../core/type.ts'

const pattern = /^[\x20-\x7e]{1,255}$/

/** Documents the header; `readIdempotencyKey` reads it. */
export const idempotencyHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A text of your own for one purpose, such as a random id for each order. Whoever asks again with it within 24 hours gets the same answer, and nothing is done twice.',
      examples: ['5f1c9d0e-order-1042'],
    }),
  ),
})

/** Undefined where the caller did not send one. */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && pattern.test(header)) return header
  throw invalid('Idempotency-Key must be 1 to 255 printable ASCII characters.')
}
