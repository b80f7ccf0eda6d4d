import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { isStorableText } from '../../src/content/texts.ts'
import { problemsOf } from '../../src/content/validate.ts'

/** The problems of one value in one field. */
const problemsWith = (field: object, value: unknown): string[] =>
  problemsOf(parseSchema({ it: field }), { it: value }).map((problem) => problem.replace('objectValue.it', 'it'))

const image = (key = 'group/a.png') => ({ name: 'a', key, type: 'image' })

interface Scenario {
  field: object
  accepted: unknown[]
  refused: unknown[]
  /** The words in every refusal. */
  because: RegExp
}

const scenarios: Record<string, Scenario> = {
  text: {
    field: { type: 'text' },
    accepted: ['', 'a', 'Ünïcode 🥐', '<b>', 'line\nbreak', "' or 1=1 --", '{{x}}', 'a'.repeat(100_000)],
    refused: [5, true, [], {}, ['a'], 0],
    because: /^it must be a text$/,
  },
  'text that cannot be stored': {
    field: { type: 'text' },
    accepted: ['\u0001', '\uFFFD', '\u{1F950}'],
    refused: ['\0', 'a\0b', '\uD83E', 'a\uDD50', '\uDD50\uD83E'],
    because: /^it contains a character that cannot be stored$/,
  },
  'text of 2 to 4 characters': {
    field: { type: 'text', minLength: 2, maxLength: 4 },
    accepted: ['ab', 'abcd'],
    refused: ['', 'a', 'abcde'],
    because: /^it must have at (least 2|most 4) characters$/,
  },
  longText: {
    field: { type: 'longText', maxLength: 20 },
    accepted: ['<p>Hello</p>', ''],
    refused: ['x'.repeat(21)],
    because: /^it must have at most 20 characters$/,
  },
  slug: {
    field: { type: 'slug' },
    accepted: ['a', 'a-b', 'a/b', 'a_b.c', '2026', 'blog/2026/first-post'],
    refused: ['', 'A', 'a b', '-a', 'a-', 'a--b', '../a', 'a/../b', 'a//b', '/a', 'é', 'a\n'],
    because: /^it must be lower-case letters, digits/,
  },
  integer: {
    field: { type: 'integer' },
    accepted: [0, -1, 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    refused: [1.5, '5', '', true, 2 ** 53, 1e21, Number.NaN, Number.POSITIVE_INFINITY, [1], {}],
    because: /^it must be a whole number$/,
  },
  'integer from 1 to 5': {
    field: { type: 'integer', min: 1, max: 5 },
    accepted: [1, 5],
    refused: [0, 6, -1, 1e9],
    because: /^it must be at (least 1|most 5)$/,
  },
  decimal: {
    field: { type: 'decimal' },
    accepted: [0, -1.5, 1e21, '4.50', '-0', '0', '007', '9'.repeat(40)],
    refused: ['', '4,50', '1e5', ' 1', 'NaN', true, [], {}, Number.NaN, Number.POSITIVE_INFINITY, '9'.repeat(41)],
    because: /^it must be a decimal number/,
  },
  'decimal from 0.5 to 9.5': {
    field: { type: 'decimal', min: 0.5, max: 9.5 },
    accepted: [0.5, '9.50', 5],
    refused: [0.49, '9.51', '-1', 1e300],
    because: /^it must be at (least 0.5|most 9.5)$/,
  },
  boolean: {
    field: { type: 'boolean' },
    accepted: [true, false],
    refused: ['true', 'false', 0, 1, '', [], {}],
    because: /^it must be true or false$/,
  },
  date: {
    field: { type: 'date' },
    accepted: ['2026-03-01', '2024-02-29', '0001-01-01', '9999-12-31'],
    refused: ['2026-02-29', '2026-13-01', '2026-00-10', '2026-3-1', '26-03-01', '', '2026-03-01T00:00:00Z', '+275760-09-13'],
    because: /^it must be a date/,
  },
  time: {
    field: { type: 'time' },
    accepted: ['00:00', '23:59', '09:30:15', '09:30:15.5'],
    refused: ['24:00', '9:30', '09:60', '09:30:60', '', '09:30Z', '09:30:15.1234'],
    because: /^it must be a time/,
  },
  dateTime: {
    field: { type: 'dateTime' },
    accepted: ['2026-03-01T09:30:00Z', '2026-03-01T09:30Z', '2026-03-01T09:30:00.123456789+05:30', '9999-12-31T23:59:59.999Z'],
    refused: [
      '2026-03-01', '2026-03-01T09:30:00', '2026-02-30T09:30:00Z', '2026-03-01 09:30:00Z', '2026-03-01T24:00:00Z', '',
      '2026-03-01T09:30:00+24:00', '+275760-09-13T00:00:00Z', '0001-01-01T00:00:00+01:00', '9999-12-31T23:59:59-01:00',
    ],
    because: /^it must be a moment/,
  },
  enum: {
    field: { type: 'enum', values: ['small', 'large'] },
    accepted: ['small', 'large'],
    refused: ['', 'Small', 'medium', 'constructor', 'small '],
    because: /^it must be one of small, large$/,
  },
  color: {
    field: { type: 'color' },
    accepted: ['#fff', '#FFF8', '#7c3aed', '#7c3aed80', 'rgb(1, 2, 3)', 'hsla(120deg 50% 50% / 0.5)'],
    refused: ['', 'red', '#ff', '#fffff', '#ggg', 'url(x)', 'rgb(1;2)', '#fff;background:url(x)', 'rgb(', '#fff\n'],
    because: /^it must be a colour/,
  },
  image: {
    field: { type: 'image' },
    accepted: [image(), image('group/ünï (1)+a.png'), { ...image(), alt: 'A bun' }],
    refused: [{ ...image(), type: 'video' }, { ...image(), type: 'file' }],
    because: /^it must be of type image$/,
  },
  'image that is no media value': {
    field: { type: 'image' },
    accepted: [image()],
    refused: [
      'group/a.png', 5, [], [image()], {}, { key: 'group/a.png', type: 'image' }, { ...image(), name: '' },
      { ...image(), key: 5 }, { name: 'a', key: 'group/a.png' }, { ...image(), name: 'a\0' }, { ...image(), name: '\uD83E' },
    ],
    because: /^it must be a media value with (a )?(name|key|type)/,
  },
  'image with a bad key': {
    field: { type: 'image' },
    accepted: [image()],
    refused: ['../a.png', 'group/../a.png', '/a.png', 'a//b.png', 'a\\b.png', 'a/.env', '%2e%2e/a', 'a?b', 'x'.repeat(501)].map(image),
    because: /^it must have a key of plain names/,
  },
  video: { field: { type: 'video' }, accepted: [{ ...image(), type: 'video' }], refused: [image()], because: /of type video$/ },
  file: { field: { type: 'file' }, accepted: [{ ...image(), type: 'file' }], refused: [image()], because: /of type file$/ },
  'list of integers': {
    field: { type: 'list', of: { type: 'integer', max: 9 } },
    accepted: [[], [1], [1, 2, 3]],
    refused: [[1, '2'], [1, null], [1, 10], [1, [2]]],
    because: /^it\[1\] must be (a whole number|at most 9)$/,
  },
  'list that is none': {
    field: { type: 'list', of: { type: 'text' } },
    accepted: [['a']],
    refused: ['a', 5, { 0: 'a' }, { length: 1 }],
    because: /^it must be a list$/,
  },
  'list of at most 2': {
    field: { type: 'list', of: { type: 'text' }, maxItems: 2 },
    accepted: [['a', 'b']],
    refused: [['a', 'b', 'c']],
    because: /^it must have at most 2 entries$/,
  },
  gallery: {
    field: { type: 'list', of: { type: 'image' } },
    accepted: [[image(), image('group/b.png')]],
    refused: [[image('../a.png')], ['group/a.png']],
    because: /^it\[0\] must/,
  },
  variant: {
    field: { type: 'variant', of: { type: 'decimal' } },
    accepted: ['4.50', 5, { Small: '4.50' }, { Small: '4.50', Large: 6 }, { constructor: 5 }, { key: 5 }],
    refused: [{ Small: 'x' }, { Small: null }, { Small: { Deep: 1 } }, { Small: ['1'] }],
    because: /^it\.Small must be a decimal number/,
  },
  'variant with bad names': {
    field: { type: 'variant', of: { type: 'text' } },
    accepted: [{ ['x'.repeat(100)]: 'a' }],
    refused: [{ '': 'a' }, { ['x'.repeat(101)]: 'a' }, { 'a\0': 'a' }, { '\uD83E': 'a' }, JSON.parse('{"__proto__":"a"}')],
    because: /^it has an invalid variant name$/,
  },
  'variant of nothing': {
    field: { type: 'variant', of: { type: 'text' } },
    accepted: ['a'],
    refused: [{}],
    because: /^it must name at least one variant$/,
  },
  'variant of images': {
    field: { type: 'variant', of: { type: 'image' } },
    accepted: [image(), { Small: image(), Large: image('group/b.png') }],
    refused: [image('../a.png'), { Small: image('../a.png') }, { Small: 'group/a.png' }],
    because: /^it(\.Small)? must/,
  },
  'variant of lists': {
    field: { type: 'variant', of: { type: 'list', of: { type: 'text' } } },
    accepted: [['a'], { Small: ['a', 'b'] }],
    refused: [{ Small: ['a', 5] }],
    because: /^it\.Small\[1\] must be a text$/,
  },
} // biome-ignore format: one line a case reads better

const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 60)}… (${text.length} characters)` : text
}

for (const [name, { field, accepted, refused, because }] of Object.entries(scenarios)) {
  describe(`a field of kind ${name}`, () => {
    for (const value of accepted) {
      it(`accepts ${shown(value)}`, () => assert.deepEqual(problemsWith(field, value), []))
    }
    for (const value of refused) {
      it(`refuses ${shown(value)}`, () => {
        const [problem, ...more] = problemsWith(field, value)
        assert.match(problem ?? 'nothing', because)
        assert.deepEqual(more, [])
      })
    }
  })
}

describe('an objectValue', () => {
  const schema = parseSchema({
    title: { type: 'text', required: true },
    rating: { type: 'integer', min: 1, max: 5, required: true },
    author: { type: 'text' },
  })
  const good = { title: 'A', rating: 5 }

  it('is valid when every field fits', () => assert.deepEqual(problemsOf(schema, good), []))

  it('may omit optional fields, or have null there', () => {
    assert.deepEqual(problemsOf(schema, { ...good, author: undefined }), [])
    assert.deepEqual(problemsOf(schema, { ...good, author: null }), [])
  })

  for (const missing of [undefined, null]) {
    it(`must not hold ${missing} in a required field`, () => {
      assert.deepEqual(problemsOf(schema, { ...good, title: missing }), ['objectValue.title is required'])
    })
  }

  for (const name of ['_id', 'mediaFields', 'archived', 'publishDate', 'groupID', 'constructor', 'a.b', '']) {
    it(`must not have the field ${JSON.stringify(name)}, which is not in the schema`, () => {
      assert.deepEqual(problemsOf(schema, { ...good, [name]: 'x' }), [
        `objectValue.${name} is not a field of this collection`,
      ])
    })
  }

  it('must not have a field __proto__', () => {
    const poisoned = JSON.parse('{"title":"A","rating":5,"__proto__":{"author":"x"}}')
    assert.deepEqual(problemsOf(schema, poisoned), ['objectValue.__proto__ is not a field of this collection'])
  })

  for (const value of [undefined, null, 'text', 5, true, [], [good]]) {
    it(`must be an object, not ${shown(value)}`, () => {
      assert.deepEqual(problemsOf(schema, value), ['objectValue must be an object'])
    })
  }

  it('lists all its problems at once', () => {
    const wrong = { rating: 6, author: 5, archived: true, _id: 'x' }
    assert.deepEqual(problemsOf(schema, wrong).toSorted(), [
      'objectValue._id is not a field of this collection',
      'objectValue.archived is not a field of this collection',
      'objectValue.author must be a text',
      'objectValue.rating must be at most 5',
      'objectValue.title is required',
    ])
  })

  it('has at most 1000 values in one field, over all its variants', () => {
    const many = parseSchema({ tags: { type: 'variant', of: { type: 'list', of: { type: 'text' } } } })
    const tags = (each: number) => ({ tags: { a: Array(each).fill('x'), b: Array(each).fill('x') } })
    assert.deepEqual(problemsOf(many, tags(500)), [])
    assert.deepEqual(problemsOf(many, tags(501)), ['objectValue.tags must have at most 1000 values'])
  })
})

describe('isStorableText', () => {
  it('accepts all text but NUL and unpaired surrogates', () => {
    for (const text of ['', 'a', '\u{1F950}', '\u0001', '\uFFFF']) assert.ok(isStorableText(text))
    for (const text of ['\0', 'a\0', '\uD83E', '\uDD50']) assert.equal(isStorableText(text), false)
  })
})

describe('a whole value', () => {
  it('has at most a million characters as JSON', () => {
    const schema = parseSchema({ it: { type: 'longText' } })
    const frame = JSON.stringify({ it: '' }).length
    assert.deepEqual(problemsOf(schema, { it: 'x'.repeat(1_000_000 - frame) }), [])
    assert.deepEqual(problemsOf(schema, { it: 'x'.repeat(1_000_001 - frame) }), [
      'objectValue must have at most 1000000 characters as JSON',
    ])
  })

  it('must not contain the URL with which a file was delivered', () => {
    const delivered = { ...image(), currentFile: { source: 'https://x.example' } }
    assert.deepEqual(problemsWith({ type: 'image' }, delivered), [
      'it must not have currentFile, which is added on delivery',
    ])
  })
})
