import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { mainUnits, smallestUnits } from '../../src/content/amounts.ts'

const zeroDecimals = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ')
const threeDecimals = 'bhd jod kwd omr tnd'.split(' ')
const twoDecimals = 'cad usd eur gbp chf isk ugx huf twd'.split(' ')
const currencies = [
  ...zeroDecimals.map((currency) => ({ currency, decimals: 0 })),
  ...twoDecimals.map((currency) => ({ currency, decimals: 2 })),
  ...threeDecimals.map((currency) => ({ currency, decimals: 3 })),
]

const anyCurrency = fc.constantFrom(...currencies)
const anyMinorUnits = fc.oneof(
  fc.bigInt({ min: 0n, max: 100_000n }),
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
)

/** Removes the decimal point. */
const minorUnitsOf = (amount: string): bigint => BigInt(amount.replace('.', ''))

describe('mainUnits', () => {
  for (const [currency, minorUnits, expected] of [
    ['cad', '550', '5.50'],
    ['CAD', '550', '5.50'],
    ['usd', '0', '0.00'],
    ['usd', '5', '0.05'],
    ['usd', '50', '0.50'],
    ['usd', '99999999', '999999.99'],
    ['usd', '-550', '-5.50'],
    ['usd', '0.5', '0.005'],
    ['usd', '1050.25', '10.5025'],
    ['usd', '0.000000000001', '0.00000000000001'],
    ['usd', '550.00', '5.50'],
    ['usd', '0550', '5.50'],
    ['jpy', '500', '500'],
    ['jpy', '0', '0'],
    ['jpy', '0.5', '0.5'],
    ['kwd', '1500', '1.500'],
    ['kwd', '5', '0.005'],
    ['isk', '50000', '500.00'],
    ['ugx', '50000', '500.00'],
  ] as const) {
    it(`writes ${minorUnits} of ${currency} as ${expected}`, () => {
      assert.equal(mainUnits(currency, minorUnits), expected)
    })
  }

  it('writes UGX and ISK with two decimals that are always 00, as Stripe does', () => {
    // Stripe's special cases: currencies without decimals in use, with amounts in hundredths.
    for (const currency of ['ugx', 'UGX', 'isk', 'ISK'])
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (whole) => {
          assert.equal(smallestUnits(currency, String(whole)), whole * 100)
          assert.equal(mainUnits(currency, String(whole * 100)), `${whole}.00`)
        }),
      )
  })

  it('writes exactly the currency’s decimals, and converts back to minor units', () => {
    fc.assert(
      fc.property(anyCurrency, anyMinorUnits, ({ currency, decimals }, minorUnits) => {
        const amount = mainUnits(currency, String(minorUnits))
        assert.match(amount, decimals === 0 ? /^-?\d+$/ : new RegExp(`^-?\\d+\\.\\d{${decimals}}$`))
        assert.equal(minorUnitsOf(amount), minorUnits)
      }),
      { numRuns: 1000 },
    )
  })

  it('preserves fractions of a minor unit', () => {
    const decimals = fc.integer({ min: 1, max: 12 })
    fc.assert(
      fc.property(
        anyCurrency,
        fc.bigInt({ min: 0n, max: 10n ** 20n }),
        decimals,
        ({ currency, decimals }, units, scale) => {
          const digits = String(units).padStart(scale + 1, '0')
          const amount = mainUnits(currency, `${digits.slice(0, -scale)}.${digits.slice(-scale)}`)
          const [whole = '', fraction = ''] = amount.split('.')
          assert.equal(BigInt(whole + fraction.padEnd(decimals + scale, '0')), units)
          assert.ok(fraction.length >= decimals)
        },
      ),
      { numRuns: 1000 },
    )
  })
})
