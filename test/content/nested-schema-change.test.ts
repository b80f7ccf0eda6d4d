import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { convertValue } from '../../src/content/convert-value.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import type { Field } from '../../src/content/schema.ts'
import { changeValue, checkSchemaChange, describeSchemaChange } from '../../src/content/schema-change.ts'

const text = { type: 'text' }
const current = {
  seo: { type: 'object', fields: { title: { ...text, required: true }, robots: text } },
  hours: { type: 'list', of: { type: 'object', fields: { day: text, opens: text } } },
  sections: {
    type: 'blocks',
    blocks: {
      hero: { fields: { heading: text, rank: text } },
      quote: { fields: { body: { type: 'longText' }, by: { type: 'object', fields: { name: text } } } },
    },
  },
} // biome-ignore format: as a schema is written

const value = {
  seo: { title: 'Bread', robots: 'none' },
  hours: [{ day: 'Monday', opens: '08:00' }, { day: 'Sunday' }],
  sections: [
    { type: 'hero', heading: 'Fresh', rank: '1' },
    { body: 'Good', type: 'quote', by: { name: 'Ada' } },
  ],
}

interface Given {
  renames?: Record<string, string>
  defaults?: Record<string, unknown>
}

/** The change to this schema, checked. */
function changeTo(schema: object, { renames = {}, defaults = {} }: Given = {}) {
  const change = { schema: parseSchema({ ...current, ...schema }), renames, defaults }
  checkSchemaChange(parseSchema(current), change)
  const { renamed: _, ...summary } = describeSchemaChange(parseSchema(current), change)
  return { ...changeValue(parseSchema(current), change, value), summary }
}

const { seo, hours, sections } = current
const { hero, quote } = sections.blocks

