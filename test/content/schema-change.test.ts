import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import type { Schema } from '../../src/content/schema.ts'
import {
  changeValue,
  checkSchemaChange,
  describeSchemaChange,
  type SchemaChange,
} from '../../src/content/schema-change.ts'
import { AppError } from '../../src/core/errors.ts'

const changeTo = (schema: object, rest: Partial<Omit<SchemaChange, 'schema'>> = {}): SchemaChange => ({
  schema: parseSchema(schema),
  renames: {},
  defaults: {},
  ...rest,
})

const text = { type: 'text' }
const integer = { type: 'integer' }
const decimal = { type: 'decimal' }
const image = { type: 'image' }
const size = { type: 'enum', values: ['small', '5', 'true'] }
const listOf = (of: object) => ({ type: 'list', of })
const variantOf = (of: object) => ({ type: 'variant', of })

describe('checkSchemaChange', () => {
  const current = parseSchema({ a: text, b: text, c: text })

  const accepted: [what: string, SchemaChange][] = [
    ['nothing', changeTo({ a: text, b: text, c: text })],
    ['fields that are added, removed and retyped', changeTo({ a: integer, d: text })],
    ['a rename', changeTo({ d: text, b: text }, { renames: { a: 'd' } })],
    ['a rename to the name of a field that goes', changeTo({ b: text }, { renames: { a: 'b' } })],
    ['two names that are swapped', changeTo({ a: text, b: text }, { renames: { a: 'b', b: 'a' } })],
    ['names that move on by one', changeTo({ b: text, c: text, d: text }, { renames: { a: 'b', b: 'c', c: 'd' } })],
    ['a default', changeTo({ a: text, d: { type: 'integer', min: 1 } }, { defaults: { d: 1, a: '' } })],
  ]
  for (const [what, change] of accepted) it(`accepts ${what}`, () => checkSchemaChange(current, change))

  const unspeakable = (json: string) => JSON.parse(json) as Record<string, string>
  const refused: [what: string, SchemaChange, message: RegExp][] = [
    ['a rename of a field that is not there', changeTo({ d: text }, { renames: { x: 'd' } }), /^renames\.x is not a field of the current schema\.$/],
    ['a rename of what every object has', changeTo({ d: text }, { renames: { constructor: 'd' } }), /^renames\.constructor is not a field/],
    ['a rename of __proto__', changeTo({ d: text }, { renames: unspeakable('{"__proto__":"d"}') }), /^renames\.__proto__ is not a field/],
    ['a rename to a field that will not be there', changeTo({ b: text }, { renames: { a: 'x' } }), /^renames\.a is "x", which is not a field of the new schema\.$/],
    ['a rename to what every object has', changeTo({ b: text }, { renames: { a: 'toString' } }), /^renames\.a is "toString", which is not/],
    ['a rename of a field that stays', changeTo({ a: text, d: text }, { renames: { a: 'd' } }), /^renames\.a is still a field of the new schema\.$/],
    ['a rename to the same name', changeTo({ a: text }, { renames: { a: 'a' } }), /^renames\.a is still a field/],
    ['two renames to one name', changeTo({ d: text }, { renames: { a: 'd', b: 'd' } }), /^renames\.b is "d", which renames\.a is already\.$/],
    ['a default of a field that will not be there', changeTo({ a: text }, { defaults: { b: 'x' } }), /^defaults\.b is not a field of the new schema\.$/],
    ['a default of what every object has', changeTo({ a: text }, { defaults: { valueOf: 'x' } }), /^defaults\.valueOf is not a field/],
    ['a default of another type', changeTo({ a: integer }, { defaults: { a: '5' } }), /^defaults\.a must be a whole number\.$/],
    ['a default that breaks a rule', changeTo({ a: { type: 'integer', max: 4 } }, { defaults: { a: 5 } }), /^defaults\.a must be at most 4\.$/],
    ['a default with a bad entry', changeTo({ a: listOf(text) }, { defaults: { a: ['x', 5] } }), /^defaults\.a\[1\] must be a text\.$/],
    ['a default that is no value', changeTo({ a: text }, { defaults: { a: null } }), /^defaults\.a must be a value\.$/],
  ] // biome-ignore format: one line a case reads better
  for (const [what, change, message] of refused) {
    it(`refuses ${what}, with its path`, () => {
      assert.throws(
        () => checkSchemaChange(current, change),
        (error) => error instanceof AppError && error.code === 'ValidationError' && message.test(error.message),
      )
    })
  }
})

