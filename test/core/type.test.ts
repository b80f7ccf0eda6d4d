import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type as Library, type TSchema } from 'typebox'
import Schema from 'typebox/schema'
import { Type } from '../../src/core/type.ts'

/** Both have the same functions, so each can build the same description. */
type Maker = typeof Type

const descriptions: Record<string, (make: Maker) => TSchema> = {
  texts: (make) => make.String({ minLength: 1, maxLength: 3, description: 'a text' }),
  'whole numbers': (make) => make.Integer({ minimum: 0 }),
  'true or false': (make) => make.Boolean(),
  nothing: (make) => make.Null(),
  anything: (make) => make.Unknown({ description: 'any value' }),
  'texts of a list': (make) => make.Enum(['a', 'b'], { description: 'one of two' }),
  'one text': (make) => make.Literal('a'),
  'one number': (make) => make.Literal(1),
  'one of true and false': (make) => make.Literal(true),
  lists: (make) => make.Array(make.String(), { maxItems: 2, uniqueItems: true }),
  'one of several': (make) => make.Union([make.String(), make.Null()], { description: 'a text, or null' }),
  'names and values': (make) => make.Record(make.String(), make.Array(make.Integer()), { description: 'by name' }),
  'an object': (make) => make.Object({ a: make.String(), b: make.Optional(make.Integer()) }, { additionalProperties: false }),
  'an object of which all may be left out': (make) => make.Object({ a: make.Optional(make.String()) }),
  'an object without fields': (make) => make.Object({}),
  'an object with all of its fields made optional': (make) =>
    make.Partial(make.Object({ a: make.String(), b: make.Optional(make.Integer({ minimum: 1 })) })),
  'an object without one of its fields': (make) =>
    make.Omit(make.Object({ a: make.String(), b: make.Optional(make.Integer()), c: make.Null() }), ['a']),
} // biome-ignore format: a line for each reads better

const values: unknown[] = [
  undefined, null, true, false, 0, 1, -1, 1.5, '', 'a', 'az', 'b', 'abcd', 'abcdef', [], ['a'], ['a', 'a'], ['a', 'b', 'c'], [1],
  {}, { a: 'a' }, { a: 'az' }, { a: 1 }, { a: null }, { a: 'a', b: 1 }, { a: 'a', b: 'b' }, { b: 0 }, { b: 1 }, { c: null }, { a: [1] },
  { a: 'a', d: 1 },
] // biome-ignore format: a few lines read better

describe('a type description', () => {
  for (const [what, describeBy] of Object.entries(descriptions)) {
    const [own, library] = [describeBy(Type), describeBy(Library as Maker)]

    it(`is the JSON Schema that typebox makes: ${what}`, () => {
      assert.deepEqual(JSON.parse(JSON.stringify(own)), JSON.parse(JSON.stringify(library)))
      assert.equal(JSON.stringify(own), JSON.stringify(library), 'also in its order')
    })

    it(`accepts what typebox accepts, and refuses other values for the same reasons: ${what}`, () => {
      for (const value of values)
        assert.deepEqual(Schema.Errors(own, value), Schema.Errors(library, value), `for ${JSON.stringify(value)}`)
    })
  }
})
