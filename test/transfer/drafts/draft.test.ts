import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { problemsOf } from '../../../src/content/validate.ts'
import { type Draft, fitDraft } from '../../../src/transfer/drafts/draft.ts'

const draftOf = (value: Record<string, unknown>, more: Partial<Draft> = {}): Draft => ({
  source: 'page.md',
  value,
  problems: [],
  ...more,
})

/** The result for one value in one field; `nothing` if the field is omitted. */
function fit(field: object, value: unknown, more?: Partial<Draft>): unknown {
  const fitted = fitDraft(parseSchema({ it: field }), draftOf({ it: value }, more)).value
  return Object.hasOwn(fitted, 'it') ? fitted.it : 'nothing'
}

const list = (type: string) => ({ type: 'list', of: { type } })
const csv = { listSeparator: '|' }

describe('a draft is converted if the conversion is exact and unambiguous', () => {
  const cases: [field: string, written: unknown, fitted: unknown][] = [
    ['text', 'as it is ', 'as it is '],
    ['text', '', ''],
    ['text', 5, '5'],
    ['text', new Date('2024-05-01'), '2024-05-01'],
    ['text', new Date('2024-05-01T10:00Z'), '2024-05-01T10:00:00.000Z'],
    ['longText', 4.5, '4.5'],
    ['slug', 2024, '2024'],
    ['slug', ' a-b ', 'a-b'],
    ['slug', '', 'nothing'],
    ['integer', '5', 5],
    ['integer', ' -5 ', -5],
    ['integer', '', 'nothing'],
    ['integer', ' ', 'nothing'],
    ['integer', 5, 5],
    ['decimal', '4.50', '4.50'],
    ['decimal', ' 4.50', '4.50'],
    ['decimal', 4.5, 4.5],
    ['decimal', '', 'nothing'],
    ['boolean', 'true', true],
    ['boolean', 'FALSE', false],
    ['boolean', true, true],
    ['boolean', '', 'nothing'],
    ['date', '2024-05-01', '2024-05-01'],
    ['date', new Date('2024-05-01'), '2024-05-01'],
    ['dateTime', '2024-05-01T10:00:00.123456789+02:00', '2024-05-01T10:00:00.123456789+02:00'],
    ['dateTime', '2024-05-01 10:00:00 +0200', '2024-05-01T08:00:00.000Z'],
    ['dateTime', '2024-05-01', '2024-05-01T00:00:00.000Z'],
    ['dateTime', new Date('2024-05-01'), '2024-05-01T00:00:00.000Z'],
    ['time', '09:30', '09:30'],
    ['image', '', 'nothing'],
    ['text', null, null],
  ]
  for (const [type, written, fitted] of cases) {
    it(`${JSON.stringify(written)} in a field of type ${type}`, () => {
      assert.deepEqual(fit({ type }, written), fitted)
      if (fitted !== 'nothing') assert.deepEqual(problemsOf(parseSchema({ it: { type } }), { it: fitted }), [])
    })
  }

  it('a number in an enum', () => assert.equal(fit({ type: 'enum', values: ['1', '2'] }, 1), '1'))

  it('a single value in a list', () => {
    assert.deepEqual(fit(list('text'), 'a|b'), ['a|b'])
    assert.deepEqual(fit(list('text'), 5), ['5'])
    assert.deepEqual(fit(list('integer'), '5'), [5])
    assert.deepEqual(fit(list('image'), { key: 'g/a.png' }), [{ key: 'g/a.png' }])
  })

  it('the items of a list', () => {
    assert.deepEqual(fit(list('text'), [1, 'b']), ['1', 'b'])
    assert.deepEqual(fit(list('text'), []), [])
  })

  it('a cell of several items, only if the schema has a list', () => {
    assert.deepEqual(fit(list('text'), 'a| b |c', csv), ['a', 'b', 'c'])
    assert.deepEqual(fit(list('integer'), '1|2|', csv), [1, 2])
    assert.deepEqual(fit(list('text'), '', csv), 'nothing')
    assert.equal(fit({ type: 'text' }, 'a|b', csv), 'a|b')
  })

  const prices = {
    type: 'list',
    of: { type: 'object', fields: { size: { type: 'text' }, price: { type: 'decimal' }, day: { type: 'date' } } },
  }
  const parts = { type: 'blocks', blocks: { prose: { fields: { body: { type: 'text' }, rank: { type: 'integer' } } } } }

  it('the values in objects and blocks', () => {
    assert.deepEqual(fit(prices, [{ size: 5, price: '4.50', day: '', extra: 1 }]), [{ size: '5', price: '4.50', extra: 1 }])
    assert.deepEqual(fit(prices, { size: 'L' }), [{ size: 'L' }])
    assert.deepEqual(fit(parts, [{ type: 'prose', rank: '7' }, { type: 'gone', rank: '7' }, 'x']), [{ type: 'prose', rank: 7 }, { type: 'gone', rank: '7' }, 'x'])
    assert.equal(fit(parts, ''), 'nothing')
    assert.deepEqual(fit({ type: 'json' }, { a: ['5', 5] }), { a: ['5', 5] })
    assert.equal(fit({ type: 'reference' }, ' 66f0c0ffee0123456789abcd '), '66f0c0ffee0123456789abcd')
  }) // biome-ignore format: short

  it('a cell of JSON in such a field, and no other text', () => {
    assert.deepEqual(fit(prices, '[{"size": 5, "price": "4.50"}]', csv), [{ size: '5', price: '4.50' }])
    assert.deepEqual(fit({ type: 'json' }, '{"a": [null]}', csv), { a: [null] })
    assert.equal(fit({ type: 'json' }, ' ', csv), 'nothing')
    for (const cell of ['fresh', '{"a": 1', '['.repeat(100_000) + ']'.repeat(100_000)]) {
      const { problems, value } = fitDraft(parseSchema({ it: parts }), draftOf({ it: cell }, csv))
      assert.deepEqual([problems, value], [['has a it that is not JSON, as its type blocks needs'], {}])
    }
  })

  it('variants, one value or a map of them', () => {
    const field = { type: 'variant', of: { type: 'integer' } }
    assert.equal(fit(field, '5'), 5)
    assert.deepEqual(fit(field, { Small: '1', Large: 2 }), { Small: 1, Large: 2 })
    assert.deepEqual(fit({ type: 'variant', of: list('text') }, 'a|b', csv), ['a', 'b'])
  })
})

