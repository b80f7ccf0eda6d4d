import { canonicalDecimal, parseDecimal } from './decimal.ts'

/**
 * How many decimals of a currency's main unit its smallest unit is, as payment providers count: Stripe's API takes ISK
 * and UGX with two, although nobody pays with their fractions any more.
 */
const decimalsByCurrency: ReadonlyMap<string, number> = new Map([
  ...'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0] as const),
  ...'bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3] as const),
])
const usualDecimals = 2

const decimalsOf = (currency: string): number => decimalsByCurrency.get(currency.toLowerCase()) ?? usualDecimals

/** An amount in the main unit, such as `5.50`, in whole smallest units; undefined where it has a part of one. */
export function smallestUnits(currency: string, amount: string): number | undefined {
  const { negative, digits, exponent } = parseDecimal(amount)
  const units = Number(canonicalDecimal({ negative, digits, exponent: exponent + decimalsOf(currency) }))
  return Number.isSafeInteger(units) ? units : undefined
}

/**
 * An amount in the currency's smallest unit, a decimal text, as one in its main unit: 550 cents are `5.50`.
 * Not a digit is lost: half a cent is `0.005`.
 */
export function mainUnits(currency: string, minorUnits: string): string {
  const decimals = decimalsOf(currency)
  const { negative, digits, exponent } = parseDecimal(minorUnits)
  const [whole = '', fraction = ''] = canonicalDecimal({ negative, digits, exponent: exponent - decimals }).split('.')
  return fraction === '' && decimals === 0 ? whole : `${whole}.${fraction.padEnd(decimals, '0')}`
}