describe('a schema change inside nested fields', () => {
  it('without a difference keeps every byte', () => {
    const { value: same, lost, problems, summary } = changeTo({})
    assert.equal(JSON.stringify(same), JSON.stringify(value))
    assert.deepEqual([lost, problems, summary], [[], [], { added: [], removed: [], retyped: [] }])
  })

  it('renames, retypes, adds and removes fields of an object', () => {
    const fields = { headline: text, noindex: { type: 'boolean' }, image: { type: 'image' } }
    const {
      value: changed,
      lost,
      summary,
    } = changeTo(
      { seo: { type: 'object', fields } },
      { renames: { 'seo.title': 'seo.headline' }, defaults: { 'seo.noindex': false } },
    )
    assert.deepEqual(changed.seo, { headline: 'Bread', noindex: false })
    assert.deepEqual(lost, [{ field: 'seo.robots', value: 'none' }])
    assert.deepEqual(summary, { added: ['seo.noindex', 'seo.image'], removed: ['seo.robots'], retyped: [] })
  })

  it('applies to every object of a list, and names each lost value by its position', () => {
    const fields = { day: text, from: { type: 'time' } }
    const {
      value: changed,
      lost,
      summary,
    } = changeTo(
      { hours: { type: 'list', of: { type: 'object', fields } } },
      { renames: { 'hours.opens': 'hours.from' }, defaults: { 'hours.from': '10:00' } },
    )
    assert.deepEqual(changed.hours, [{ day: 'Monday', from: '08:00' }, { day: 'Sunday', from: '10:00' }]) // biome-ignore format: short
    assert.deepEqual(lost, [])
    assert.deepEqual(summary.retyped, [{ field: 'hours.from', from: 'text', to: 'time' }])
    const { lost: gone } = changeTo({ hours: { type: 'list', of: { type: 'object', fields: { opens: text } } } })
    assert.deepEqual(gone, [{ field: 'hours.0.day', value: 'Monday' }, { field: 'hours.1.day', value: 'Sunday' }]) // biome-ignore format: short
  })

  it('renames block types and the fields in them, also when the field itself is renamed', () => {
    const banner = { fields: { title: text, rank: { type: 'integer' } } }
    const change = {
      schema: parseSchema({ seo, hours, parts: { type: 'blocks', blocks: { banner, quote } } }),
      renames: { sections: 'parts', 'sections.hero': 'parts.banner', 'sections.hero.heading': 'parts.banner.title' },
      defaults: {},
    }
    checkSchemaChange(parseSchema(current), change)
    const { value: changed, lost, problems } = changeValue(parseSchema(current), change, value)
    assert.deepEqual([lost, problems], [[], []])
    assert.deepEqual(changed.parts, [{ type: 'banner', title: 'Fresh', rank: 1 }, value.sections[1]])
    assert.equal(JSON.stringify(changed.parts).includes('{"body":"Good","type":"quote"'), true, 'the order stays')
    const { added, removed, retyped } = describeSchemaChange(parseSchema(current), change)
    const rank = { field: 'parts.banner.rank', from: 'text', to: 'integer' }
    assert.deepEqual({ added, removed, retyped }, { added: [], removed: [], retyped: [rank] })
  })

  it('drops the blocks of a removed type as lost', () => {
    const image = { fields: { image: { type: 'image' } } }
    const { value: changed, lost, summary } = changeTo({ sections: { type: 'blocks', blocks: { quote, image } } })
    assert.deepEqual(changed.sections, [value.sections[1]])
    assert.deepEqual(lost, [{ field: 'sections.0', value: value.sections[0] }])
    assert.deepEqual(summary, { added: ['sections.image'], removed: ['sections.hero'], retyped: [] })
  })

  it('reports what does not fit with its path, and keeps the field out of the value', () => {
    const by = { type: 'object', fields: { name: { type: 'integer' } } }
    const { problems, value: changed } = changeTo({
      sections: { type: 'blocks', blocks: { hero, quote: { fields: { ...quote.fields, by } } } },
      seo: { type: 'object', fields: { ...seo.fields, description: { ...text, required: true } } },
    })
    assert.deepEqual(problems, [
      'objectValue.sections.1.by.name cannot become an integer: "Ada"',
      'objectValue.seo.description is required',
    ])
    assert.equal('sections' in changed, false)
  })

  const refused: [message: string, schema: object, given: Given][] = [
    ['renames.seo.name is not a field of the current schema.', {}, { renames: { 'seo.name': 'seo.title' } }],
    ['renames.seo.title is "seo.name", which is not a field of the new schema.', {}, { renames: { 'seo.title': 'seo.name' } }],
    ['renames.seo.robots is still a field of the new schema.', {}, { renames: { 'seo.robots': 'seo.title' } }],
    ['renames.seo.title must stay where it is: "seo.day", not "hours.day".', {}, { renames: { 'seo.title': 'hours.day' } }],
    ['renames.sections.hero must stay where it is', {}, { renames: { 'sections.hero': 'hours.day' } }],
    ['defaults.seo.name is not a field of the new schema.', {}, { defaults: { 'seo.name': 'x' } }],
    ['defaults.sections.hero is not a field of the new schema.', {}, { defaults: { 'sections.hero': {} } }],
    ['defaults.seo.title must be a text.', {}, { defaults: { 'seo.title': 5 } }],
    ['defaults.hours.0.opens must be a text.', {}, { defaults: { hours: [{ opens: 5 }] } }],
    ['defaults.hours.0.closes is not in the schema.', {}, { defaults: { hours: [{ closes: '5' }] } }],
  ] // biome-ignore format: one line a case reads better
  for (const [message, schema, given] of refused)
    it(`is refused: ${message}`, () =>
      assert.throws(
        () => changeTo(schema, given),
        (error) => error instanceof Error && error.message.startsWith(message),
      ))

  it('of many objects with many or long defaults is refused before the value is built', () => {
    const names = Array.from({ length: 200 }, (_, position) => `f${position}`)
    const rows = parseSchema({
      rows: { type: 'list', of: { type: 'object', fields: Object.fromEntries(names.map((name) => [name, text])) } },
    })
    const migrate = (given: string, used: readonly string[]) => {
      const defaults = Object.fromEntries(used.map((name) => [`rows.${name}`, given]))
      return changeValue(rows, { schema: rows, renames: {}, defaults }, { rows: Array(4000).fill({}) })
    }
    assert.deepEqual(migrate('x', ['f0']).problems, [])
    assert.deepEqual(migrate('x', names).problems, [
      'objectValue must have at most 10000 values inside objects and blocks',
    ])
    const long = migrate('x'.repeat(500_000), ['f0'])
    assert.deepEqual(long.problems, ['objectValue must have at most 1000000 characters as JSON'])
    assert.equal((long.value.rows as object[]).filter((row) => 'f0' in row).length, 2, 'of 4000, 2 GB in all')
  })

  it('lets two fields in an object swap their names', () => {
    const { value: changed } = changeTo({}, { renames: { 'seo.title': 'seo.robots', 'seo.robots': 'seo.title' } })
    assert.deepEqual(changed.seo, { robots: 'Bread', title: 'none' })
  })
})

