import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  filterKeyOf,
  indexRowsOf,
  missingKey,
  rowsOfField,
  sortKeyOfText,
  textOfFilterKey,
} from '../../src/content/index-keys.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import type { Field } from '../../src/content/schema.ts'

function fieldOf(input: object): Field {
  const field = parseSchema({ it: input }).get('it')
  assert.ok(field)
  return field
}

const text = fieldOf({ type: 'text' })
const decimal = fieldOf({ type: 'decimal' })
const dateTime = fieldOf({ type: 'dateTime' })
const tags = fieldOf({ type: 'list', of: { type: 'text' } })
const size = fieldOf({ type: 'variant', of: { type: 'text' } })

const rowsOf = (field: Field, value: unknown) => rowsOfField('it', field, value)
const filterKeysOf = (field: Field, value: unknown): string[] => rowsOf(field, value).map((row) => row.filterKey)
const sortKeyOf = (field: Field, value: unknown): string => rowsOf(field, value)[0]?.sortKey ?? 'none'
const byteOrder = (a: string, b: string): number => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** Asserts that ascending values get sort keys in ascending byte order. */
function sortsAs(field: Field, ascending: readonly unknown[]): void {
  const keys = ascending.map((value) => sortKeyOf(field, value))
  assert.deepEqual(keys.toSorted(byteOrder), keys)
  assert.equal(new Set(keys).size, keys.length, 'two different values have one sort key')
}

describe('a sort key', () => {
  it('orders numbers and decimal texts together, as numbers', () => {
    sortsAs(decimal, [-1e21, '-10', -9.5, '-9', '-0.5', 0, '0.10', 0.2, 1, '2', '9.99', 10, '10.01', 100, 1e21])
  })

  it('orders numbers of any size, even when they print with more digits than a filter may have', () => {
    sortsAs(decimal, [-1e308, -2e100, -1e100, -1e50, -1, -1e-50, -5e-324, 0, 5e-324, 1e-50, 0.5, 1, 3e50, 1e100, 1e308])
  })

  it('orders any two numbers as numbers', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        assert.equal(byteOrder(sortKeyOf(decimal, a), sortKeyOf(decimal, b)), Number(a > b) - Number(a < b))
      }),
    )
  })

  it('orders decimal texts as numbers in a text field too, before all other text', () => {
    sortsAs(text, ['-3', '2', '10', '10.5', '', '10 loaves', '2 loaves', 'a'])
  })

  it('is the same for texts that differ only in case or in the encoding of an accent', () => {
    assert.equal(sortKeyOf(text, 'Ärger'), sortKeyOf(text, 'äRGER'))
    assert.equal(sortKeyOf(text, 'é'), sortKeyOf(text, 'e\u0301'))
    sortsAs(text, ['apple', 'Banana', 'cherry'])
  })

  it('is cut after 200 characters, never within a character', () => {
    const key = sortKeyOf(text, '🥐'.repeat(300))
    assert.equal(key, `t${'🥐'.repeat(200)}`)
    assert.ok(key.isWellFormed())
    assert.equal(sortKeyOf(text, `${'a'.repeat(200)}b`), sortKeyOf(text, `${'a'.repeat(200)}c`))
  })

  it('stays below a third of a PostgreSQL page, whatever the text', () => {
    const long = fc.string({ unit: 'grapheme', minLength: 150, maxLength: 400 })
    fc.assert(fc.property(long, (value) => assert.ok(Buffer.byteLength(sortKeyOf(text, value)) < 2700)))
  })

  it('orders dates, times and moments by time, whatever their offset', () => {
    sortsAs(fieldOf({ type: 'date' }), ['0001-01-01', '2025-12-31', '2026-01-01'])
    sortsAs(fieldOf({ type: 'time' }), ['00:00', '09:30', '09:30:00.5', '09:30:01', '23:59:59'])
    sortsAs(dateTime, ['2026-03-01T12:00:00+02:00', '2026-03-01T10:30:00Z', '2026-03-01T06:00:00-05:00'])
  })

  it('is the same for grouping as the key of the text', () => {
    assert.equal(sortKeyOfText('Buns'), sortKeyOf(text, 'Buns'))
    assert.equal(sortKeyOfText('4.50'), sortKeyOf(decimal, '4.5'))
  })
})

