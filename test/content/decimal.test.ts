import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalDecimal, isDecimalText, parseDecimal, sortableDecimal } from '../../src/content/decimal.ts'

/** An exact value to compare with: a whole number of 10^-scale. */
interface Exact {
  units: bigint
  scale: number
}

/** More decimals than any generated number. */
const commonScale = 400

function textOf({ units, scale }: Exact): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale)
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

const atCommonScale = ({ units, scale }: Exact): bigint => units * 10n ** BigInt(commonScale - scale)

/** Equivalent spellings of a decimal: leading and trailing zeros. */
function withZeros(text: string, leading: number, trailing: number): string {
  const [, sign = '', whole = '', fraction] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const tail = `${fraction ?? ''}${'0'.repeat(trailing)}`
  return `${sign}${'0'.repeat(leading)}${whole}${tail === '' ? '' : `.${tail}`}`
}

const exact = fc.record({
  units: fc.oneof(fc.bigInt({ min: -1000n, max: 1000n }), fc.bigInt({ min: -(10n ** 39n), max: 10n ** 39n })),
  scale: fc.integer({ min: 0, max: 30 }),
})

const finite = fc.double({ noNaN: true, noDefaultInfinity: true })

const sign = (value: bigint | number): number => Number(value > 0) - Number(value < 0)
const byteOrder = (a: string, b: string): number => sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))
const keyOf = (text: string): string => sortableDecimal(parseDecimal(text))
const canonical = (text: string): string => canonicalDecimal(parseDecimal(text))

describe('sortableDecimal', () => {
  it('orders decimal texts, byte by byte, as numbers', () => {
    fc.assert(
      fc.property(exact, exact, (a, b) => {
        assert.equal(byteOrder(keyOf(textOf(a)), keyOf(textOf(b))), sign(atCommonScale(a) - atCommonScale(b)))
      }),
      { numRuns: 2000 },
    )
  })

  it('orders JavaScript numbers of any size, including those that print with an exponent', () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        assert.equal(byteOrder(keyOf(String(a)), keyOf(String(b))), sign(a - b))
      }),
      { numRuns: 2000 },
    )
  })

  it('orders neighbours that floating point cannot tell apart', () => {
    const ascending = [
      '-1e+308',
      '-9007199254740993.1',
      '-9007199254740993.0000000000000000000000001',
      '-9007199254740993',
      '-10',
      '-9.99',
      '-9.9',
      '-1',
      '-0.1',
      '-0.01',
      '-5e-324',
      '0',
      '5e-324',
      '1e-7',
      '0.01',
      '0.1',
      '0.10000000000000000000000000000000000001',
      '1',
      '1.01',
      '1.1',
      '9',
      '10',
      '9007199254740992',
      '9007199254740993',
      '1e+21',
      '1.7976931348623157e+308',
    ]
    const keys = ascending.map(keyOf)
    assert.deepEqual(keys.toSorted(byteOrder), keys)
    assert.equal(new Set(keys).size, keys.length)
  })
})

describe('canonicalDecimal', () => {
  it('is equal for two texts exactly when their numbers are equal', () => {
    fc.assert(
      fc.property(exact, exact, (a, b) => {
        assert.equal(canonical(textOf(a)) === canonical(textOf(b)), atCommonScale(a) === atCommonScale(b))
      }),
      { numRuns: 2000 },
    )
  })

  it('ignores leading and trailing zeros', () => {
    const zeros = fc.integer({ min: 0, max: 6 })
    fc.assert(
      fc.property(exact, zeros, zeros, (value, leading, trailing) => {
        const text = textOf(value)
        assert.equal(canonical(withZeros(text, leading, trailing)), canonical(text))
        assert.equal(keyOf(withZeros(text, leading, trailing)), keyOf(text))
      }),
    )
  })

  it('writes a value that parses to the same number', () => {
    fc.assert(fc.property(finite, (value) => assert.equal(Number(canonical(String(value))), value === 0 ? 0 : value)))
  })

  for (const [text, expected] of [
    ['0', '0'],
    ['-0', '0'],
    ['-0.000', '0'],
    ['007', '7'],
    ['4.50', '4.5'],
    ['-4.50', '-4.5'],
    ['100', '100'],
    ['1e+21', '1000000000000000000000'],
    ['1.5e-7', '0.00000015'],
    ['-2.5e+3', '-2500'],
  ] as const) {
    it(`writes ${text} as ${expected}`, () => assert.equal(canonical(text), expected))
  }
})

describe('isDecimalText', () => {
  for (const text of ['0', '-0', '7', '007', '-4.50', '0.5', '9'.repeat(40), `0.${'9'.repeat(40)}`]) {
    it(`accepts ${text}`, () => assert.ok(isDecimalText(text)))
  }
  const refused = ['', ' ', '-', '+1', '.5', '5.', '1,5', '1e5', '1.2.3', '0x10', 'NaN', ' 1', '1\n', '١', '1_000']
  for (const text of [...refused, '9'.repeat(41), `0.${'9'.repeat(41)}`]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.equal(isDecimalText(text), false))
  }
})
