/** An exact decimal number, parsed from text without losing a digit to floating point. */
export interface Decimal {
  negative: boolean
  /** Significant digits without leading or trailing zeros; empty for zero. */
  digits: string
  /** The value is 0.digits × 10^exponent. */
  exponent: number
}

const decimalPattern = /^-?\d{1,40}(\.\d{1,40})?$/
const exponentOffset = 5000

export const isDecimalText = (text: string): boolean => decimalPattern.test(text)

/** Accepts what `isDecimalText` accepts, and the printed form of any finite number. */
export function parseDecimal(text: string): Decimal {
  const negative = text.startsWith('-')
  const [mantissa = '', power = '0'] = (negative ? text.slice(1) : text).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const all = whole + fraction
  const trimmed = all.replace(/^0+/, '')
  const exponent = whole.length - (all.length - trimmed.length) + Number(power)
  const digits = trimmed.replace(/0+$/, '')
  return digits === '' ? { negative: false, digits, exponent: 0 } : { negative, digits, exponent }
}

/** The canonical form: no leading or trailing zeros, no exponent. */
export function canonicalDecimal({ negative, digits, exponent }: Decimal): string {
  if (digits === '') return '0'
  const whole = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '0'
  const fraction = exponent > 0 ? digits.slice(exponent) : '0'.repeat(-exponent) + digits
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

const complement = (digits: string): string => digits.replace(/\d/g, (digit) => String(9 - Number(digit)))

/** Text whose byte order is the numeric order, so that any database can sort it. */
export function sortableDecimal({ negative, digits, exponent }: Decimal): string {
  if (digits === '') return '1'
  const magnitude = String(exponent + exponentOffset).padStart(4, '0') + digits
  // Among negatives the longer number is the smaller one, hence the closing sign that sorts after every digit.
  return negative ? `0${complement(magnitude)}~` : `2${magnitude}`
}
