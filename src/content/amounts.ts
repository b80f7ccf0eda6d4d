import { canonicalDecimal, parseDecimal } from './decimal.ts'

/**
 * Decimal places between a currency's main and smallest unit, as payment providers count: Stripe uses two for ISK and
 * UGX, although their fractions are no longer in use.
 */
const decimalsByCurrency: ReadonlyMap<string, number> = new Map([
  ...'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0] as const),
  ...'bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3] as const),
])
const usualDecimals = 2

const decimalsOf = (currency: string): number => decimalsByCurrency.get(currency.toLowerCase()) ?? usualDecimals

/** `5.50` → 550; undefined if the result is not a whole number. */
export function smallestUnits(currency: string, amount: string): number | undefined {
  const { negative, digits, exponent } = parseDecimal(amount)
  const units = Number(canonicalDecimal({ negative, digits, exponent: exponent + decimalsOf(currency) }))
  return Number.isSafeInteger(units) ? units : undefined
}

/** `550` → `5.50`, without losing a digit: half a cent is `0.005`. */
export function mainUnits(currency: string, minorUnits: string): string {
  const decimals = decimalsOf(currency)
  const { negative, digits, exponent } = parseDecimal(minorUnits)
  const [whole = '', fraction = ''] = canonicalDecimal({ negative, digits, exponent: exponent - decimals }).split('.')
  return fraction === '' && decimals === 0 ? whole : `${whole}.${fraction.padEnd(decimals, '0')}`
}
