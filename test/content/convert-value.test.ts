import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { convertValue, typeInWords } from '../../src/content/convert-value.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import type { Field } from '../../src/content/schema.ts'

const text = { type: 'text' }
const longText = { type: 'longText' }
const slug = { type: 'slug' }
const integer = { type: 'integer' }
const decimal = { type: 'decimal' }
const boolean = { type: 'boolean' }
const date = { type: 'date' }
const dateTime = { type: 'dateTime' }
const image = { type: 'image' }
const size = { type: 'enum', values: ['small', '5', 'true'] }
const listOf = (of: object) => ({ type: 'list', of })
const variantOf = (of: object) => ({ type: 'variant', of })
const picture = { name: 'a', key: 'group/a.png', type: 'image' }

const parseField = (input: object): Field => parseSchema({ it: input }).get('it') as Field

/** The name of a test: value, old type, new type. */
function inWords(from: object, to: object, value: unknown): string {
  return `${JSON.stringify(value).slice(0, 70)} from ${typeInWords(parseField(from))} to ${typeInWords(parseField(to))}`
}

describe('typeInWords', () => {
  it('names the types of list entries and variants', () => {
    const inputs = [text, listOf(text), variantOf(decimal), variantOf(listOf(image))]
    assert.deepEqual(inputs.map(parseField).map(typeInWords), [
      'text',
      'list of text',
      'variant of decimal',
      'variant of list of image',
    ])
  })
})

describe('convertValue converts', () => {
  const cases: [from: object, to: object, value: unknown, result: unknown][] = [
    [integer, decimal, 5, 5],
    [decimal, integer, 5, 5],
    [decimal, integer, '5.00', 5],
    [decimal, integer, '-0', 0],
    [decimal, text, '4.50', '4.50'],
    [decimal, text, 1e21, '1000000000000000000000'],
    [decimal, text, 1.5e-7, '0.00000015'],
    [boolean, longText, false, 'false'],
    [dateTime, text, '2026-03-01T09:30+02:00', '2026-03-01T09:30+02:00'],
    [text, integer, '-12', -12],
    [text, decimal, '007.50', '007.50'],
    [text, boolean, 'false', false],
    [text, date, '2026-03-01', '2026-03-01'],
    [text, dateTime, '2026-03-01T09:30+02:00', '2026-03-01T09:30+02:00'],
    [text, { type: 'time' }, '09:30', '09:30'],
    [longText, { type: 'color' }, '#7c3aed', '#7c3aed'],
    [slug, size, 'small', 'small'],
    [size, slug, 'small', 'small'],
    [size, integer, '5', 5],
    [integer, size, 5, '5'],
    [date, dateTime, '2026-03-01', '2026-03-01T00:00:00.000Z'],
    [dateTime, date, '2026-03-01T00:00:00Z', '2026-03-01'],
    [dateTime, date, '2026-03-01T02:00:00.000000000+02:00', '2026-03-01'],
    [integer, listOf(text), 5, ['5']],
    [listOf(text), integer, ['5'], 5],
    [listOf(text), text, [], undefined],
    [listOf(text), listOf(integer), ['1', '2'], [1, 2]],
    [listOf(text), listOf(integer), [], []],
    [text, variantOf(decimal), '4.50', '4.50'],
    [listOf(integer), variantOf(listOf(text)), [1], ['1']],
    [integer, variantOf(listOf(text)), 1, ['1']],
    [variantOf(decimal), decimal, '4.50', '4.50'],
    [variantOf(decimal), integer, { Small: '4.0', Large: 4 }, 4],
    [variantOf(listOf(text)), text, { Small: [], Large: [] }, undefined],
    [variantOf(text), variantOf(integer), { Small: '4', constructor: '5' }, { Small: 4, constructor: 5 }],
    [variantOf(text), variantOf(listOf(text)), { Small: 'a' }, { Small: ['a'] }],
    [image, listOf(image), picture, [picture]],
    [listOf(image), image, [picture], picture],
    [image, variantOf(image), picture, picture],
    [variantOf(image), image, picture, picture],
    [variantOf(image), listOf(image), { Small: picture, Large: { ...picture } }, [picture]],
    [integer, text, null, null],
  ] // biome-ignore format: one line a case reads better
  for (const [from, to, value, result] of cases) {
    it(inWords(from, to, value), () => {
      assert.deepEqual(convertValue('it', parseField(from), parseField(to), value), { value: result, problems: [] })
    })
  }
})

