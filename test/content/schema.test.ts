import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { isFilterable, isSearchable, isSortable, leafOf, mediaTypes, scalarTypes } from '../../src/content/schema.ts'
import { AppError } from '../../src/core/errors.ts'

/** A refused schema, and the words in its message. */
function refuses(schema: unknown, ...words: (string | RegExp)[]): void {
  assert.throws(
    () => parseSchema(schema),
    (error) => {
      assert.ok(error instanceof AppError, String(error))
      assert.equal(error.code, 'ValidationError')
      for (const word of words) {
        if (typeof word === 'string') assert.ok(error.message.includes(word), `${error.message} lacks ${word}`)
        else assert.match(error.message, word)
      }
      return true
    },
  )
}

/** Field names that only JSON can spell, not an object literal. */
const schemaNamed = (name: string): unknown => JSON.parse(`{${JSON.stringify(name)}: {"type": "text"}}`)

describe('parseSchema accepts', () => {
  for (const type of [...scalarTypes, ...mediaTypes]) {
    const leaf = type === 'enum' ? { type, values: ['a'] } : { type }
    it(`${type}, also in a list, in a variant, and in a list of variants`, () => {
      const schema = parseSchema({
        plain: leaf,
        list: { type: 'list', of: leaf },
        variant: { type: 'variant', of: leaf },
        variantOfLists: { type: 'variant', of: { type: 'list', of: leaf } },
      })
      assert.deepEqual([...schema.keys()], ['plain', 'list', 'variant', 'variantOfLists'])
      for (const field of schema.values()) assert.equal(leafOf(field).type, type)
    })
  }

  it('every rule with the types that support it', () => {
    const rules = { required: true, private: false, filterable: true, sortable: false, searchable: false, label: 'A' }
    const input = {
      title: { type: 'text', minLength: 1, maxLength: 5, ...rules },
      body: { type: 'longText', minLength: 1, maxLength: 5, ...rules },
      slug: { type: 'slug', minLength: 1, maxLength: 5, ...rules },
      rating: { type: 'integer', min: -1, max: 5, ...rules },
      price: { type: 'decimal', min: 0.5, max: 5.5, ...rules },
      kind: { type: 'enum', values: ['a', 'b'], ...rules },
      tags: { type: 'list', of: { type: 'text', maxLength: 5 }, maxItems: 3, ...rules },
      size: { type: 'variant', of: { type: 'text', label: 'Size' }, ...rules },
    }
    assert.deepEqual(Object.fromEntries(parseSchema(input)), input)
  })

  it('limits that allow one value, and lengths and numbers of entries from 0', () => {
    const input = {
      rating: { type: 'integer', min: 5, max: 5 },
      code: { type: 'text', minLength: 0, maxLength: 0 },
      tags: { type: 'list', of: { type: 'decimal', min: -0.5, max: -0.5 }, maxItems: 0 },
    }
    assert.deepEqual(Object.fromEntries(parseSchema(input)), input)
  })

  it('a schema without fields, and one of 200 fields', () => {
    assert.equal(parseSchema({}).size, 0)
    const fields = Array.from({ length: 200 }, (_, position) => [`f${position}`, { type: 'text' }])
    assert.equal(parseSchema(Object.fromEntries(fields)).size, 200)
  })

  it('names of letters, digits, _ and - that begin with a letter', () => {
    for (const name of ['a', 'Z', 'default_price', 'text-primary', 'order', 'a'.repeat(64)]) {
      assert.ok(parseSchema(schemaNamed(name)).has(name), name)
    }
  })
})