describe('a filter key', () => {
  it('is the same for numbers and decimal texts of one value', () => {
    const keys = [4.5, '4.5', '4.50', '04.5'].map((value) => filterKeysOf(decimal, value)[0])
    assert.equal(new Set(keys).size, 1)
    for (const asked of ['4.5', '4.50', '0004.500']) assert.equal(filterKeyOf(decimal, asked), keys[0])
    assert.notEqual(filterKeyOf(decimal, '4.51'), keys[0])
    assert.equal(filterKeyOf(decimal, '-0'), filterKeysOf(decimal, 0)[0])
  })

  it('preserves every digit of a long decimal', () => {
    assert.notEqual(filterKeyOf(decimal, '9007199254740993'), filterKeyOf(decimal, '9007199254740992'))
  })

  it('is exact for text: case, accents and spaces count', () => {
    const different = ['Buns', 'buns', 'Buns ', ' Buns', 'é', 'e\u0301', '5', '5.0', '']
    assert.equal(new Set(different.map((value) => filterKeyOf(text, value))).size, different.length)
  })

  it('is the same for one moment written with different offsets', () => {
    const same = [
      '2026-03-01T12:00:00Z',
      '2026-03-01T14:00:00+02:00',
      '2026-03-01T07:00-05:00',
      '2026-03-01T12:00:00.000Z',
    ]
    const keys = same.flatMap((value) => [filterKeyOf(dateTime, value), ...filterKeysOf(dateTime, value)])
    assert.equal(new Set(keys).size, 1)
  })

  it('is the same for one time or colour written in different ways', () => {
    const time = fieldOf({ type: 'time' })
    assert.equal(filterKeyOf(time, '09:30'), filterKeysOf(time, '09:30:00.000')[0])
    const color = fieldOf({ type: 'color' })
    assert.equal(filterKeyOf(color, '#7C3AED'), filterKeysOf(color, '#7c3aed')[0])
  })

  it('of a long text is a hash: equal for filter and value, short, and unique', () => {
    const long = 'é'.repeat(101) // 202 bytes
    assert.equal(filterKeyOf(text, long), filterKeysOf(text, long)[0])
    assert.match(filterKeyOf(text, long) ?? '', /^#[0-9a-f]{64}$/)
    assert.notEqual(filterKeyOf(text, `${long}x`), filterKeyOf(text, `${long}y`))
    assert.notEqual(filterKeyOf(text, filterKeyOf(text, long) ?? ''), filterKeyOf(text, long))
    assert.equal(filterKeyOf(text, 'a'.repeat(200)), `=${'a'.repeat(200)}`)
  })

  it('matches exactly the stored values that are equal to it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (stored, asked) => {
        assert.equal(filterKeyOf(text, stored), filterKeysOf(text, stored)[0])
        assert.equal(filterKeyOf(text, asked) === filterKeysOf(text, stored)[0], asked === stored)
      }),
    )
  })

  const impossible: [type: string, values: string[]][] = [
    ['integer', ['', 'five', '1e3', ' 5', '5 ', '0x5', '+5', 'true']],
    ['decimal', ['', '4,50', 'NaN', 'Infinity', '.5', '5.']],
    ['boolean', ['', '1', '0', 'yes', 'TRUE', 'True', 'null']],
    ['dateTime', ['', '2026-03-01', '2026-02-30T00:00:00Z', '+275760-09-13T00:00:00Z', 'now']],
    ['time', ['', '9:30', '24:00']],
  ]
  for (const [type, values] of impossible) {
    it(`does not exist for text that is not a ${type}`, () => {
      for (const value of values) assert.equal(filterKeyOf(fieldOf({ type }), value), undefined, value)
    })
  }

  it('matches booleans by name', () => {
    const flag = fieldOf({ type: 'boolean' })
    assert.equal(filterKeyOf(flag, 'true'), filterKeysOf(flag, true)[0])
    assert.notEqual(filterKeyOf(flag, 'true'), filterKeysOf(flag, false)[0])
  })

  it('can be turned back into its text, unless that was too long', () => {
    assert.equal(textOfFilterKey(filterKeyOf(text, 'Buns') ?? ''), 'Buns')
    assert.equal(textOfFilterKey(filterKeyOf(text, '') ?? ''), '')
    assert.equal(textOfFilterKey(missingKey), null)
    assert.equal(textOfFilterKey(filterKeyOf(text, 'x'.repeat(201)) ?? ''), undefined)
  })
})

