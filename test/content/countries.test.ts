import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { countries, defaultShippingCountries } from '../../src/content/countries.ts'

/** The shipping countries in the SDK's types. */
function allowedByStripe(): string[] {
  const types = new URL('./resources/Checkout/Sessions.d.ts', import.meta.resolve('stripe'))
  const [line = ''] = /type AllowedCountry = .*/.exec(readFileSync(fileURLToPath(types), 'utf8')) ?? []
  return [...line.matchAll(/'([A-Z]{2})'/g)].map(([, code = '']) => code)
}

describe('the shipping countries', () => {
  it('are exactly those that Stripe accepts', () => {
    assert.ok(countries.length > 200)
    assert.deepEqual([...countries].sort(), allowedByStripe().sort())
  })

  it('include the usual ones, without duplicates', () => {
    assert.deepEqual(
      defaultShippingCountries.filter((code) => !countries.includes(code)),
      [],
    )
    assert.equal(new Set(defaultShippingCountries).size, defaultShippingCountries.length)
  })
})