describe('convertValue refuses', () => {
  const cases: [from: object, to: object, value: unknown, problem: string][] = [
    [decimal, integer, '4.50', 'it cannot become an integer: "4.50"'],
    [decimal, integer, 4.5, 'it cannot become an integer: 4.5'],
    [decimal, integer, '9007199254740993', 'it cannot become an integer: "9007199254740993"'],
    [decimal, integer, 1e21, 'it cannot become an integer: 1e+21'],
    [text, integer, '007', 'it cannot become an integer: "007"'],
    [text, integer, '1e3', 'it cannot become an integer: "1e3"'],
    [text, integer, 'NaN', 'it cannot become an integer: "NaN"'],
    [text, integer, '', 'it cannot become an integer: ""'],
    [text, decimal, '4,50', 'it cannot become a decimal: "4,50"'],
    [text, boolean, 'yes', 'it cannot become a boolean: "yes"'],
    [integer, boolean, 1, 'it cannot become a boolean: 1'],
    [boolean, integer, true, 'it cannot become an integer: true'],
    [text, date, '2026-02-30', 'it cannot become a date: "2026-02-30"'],
    [text, dateTime, '2026-03-01', 'it cannot become a dateTime: "2026-03-01"'],
    [text, slug, 'A b', 'it cannot become a slug: "A b"'],
    [text, size, 'medium', 'it cannot become one of small, 5, true: "medium"'],
    [dateTime, date, '2026-03-01T00:00:00+02:00', 'it cannot become a date: "2026-03-01T00:00:00+02:00"'],
    [dateTime, date, '2026-03-01T00:00:00.000000001Z', 'it cannot become a date: "2026-03-01T00:00:00.000000001Z"'],
    [listOf(text), text, ['a', 'b'], 'it cannot become a text: ["a","b"]'],
    [listOf(text), listOf(integer), ['1', 'b'], 'it[1] cannot become an integer: "b"'],
    [variantOf(text), text, { Small: 'a', Large: 'b' }, 'it cannot become a text: {"Small":"a","Large":"b"}'],
    [variantOf(text), integer, { Small: '1', Large: 'b' }, 'it.Large cannot become an integer: "b"'],
    [variantOf(text), variantOf(integer), { Small: '1', Large: 'b' }, 'it.Large cannot become an integer: "b"'],
    [variantOf(listOf(text)), variantOf(text), { Small: [], Large: ['a'] }, 'it.Small cannot become a text: []'],
    [image, { type: 'video' }, picture, 'it cannot become a video: {"name":"a","key":"group/a.png","type":"image"}'],
    [image, text, picture, 'it cannot become a text: {"name":"a","key":"group/a.png","type":"image"}'],
    [text, image, 'group/a.png', 'it cannot become an image: "group/a.png"'],
    [text, integer, 'x'.repeat(1000), `it cannot become an integer: "${'x'.repeat(59)}…`],
    [text, integer, `${'x'.repeat(58)}🥐!`, `it cannot become an integer: "${'x'.repeat(58)}\uFFFD…`],
  ] // biome-ignore format: one line a case reads better
  for (const [from, to, value, problem] of cases) {
    it(inWords(from, to, value), () => {
      const refusal = { value: undefined, problems: [problem] }
      assert.deepEqual(convertValue('it', parseField(from), parseField(to), value), refusal)
    })
  }

  it('a value that never fitted its type and would have to be parsed', () => {
    for (const value of [{ odd: 1 }, ['x'], [['x']]]) {
      for (const to of [integer, listOf(integer), variantOf(integer)]) {
        assert.equal(convertValue('it', parseField(text), parseField(to), value).problems.length, 1)
      }
    }
    for (const to of [text, listOf(integer), variantOf(integer)]) {
      assert.equal(convertValue('it', parseField(listOf(text)), parseField(to), 'x').problems.length, 1)
    }
  })

  it('every list entry or variant that cannot be converted, with its position', () => {
    const from = parseField(variantOf(listOf(text)))
    const to = parseField(variantOf(listOf(integer)))
    assert.deepEqual(convertValue('it', from, to, { Small: ['1', 'x'], Large: ['y'] }).problems, [
      'it.Small[1] cannot become an integer: "x"',
      'it.Large[0] cannot become an integer: "y"',
    ])
  })
})