describe('describeSchemaChange', () => {
  it('reports added, removed, renamed and retyped fields, and no rules', () => {
    const current = parseSchema({ title: text, price: decimal, tags: text, gone: text, size })
    const change = changeTo(
      { name: { ...text, maxLength: 5 }, price: variantOf(decimal), labels: listOf(text), size: { ...size, values: ['x'] }, extra: image },
      { renames: { title: 'name', tags: 'labels' } },
    ) // biome-ignore format: one line reads better
    assert.deepEqual(describeSchemaChange(current, change), {
      added: ['extra'],
      removed: ['gone'],
      renamed: [{ from: 'title', to: 'name' }, { from: 'tags', to: 'labels' }],
      retyped: [
        { field: 'price', from: 'decimal', to: 'variant of decimal' },
        { field: 'labels', from: 'text', to: 'list of text' },
      ],
    }) // biome-ignore format: one line a field reads better
  })

  it('compares swapped fields with their sources, and reports a field that another replaces as removed', () => {
    const current = parseSchema({ a: text, b: integer })
    assert.deepEqual(
      describeSchemaChange(current, changeTo({ a: integer, b: text }, { renames: { a: 'b', b: 'a' } })).retyped,
      [],
    )
    assert.deepEqual(describeSchemaChange(current, changeTo({ b: text }, { renames: { a: 'b' } })).removed, ['b'])
  })
})

describe('changeValue', () => {
  const current = parseSchema({ a: text, b: integer })

  it('reports values without a field, including leftovers of an older schema, but no empty ones', () => {
    assert.deepEqual(changeValue(current, changeTo({ c: text }), { a: 'x', b: null, c: 'old', d: false }), {
      value: {},
      lost: [{ field: 'a', value: 'x' }, { field: 'c', value: 'old' }, { field: 'd', value: false }],
      problems: [],
    }) // biome-ignore format: one line reads better
  })

  it('swaps names, and reports the value that a renamed field replaces', () => {
    const swap = changeTo({ b: text, a: integer }, { renames: { a: 'b', b: 'a' } })
    assert.deepEqual(changeValue(current, swap, { a: 'x', b: 5 }), { value: { b: 'x', a: 5 }, lost: [], problems: [] })
    const replace = changeTo({ b: text }, { renames: { a: 'b' } })
    assert.deepEqual(changeValue(current, replace, { a: 'x', b: 5 }), {
      value: { b: 'x' },
      lost: [{ field: 'b', value: 5 }],
      problems: [],
    })
  })

  it('uses a default only for a missing value, null or an empty list', () => {
    const lists = parseSchema({ a: text, b: text, c: listOf(text), d: text })
    const defaults = { a: '1', b: '2', c: '3', d: '4', e: '5' }
    const change = changeTo({ a: text, b: text, c: text, d: text, e: text }, { defaults })
    const { value } = changeValue(lists, change, { b: null, c: [], d: '' })
    assert.deepEqual(value, { a: '1', b: '2', c: '3', d: '', e: '5' })
  })

  it('neither replaces an inconvertible value by a default nor also reports it as missing', () => {
    const change = changeTo({ b: text, a: { ...integer, required: true } }, { defaults: { a: 1 } })
    assert.deepEqual(changeValue(current, change, { a: '4.50', b: 5 }), {
      value: { b: '5' },
      lost: [],
      problems: ['objectValue.a cannot become an integer: "4.50"'],
    })
  })

  it('finds no value under a name from Object.prototype', () => {
    const older: Schema = new Map([['constructor', { type: 'text' }]])
    const change = changeTo({ maker: text }, { renames: { constructor: 'maker' } })
    assert.deepEqual(changeValue(older, change, {}), { value: {}, lost: [], problems: [] })
  })

  it('preserves null without a default, even under another type', () => {
    assert.deepEqual(changeValue(current, changeTo({ a: integer, b: integer }), { a: null, b: null }).value, {
      a: null,
      b: null,
    })
  })

  it('reports violations of the new schema’s rules under the new name', () => {
    const rules = {
      name: { type: 'text', maxLength: 2 },
      b: { type: 'integer', max: 4 },
      c: { ...text, required: true },
    }
    const change = changeTo(rules, { renames: { a: 'name' } })
    assert.deepEqual(changeValue(current, change, { a: 'long', b: 5 }).problems, [
      'objectValue.name must have at most 2 characters',
      'objectValue.b must be at most 4',
      'objectValue.c is required',
    ])
  })
})