describe('a draft is not changed if a value does not fit, so that validation reports it', () => {
  const cases: [type: string, written: unknown][] = [
    ['integer', '5.0'],
    ['integer', '007'],
    ['integer', '1e3'],
    ['integer', '9007199254740993'],
    ['integer', '5 stars'],
    ['integer', 4.5],
    ['integer', true],
    ['decimal', '4,50'],
    ['boolean', 'yes'],
    ['boolean', 1],
    ['text', true],
    ['text', ['a']],
    ['text', { a: 1 }],
    ['date', '1.5.2024'],
    ['date', '2024-05-01T10:00:00Z'],
    ['dateTime', 'tomorrow'],
    ['dateTime', '2024-02-30'],
    ['slug', 'Not One'],
    ['image', 'a.png'],
  ]
  for (const [type, written] of cases) {
    it(`${JSON.stringify(written)} in a field of type ${type}`, () => {
      const fitted = fit({ type }, written)
      assert.deepEqual(fitted, written)
      assert.equal(problemsOf(parseSchema({ it: { type } }), { it: fitted }).length, 1)
    })
  }

  it('a date with a time of day in a date field', () => {
    assert.equal(fit({ type: 'date' }, new Date('2024-05-01T10:00Z')), '2024-05-01T10:00:00.000Z')
  })
})

describe('the fields of a draft', () => {
  const schema = parseSchema({
    title: { type: 'text' },
    heroText: { type: 'text' },
    a: { type: 'text' },
    A: { type: 'text' },
  })
  const fitValues = (value: Record<string, unknown>, more?: Partial<Draft>) =>
    fitDraft(schema, draftOf(value, more)).value

  it('match the field, ignoring case', () => {
    assert.deepEqual(fitValues({ Title: 'x', herotext: 5 }), { title: 'x', heroText: '5' })
  })

  it('do not match an ambiguous field', () => {
    assert.deepEqual(fitValues({ Title: 'x', TITLE: 'y' }), { Title: 'x', TITLE: 'y' })
    assert.deepEqual(fitValues({ title: 'x', Title: 'y' }), { title: 'x', Title: 'y' })
    assert.deepEqual(fitValues({ a: 1, A: 2 }), { a: '1', A: '2' })
    assert.deepEqual(fitValues({ A: 2 }), { A: '2' })
  })

  it('are retained if they are not in the schema, unless the reader generated them', () => {
    const value = { title: 'x', slug: 'page', body: '<p>', extra: '' }
    assert.deepEqual(fitValues(value), value)
    assert.deepEqual(fitValues(value, { derived: ['slug', 'body'] }), { title: 'x', extra: '' })
  })

  it('may have names from Object.prototype', () => {
    const value = JSON.parse('{"__proto__":{"title":"x"},"constructor":1}')
    assert.deepEqual(Object.entries(fitValues(value)), Object.entries(value))
  })
})

describe('a heading that became the title', () => {
  const draft = draftOf(
    { title: 'A', slug: 'a', body: '<p>x</p>' },
    { derived: ['title', 'slug', 'body'], bodyWithTitle: '<h1>A</h1>\n<p>x</p>' },
  )
  const valueIn = (...fields: string[]) =>
    fitDraft(parseSchema(Object.fromEntries(fields.map((name) => [name, { type: 'longText' }]))), draft).value

  it('is the title if the schema has one, ignoring case', () => {
    assert.deepEqual(valueIn('title', 'body'), { title: 'A', body: '<p>x</p>' })
    assert.deepEqual(valueIn('Title', 'Body'), { Title: 'A', Body: '<p>x</p>' })
  })

  it('remains in the body if the schema has none', () => {
    assert.deepEqual(valueIn('body'), { body: '<h1>A</h1>\n<p>x</p>' })
  })
})

it('a converted draft keeps its source, state and problems, and does not change again', () => {
  const state = { publishDate: '2024-05-01T00:00:00.000Z', draft: true, archived: false, problems: ['bad'] }
  const schema = parseSchema({ Title: { type: 'text' }, body: { type: 'text' } })
  const draft = draftOf(
    { title: 'A', body: 'x' },
    { ...state, derived: ['title', 'body'], bodyWithTitle: 'A x', ...csv },
  )
  const fitted = fitDraft(schema, draft)
  assert.deepEqual(fitted, { source: 'page.md', value: { Title: 'A', body: 'x' }, ...state })
  assert.deepEqual(fitDraft(schema, fitted), fitted)
})