describe('the value of a field', () => {
  const object = { type: 'object', fields: { a: text } } as Field
  const list = { type: 'list', of: object } as Field
  const id = '66f0c0ffee0123456789abcd'
  const media = { name: 'a', key: 'g/a.png', type: 'image' }
  const json: Field = { type: 'json' }

  const kept: [what: string, from: Field, to: Field, value: unknown][] = [
    ['an object becomes JSON', object, json, { a: 'x' }],
    ['JSON becomes the object that it is', json, object, { a: 'x' }],
    ['JSON becomes the text that it is', json, { type: 'text' }, 'x'],
    ['a text becomes JSON', { type: 'text' }, json, 'x'],
    ['an id becomes a text', { type: 'reference' }, { type: 'text' }, id],
    ['a text that is an id becomes a reference', { type: 'text' }, { type: 'reference' }, id],
    ['a list of ids becomes references', { type: 'list', of: { type: 'text' } }, { type: 'list', of: { type: 'reference' } }, [id]],
  ] // biome-ignore format: one line a case reads better
  for (const [what, from, to, given] of kept)
    it(`${what}, unchanged`, () => assert.deepEqual(convertValue('a', from, to, given), { value: given, problems: [] }))

  const refused: [what: string, from: Field, to: Field, value: unknown, problem: string][] = [
    ['JSON that is no such object', json, object, { b: 1 }, 'a cannot become an object: {"b":1}'],
    ['a file', { type: 'image' }, json, media, `a cannot become a json: ${JSON.stringify(media)}`],
    ['an object', object, { type: 'text' }, { a: 'x' }, 'a cannot become a text: {"a":"x"}'],
    ['a text that is no id', { type: 'text' }, { type: 'reference' }, 'ada', 'a cannot become a reference: "ada"'],
    ['several objects', list, object, [{ a: 'x' }, { a: 'y' }], 'a cannot become an object: [{"a":"x"},{"a":"y"}]'],
  ] // biome-ignore format: one line a case reads better
  for (const [what, from, to, given, problem] of refused)
    it(`is refused: ${what}`, () =>
      assert.deepEqual(convertValue('a', from, to, given), { value: undefined, problems: [problem] }))

  it('becomes a list of one object, and back', () => {
    const inside = (schema: object) => parseSchema({ x: schema })
    const change = (from: object, to: object, x: unknown) =>
      changeValue(inside(from), { schema: inside(to), renames: {}, defaults: {} }, { x })
    assert.deepEqual(change(object, list, { a: 'x' }), { value: { x: [{ a: 'x' }] }, lost: [], problems: [] })
    assert.deepEqual(change(list, object, [{ a: 'x' }]), { value: { x: { a: 'x' } }, lost: [], problems: [] })
  })
})