describe('parseSchema refuses', () => {
  const names = [
    '', ' ', 'a b', 'a.b', 'objectValue.title', 't0.id', 'a[b]', 'a]', '[0]', "a'b", 'a"b', 'a`b', 'a*', '*', 'a:asc',
    'a,b', '$ne', 'a;', '--', '_id', '__proto__', '__defineGetter__', '1a', '-a', '_a', 'é', 'аdmin', 'a\0', 'a\n',
    'a'.repeat(65),
  ] // biome-ignore format: one line reads better
  for (const name of names) {
    it(`the field name ${JSON.stringify(name)}`, () => refuses(schemaNamed(name), name, 'field name'))
  }

  for (const name of ['_id', 'mediaFields', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf']) {
    it(`the name ${name}, which every object has already`, () => refuses(schemaNamed(name), name, 'field name'))
  }

  for (const schema of [undefined, null, [], [{ type: 'text' }], 'text', 7]) {
    it(`${JSON.stringify(schema)} instead of an object`, () => refuses(schema, 'must be an object'))
  }

  it('more than 200 fields', () => {
    const fields = Array.from({ length: 201 }, (_, position) => [`f${position}`, { type: 'text' }])
    refuses(Object.fromEntries(fields), 'at most 200 fields')
  })

  const mistakes: [mistake: string, schema: object, ...words: string[]][] = [
    ['a field that is no object', { title: 'text' }, 'title must be an object'],
    ['a field that is a list', { title: ['text'] }, 'title must be an object'],
    ['a field that is null', { title: null }, 'title must be an object'],
    ['a field without a type', { title: {} }, 'title.type must be one of text, '],
    ['an unknown type', { title: { type: 'string' } }, 'title.type must be one of text, '],
    ['a type of the wrong kind', { title: { type: ['text'] } }, 'title.type'],
    ['a type that every object has', { title: { type: 'constructor' } }, 'title.type'],
    ['a unique list', { tags: { type: 'list', unique: true, of: { type: 'text' } } }, 'tags has the rule "unique", which the type "list" does not have'],
    ['unique inside a list', { tags: { type: 'list', of: { type: 'text', unique: true } } }, 'tags.of has the rule "unique", which belongs to the field itself'],
    ['unique long text', { body: { type: 'longText', unique: true } }, 'body has the rule "unique", which the type "longText" does not have'],
    ['unique as text', { slug: { type: 'slug', unique: 'yes' } }, 'slug.unique must be true or false'],
    ['a boolean rule as text', { title: { type: 'text', private: 'false' } }, 'title.private must be true or false'],
    ['a boolean rule as number', { title: { type: 'text', required: 1 } }, 'title.required must be true or false'],
    ['a limit as text', { title: { type: 'text', maxLength: '5' } }, 'title.maxLength must be a number'],
    ['a limit that is no number', { rating: { type: 'integer', min: Number.NaN } }, 'rating.min must be a number'],
    ['a length below zero', { title: { type: 'text', minLength: -1 } }, 'title.minLength must be a whole number, 0 or more'],
    ['a length that is not whole', { title: { type: 'slug', maxLength: 2.5 } }, 'title.maxLength must be a whole number'],
    ['a number of entries below zero', { tags: { type: 'list', of: { type: 'text' }, maxItems: -1 } }, 'tags.maxItems must be a whole number'],
    ['a number of entries that is not whole', { tags: { type: 'list', of: { type: 'text' }, maxItems: 0.5 } }, 'tags.maxItems must be a whole number'],
    ['limits that no number fits', { price: { type: 'decimal', min: 0.2, max: 0.1 } }, 'price.min must not be greater than price.max'],
    ['lengths that no text fits', { title: { type: 'text', minLength: 2, maxLength: 1 } }, 'title.minLength must not be greater than title.maxLength'],
    ['limits inside a list that nothing fits', { tags: { type: 'list', of: { type: 'integer', min: 1, max: -1 } } }, 'tags.of.min must not be greater'],
    ['a limit of another type', { title: { type: 'text', min: 1 } }, 'title has the rule "min"', '"text"'],
    ['a limit of a list on its items', { tags: { type: 'list', of: { type: 'text', maxItems: 1 } } }, 'tags.of', 'maxItems'],
    ['values on another type', { title: { type: 'text', values: ['a'] } }, 'title has the rule "values"'],
    ['an enum without values', { kind: { type: 'enum' } }, 'kind is an enum and needs "values"'],
    ['an enum of nothing', { kind: { type: 'enum', values: [] } }, 'kind.values must be a list'],
    ['an enum of numbers', { kind: { type: 'enum', values: [1] } }, 'kind.values must be a list'],
    ['an enum that repeats a value', { kind: { type: 'enum', values: ['a', 'b', 'a'] } }, 'kind.values has "a" more than once'],
    ['a label that is no text', { title: { type: 'text', label: 5 } }, 'title.label must be a text'],
    ['an unknown rule', { title: { type: 'text', hidden: true } }, 'title has the rule "hidden"'],
    ['a rule named __proto__', { title: JSON.parse('{"type":"text","__proto__":{}}') }, 'title', '__proto__'],
    ['a rule named constructor', { title: { type: 'text', constructor: true } }, 'title', 'constructor'],
    ['a list of nothing', { tags: { type: 'list' } }, 'tags.of must be an object'],
    ['a list of lists', { tags: { type: 'list', of: { type: 'list', of: { type: 'text' } } } }, 'tags.of.type'],
    ['a list of variants', { tags: { type: 'list', of: { type: 'variant', of: { type: 'text' } } } }, 'tags.of.type'],
    ['a variant of nothing', { size: { type: 'variant' } }, 'size.of must be an object'],
    ['a variant of variants', { size: { type: 'variant', of: { type: 'variant', of: { type: 'text' } } } }, 'size.of.type'],
    ['a mistake two levels down', { size: { type: 'variant', of: { type: 'list', of: { type: 'x' } } } }, 'size.of.of.type'],
    ['an enum inside a list without values', { tags: { type: 'list', of: { type: 'enum' } } }, 'tags.of is an enum'],
    ['"of" on a plain field', { title: { type: 'text', of: { type: 'text' } } }, 'title has "of"'],
  ] // biome-ignore format: one line a case reads better
  for (const [mistake, schema, ...words] of mistakes) {
    it(`${mistake}, with its path`, () => refuses(schema, ...words))
  }

  for (const rule of ['required', 'private', 'filterable', 'sortable', 'searchable']) {
    it(`"${rule}" inside a list or variant, where it would have no effect`, () => {
      refuses({ tags: { type: 'list', of: { type: 'text', [rule]: true } } }, 'tags.of', rule)
      refuses({ size: { type: 'variant', of: { type: 'text', [rule]: true } } }, 'size.of', rule)
    })
  }
})

describe('a field', () => {
  const cases: [what: string, field: object, can: { filter: boolean; sort: boolean; search: boolean }][] = [
    ['text', { type: 'text' }, { filter: true, sort: true, search: true }],
    ['longText', { type: 'longText' }, { filter: false, sort: false, search: true }],
    ['integer', { type: 'integer' }, { filter: true, sort: true, search: false }],
    ['image', { type: 'image' }, { filter: false, sort: false, search: false }],
    ['list of text', { type: 'list', of: { type: 'text' } }, { filter: true, sort: false, search: true }],
    ['variant of text', { type: 'variant', of: { type: 'text' } }, { filter: true, sort: true, search: true }],
    ['variant of lists', { type: 'variant', of: { type: 'list', of: { type: 'text' } } }, { filter: true, sort: false, search: true }],
    ['private text', { type: 'text', private: true }, { filter: false, sort: false, search: false }],
    ['private and filterable', { type: 'text', private: true, filterable: true, sortable: true, searchable: true }, { filter: false, sort: false, search: false }],
    ['private list', { type: 'list', private: true, of: { type: 'text' } }, { filter: false, sort: false, search: false }],
    ['private variant', { type: 'variant', private: true, of: { type: 'text' } }, { filter: false, sort: false, search: false }],
    ['text, not filterable', { type: 'text', filterable: false }, { filter: false, sort: true, search: true }],
    ['text, not sortable', { type: 'text', sortable: false }, { filter: true, sort: false, search: true }],
    ['text, not searchable', { type: 'text', searchable: false }, { filter: true, sort: true, search: false }],
  ] // biome-ignore format: one line a case reads better
  for (const [what, input, can] of cases) {
    const able = Object.entries(can).filter(([, yes]) => yes)
    it(`of kind ${what} can be used to ${able.map(([verb]) => verb).join(', ') || 'nothing'}`, () => {
      const field = parseSchema({ it: input }).get('it')
      assert.ok(field)
      assert.deepEqual({ filter: isFilterable(field), sort: isSortable(field), search: isSearchable(field) }, can)
    })
  }
})

describe('a schema with several mistakes', () => {
  it('is refused with all of them, in their order', () => {
    const schema = {
      title: { type: 'string' },
      '1st': { type: 'text' },
      rating: { type: 'integer', min: '1', maxLength: 5, private: 'yes' },
      tags: { type: 'list', of: { type: 'list' } },
      kind: { type: 'enum' },
      cover: 'image',
    }
    refuses(
      schema,
      /^title\.type must be one of .+ "1st" cannot be a field name.+ rating\.min must be a number\. rating has the rule "maxLength", which the type "integer" does not have\. rating\.private must be true or false\. tags\.of\.type must be one of .+ kind is an enum and needs "values"\. cover must be an object with a "type"\.$/,
    )
  })

  it('names twenty of them, briefly', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${n}${'x'.repeat(10_000)}`, {}]))
    refuses(many, / There is more\.$/)
    assert.throws(() => parseSchema(many), (error: Error) => error.message.length < 8000) // biome-ignore format: short
  })
})