describe('the index rows of a field', () => {
  it('are one row with empty keys when there is no value', () => {
    const row = [{ field: 'it', filterKey: missingKey, sortKey: missingKey }]
    for (const field of [text, decimal, tags, size]) {
      assert.deepEqual(rowsOf(field, undefined), row)
      assert.deepEqual(rowsOf(field, null), row)
    }
    assert.deepEqual(rowsOf(tags, []), row)
  })

  it('differ between an empty text and a missing value', () => {
    assert.notEqual(filterKeysOf(text, '')[0], missingKey)
    assert.notEqual(sortKeyOf(text, ''), missingKey)
  })

  it('are one per distinct value of a list, and only the first sorts', () => {
    assert.deepEqual(rowsOf(tags, ['b', 'a', 'b', 'c']), [
      { field: 'it', filterKey: '=b', sortKey: 'tb' },
      { field: 'it', filterKey: '=a', sortKey: null },
      { field: 'it', filterKey: '=c', sortKey: null },
    ])
  })

  it('are one per distinct value of a variant map, and the first variant sorts', () => {
    assert.deepEqual(rowsOf(size, { Small: 'S', Large: 'L', Huge: 'L' }), [
      { field: 'it', filterKey: '=S', sortKey: 'ts' },
      { field: 'it', filterKey: '=L', sortKey: null },
    ])
    assert.deepEqual(rowsOf(size, 'One size'), [{ field: 'it', filterKey: '=One size', sortKey: 'tone size' }])
  })

  it('are one per distinct value of a variant map of lists', () => {
    const field = fieldOf({ type: 'variant', of: { type: 'list', of: { type: 'integer' } } })
    assert.deepEqual(filterKeysOf(field, { a: [2, 1], b: [1, 3] }), ['=2', '=1', '=3'])
  })

  it('are one for decimals that are equal', () => {
    const prices = fieldOf({ type: 'variant', of: { type: 'decimal' } })
    assert.deepEqual(filterKeysOf(prices, { a: '4.50', b: 4.5, c: '5' }), ['=4.5', '=5'])
  })
})

describe('indexRowsOf', () => {
  it('returns at least one row for every filterable or sortable field, and none for others', () => {
    const schema = parseSchema({
      title: { type: 'text' },
      missing: { type: 'integer' },
      email: { type: 'text', private: true },
      body: { type: 'longText' },
      photo: { type: 'image' },
      sortOnly: { type: 'text', filterable: false },
      filterOnly: { type: 'text', sortable: false },
      neither: { type: 'text', filterable: false, sortable: false },
    })
    const value = { title: 'A', email: 'canary@example.com', body: 'canary', neither: 'canary', sortOnly: 'b' }
    const rows = indexRowsOf(schema, value)
    assert.deepEqual(
      rows.map((row) => row.field),
      ['title', 'missing', 'sortOnly', 'filterOnly'],
    )
    assert.ok(!JSON.stringify(rows).includes('canary'))
  })
})
