import fc from 'fast-check'
import { isMediaKey } from '../../src/content/media-keys.ts'

const signs = [..." +()=,'!~@_-."]
const letters = [...'abzAZ019äéßçñøłżжякλωקمन你好日本한ｱ']
const segment = fc
  .array(
    fc.oneof(fc.constantFrom(...signs), fc.constantFrom(...letters), fc.string({ unit: 'binary', maxLength: 1 })),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))

/** Any key of a file, with many characters that are hard to encode. */
export const anyMediaKey = fc
  .array(segment.filter(isMediaKey), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('/'))
  .filter(isMediaKey)
