import fc from 'fast-check'
import type { Field, Fields, ListField } from '../../src/content/schema.ts'

/** A field, and values that fit it. */
export interface Kind {
  field: Field
  values: fc.Arbitrary<unknown>
}

const names = ['title', 'body', 'a-b', 'secret', 'parts', 'key']

/** Fields of these kinds and the objects that fit them, in any order and with fields missing or null. */
const members = (kind: fc.Arbitrary<Kind>): fc.Arbitrary<{ fields: Fields; values: fc.Arbitrary<object> }> =>
  fc.uniqueArray(fc.tuple(fc.constantFrom(...names), kind, fc.constantFrom(true, ...Array(9).fill(false))), { selector: ([name]) => name, minLength: 1, maxLength: 4 }).map(
    (made) => ({
      fields: Object.fromEntries(made.map(([name, { field }, isPrivate]) => [name, isPrivate ? { ...field, private: true } : field])),
      values: fc
        .shuffledSubarray(made.map(([name, { values }]) => ({ name, values })))
        .chain((chosen) => fc.tuple(...chosen.map(({ name, values }) => fc.oneof({ weight: 5, arbitrary: values }, fc.constant(null)).map((value) => [name, value] as const))))
        .map((entries) => Object.fromEntries(entries)),
    }),
  ) // biome-ignore format: one line reads better

/** Objects, lists of objects and blocks, nested a few levels deep, of these fields without fields in them. */
export const nestedKind = (leaf: fc.Arbitrary<Kind>, levels = 3): fc.Arbitrary<Kind> => {
  const inner = levels > 1 ? fc.oneof({ weight: 2, arbitrary: leaf }, nestedKind(leaf, levels - 1)) : leaf
  const object = members(inner).map(({ fields, values }): Kind => ({ field: { type: 'object', fields }, values }))
  const list = object.map(
    ({ field, values }): Kind => ({
      field: { type: 'list', of: field as ListField['of'] },
      values: fc.array(values, { maxLength: 3 }),
    }),
  )
  const blocks = fc.tuple(members(inner), members(inner)).map(
    ([hero, quote]): Kind => ({
      field: { type: 'blocks', blocks: { hero: { fields: hero.fields }, quote: { fields: quote.fields } } },
      values: fc.array(
        fc.oneof(
          hero.values.map((value) => ({ type: 'hero', ...value })),
          quote.values.map((value) => ({ ...value, type: 'quote' })),
        ),
        { maxLength: 3 },
      ),
    }),
  )
  return fc.oneof(object, list, blocks)
}

/** JSON as it is once stored. */
export const storedJson: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 3 })
  .map((value) => JSON.parse(JSON.stringify(value).replaceAll('"__proto__"', '"proto"')))
