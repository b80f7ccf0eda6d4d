import { isDecimalText } from './decimal.ts'
import { type Field, isMedia, isRecord, type ScalarField } from './schema.ts'

/** Metadata of a provider's products is text. A field that the schema declares says how to read it. */

/** More digits than a number holds stay text, which then does not fit. */
const maxDigits = 15

function readScalar({ type }: ScalarField, text: string): unknown {
  const digits = text.replace(/\D/g, '').length
  if (type === 'integer' && /^-?\d+$/.test(text) && digits <= maxDigits) return Number(text)
  if (type === 'decimal' && isDecimalText(text) && digits <= maxDigits) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** A text, or one for each variant, as the field has it. What cannot be read so stays as it is, and does not fit. */
export function readMetadata(field: Field, item: unknown): unknown {
  if (isRecord(item) && field.type === 'variant')
    return Object.fromEntries(Object.entries(item).map(([variant, text]) => [variant, readMetadata(field.of, text)]))
  if (field.type === 'variant') return readMetadata(field.of, item)
  if (typeof item !== 'string' || isMedia(field)) return item
  if (field.type !== 'list') return readScalar(field, item)
  const { of } = field
  return isMedia(of) ? item : partsOf(item).map((part) => readScalar(of, part))
}
