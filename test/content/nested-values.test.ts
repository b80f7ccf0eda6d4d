import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deliverCollectionObject, type SignMedia } from '../../src/content/delivery.ts'
import { indexRowsOf, searchTextOf } from '../../src/content/index-keys.ts'
import { leavesIn } from '../../src/content/leaves.ts'
import { mediaUsesIn } from '../../src/content/media-uses.ts'
import { unsetPublishMs } from '../../src/content/model.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { checkSubmission } from '../../src/content/submissions.ts'
import { problemsOf } from '../../src/content/validate.ts'

const groupId = '66f0c0ffee0123456789abcd'
const id = '66f0c0ffee0123456789abce'
const picture = { name: 'Loaf', key: `${groupId}/2026/03/loaf.png`, type: 'image' }
const other = { name: 'Oven', key: `${groupId}/2026/03/oven.png`, type: 'image' }

const schema = parseSchema({
  seo: {
    type: 'object',
    fields: {
      title: { type: 'text', required: true, maxLength: 20 },
      note: { type: 'text', private: true },
      code: { type: 'text', searchable: false },
      image: { type: 'image' },
    },
  },
  hours: { type: 'list', of: { type: 'object', fields: { day: { type: 'text' }, opens: { type: 'time' } } }, maxItems: 7 },
  sections: {
    type: 'blocks',
    maxItems: 10,
    blocks: {
      hero: { label: 'Hero', fields: { image: { type: 'image', required: true }, heading: { type: 'text' } } },
      prose: { fields: { body: { type: 'longText' }, internal: { type: 'longText', private: true } } },
      team: { fields: { people: { type: 'list', of: { type: 'reference' } }, tags: { type: 'list', of: { type: 'text' } } } },
    },
  },
  author: { type: 'reference', collections: ['team'] },
  related: { type: 'list', of: { type: 'reference' } },
  widget: { type: 'json' },
}) // biome-ignore format: as a schema is written

const value = {
  seo: { title: 'Bread', note: 'for us', code: 'X1', image: picture },
  hours: [{ day: 'Monday', opens: '08:00' }, { day: 'Sunday' }],
  sections: [
    { type: 'hero', image: other, heading: 'Fresh' },
    { internal: 'draft', type: 'prose', body: `<p>Rye</p><img src="media:${picture.key}">` },
    { type: 'team', people: [id], tags: ['new'] },
  ],
  author: id,
  related: [id],
  widget: { type: 'map', at: [1, { secret: null }] },
}

const problems = (over: object): string[] => problemsOf(schema, { ...value, ...over })

describe('nested values', () => {
  it('are valid when each value inside is', () => {
    assert.deepEqual(problemsOf(schema, value), [])
  })

  const invalid: [over: object, ...problems: string[]][] = [
    [{ seo: {} }, 'objectValue.seo.title is required'],
    [{ seo: [] }, 'objectValue.seo must be an object'],
    [{ seo: { title: 'Bread', extra: 1 } }, 'objectValue.seo.extra is not in the schema'],
    [{ seo: { title: 'B'.repeat(21) } }, 'objectValue.seo.title must have at most 20 characters'],
    [{ seo: JSON.parse('{"title": "B", "__proto__": 1}') }, 'objectValue.seo.__proto__ is not in the schema'],
    [{ hours: [{ day: 'Monday' }, { opens: '8' }] }, 'objectValue.hours.1.opens must be a time such as 09:30'],
    [{ hours: [null] }, 'objectValue.hours.0 must be an object'],
    [{ hours: Array(8).fill({}) }, 'objectValue.hours must have at most 7 entries'],
    [{ sections: {} }, 'objectValue.sections must be a list'],
    [{ sections: ['hero'] }, 'objectValue.sections.0 must be an object with a type'],
    [{ sections: [{}] }, 'objectValue.sections.0.type must be one of hero, prose, team'],
    [{ sections: [{ type: 'constructor' }] }, 'objectValue.sections.0.type must be one of hero, prose, team'],
    [{ sections: [{ type: 'prose' }, { type: 'prose' }, { type: 'hero' }] }, 'objectValue.sections.2.image is required'],
    [{ sections: [{ type: 'team', tags: ['a', 1] }] }, 'objectValue.sections.0.tags[1] must be a text'],
    [{ sections: Array(11).fill({ type: 'prose' }) }, 'objectValue.sections must have at most 10 entries'],
    [{ sections: [{ type: 'hero', image: { ...other, currentFile: {} } }] }, 'objectValue.sections.0.image must not have currentFile, which is added on delivery'],
    [{ author: 'ada' }, 'objectValue.author must be the id of an object'],
    [{ related: [id, 7] }, 'objectValue.related[1] must be the id of an object'],
    [{ widget: { a: Number.POSITIVE_INFINITY } }, 'objectValue.widget is a number that cannot be stored'],
    [{ widget: ['\0'] }, 'objectValue.widget contains a character that cannot be stored'],
    [{ widget: JSON.parse('{"a": {"__proto__": 1}}') }, 'objectValue.widget has the key __proto__, which cannot be used'],
    [{ widget: 'x'.repeat(100_000) }, 'objectValue.widget must have at most 100000 characters as JSON'],
    [{ widget: JSON.parse('['.repeat(22) + ']'.repeat(22)) }, 'objectValue.widget must be nested at most 20 deep'],
  ] // biome-ignore format: one line a case reads better
  for (const [over, ...expected] of invalid)
    it(`are refused with their path: ${expected[0]}`, () => assert.deepEqual(problems(over), expected))

  it('are at most 10,000 in one object, empty ones included', () => {
    const lists = parseSchema({
      rows: { type: 'list', of: { type: 'object', fields: { a: { type: 'text', required: true } } } },
    })
    const message = 'objectValue must have at most 10000 values inside objects and blocks'
    assert.deepEqual(problemsOf(lists, { rows: Array(10_001).fill({}) }), [message])
    assert.deepEqual(problemsOf(lists, { rows: Array(5001).fill({ a: 'x' }) }), [message])
    assert.deepEqual(problemsOf(lists, { rows: Array(5000).fill({ a: 'x' }) }), [])
    assert.equal(problemsOf(lists, { rows: Array(10_000).fill({}) }).length, 1000, 'the first of many problems')
  })

  it('have a path for each value at the end of one', () => {
    assert.deepEqual([...leavesIn(schema, value)].map(({ path, field }) => `${path} ${field.type}`), [
      'seo.title text', 'seo.note text', 'seo.code text', 'seo.image image',
      'hours.0.day text', 'hours.0.opens time', 'hours.1.day text',
      'sections.0.type enum', 'sections.0.image image', 'sections.0.heading text',
      'sections.1.internal longText', 'sections.1.type enum', 'sections.1.body longText',
      'sections.2.type enum', 'sections.2.people.0 reference', 'sections.2.tags.0 text',
      'author reference', 'related.0 reference', 'widget json',
    ]) // biome-ignore format: as the value has them
  })

  it('count as uses of the files inside', () => {
    assert.deepEqual(mediaUsesIn(schema, value), [picture, other, { key: picture.key }])
  })

  it('are searched, except private and unsearchable ones and JSON', () => {
    assert.equal(searchTextOf(schema, value), '\nbread monday sunday fresh rye new')
  })

  it('are not filtered or sorted by; references at the top level are filtered', () => {
    const rows = indexRowsOf(schema, value)
    assert.deepEqual(
      rows.map(({ field, filterKey }) => [field, filterKey]),
      [['author', `=${id}`], ['related', `=${id}`]],
    ) // biome-ignore format: short
  })

  it('are delivered in their order with signed files and without private fields', () => {
    const currentFile = { source: 'https://cdn.example/file', expiresAt: 'later' }
    const sign: SignMedia = () => currentFile
    const container = { id, kind: 'collection' as const, name: 'Pages', schema, settings: {}, version: 1 }
    const object = {
      id, value, publishMs: unsetPublishMs, archived: false, createdMs: 0, updatedMs: 0, externalId: null, accountHandle: '',
    } // biome-ignore format: short
    const delivered = deliverCollectionObject(container, object, sign)
    const expected = {
      _id: id,
      seo: { title: 'Bread', code: 'X1', image: { ...picture, currentFile } },
      hours: value.hours,
      sections: [
        { type: 'hero', image: { ...other, currentFile }, heading: 'Fresh' },
        { type: 'prose', body: `<p>Rye</p><img src="${currentFile.source}">` },
        { type: 'team', people: [id], tags: ['new'] },
      ],
      author: id,
      related: [id],
      widget: value.widget,
      mediaFields: {},
    }
    assert.equal(JSON.stringify(delivered.objectValue), JSON.stringify(expected))
  })

  it('of a visitor have no files at any depth, and no blank required texts', () => {
    const container = {
      id,
      kind: 'collection' as const,
      name: 'Pages',
      schema,
      settings: { accepts: ['createReview' as const] },
      version: 1,
    }
    const submit = (sent: Record<string, unknown>) => () => checkSubmission(container, 'createReview', sent)
    assert.throws(submit({ seo: { title: 'Hi', image: picture } }), /objectValue\.seo\.image must be left out/)
    assert.throws(
      submit({ sections: [{ type: 'hero', image: picture }] }),
      /objectValue\.sections\.0\.image must be left out/,
    )
    assert.throws(submit({ sections: [value.sections[1]] }), /objectValue\.sections must not refer to files/)
    assert.throws(submit({ seo: { title: ' ' } }), /objectValue\.seo\.title is required/)
    submit({ seo: { title: 'Hi' }, author: id })()
  })
})

const text = { type: 'text' }
const nest = (levels: number): object => (levels === 1 ? text : { type: 'object', fields: { a: nest(levels - 1) } })

describe('parseSchema accepts', () => {
  it('fields of five levels, and editor rules on each', () => {
    parseSchema({ a: nest(5) })
    const rules = { label: 'Title', help: 'Shown on top', placeholder: 'Fresh bread', group: 'Page' }
    parseSchema({
      a: { type: 'object', fields: { b: { ...text, ...rules, default: 'Bread' } }, default: { b: 'x' }, ...rules },
    })
  })
})

describe('parseSchema refuses', () => {
  const object = (fields: object): object => ({ a: { type: 'object', fields } })
  const blocks = (given: unknown): object => ({ a: { type: 'blocks', blocks: given } })
  const mistakes: [schema: object, message: string][] = [
    [{ a: nest(6) }, 'a.a.a.a.a is nested too deep: fields have at most 5 levels.'],
    [{ a: { type: 'object' } }, 'a.fields must be an object of field name → field.'],
    [object({}), 'a.fields must be an object of 1 to 200 fields.'],
    [object({ 'b.c': text }), 'a: "b.c" cannot be a field name: a letter, then up to 63 letters, digits, _ or -.'],
    [object({ b: { ...text, filterable: true } }), 'a.b has the rule "filterable", which only a field at the top level has.'],
    [object({ b: { type: 'variant', of: text } }), 'a.b.type must be one of text,'],
    [object({ b: { type: 'enum' } }), 'a.b is an enum and needs "values".'],
    [{ a: { ...text, fields: {} } }, 'a has "fields", which only object has.'],
    [{ a: { ...text, blocks: {} } }, 'a has "blocks", which only blocks has.'],
    [blocks(undefined), 'a.blocks must be an object of 1 to 100 block types.'],
    [blocks({ '1': { fields: { b: text } } }), 'a.blocks: "1" cannot be the name of a block type'],
    [blocks({ hero: { fields: { type: text } } }), 'a.hero: "type" is reserved and cannot be a field name.'],
    [blocks({ hero: { fields: { b: text }, private: true } }), 'a.hero has "private", but a block type has only label and fields.'],
    [{ a: { type: 'list', of: { type: 'json' } } }, 'a.of.type must be one of'],
    [{ a: { type: 'variant', of: { type: 'list', of: { type: 'object', fields: { b: text } } } } }, 'a.of.of.type must be one of'],
    [{ a: { type: 'list', of: { ...text, default: 'x' } } }, 'a.of has the rule "default", which belongs to the field itself.'],
    [{ a: { type: 'reference', collections: [] } }, 'a.collections must be a list of 1 to 50 texts.'],
    [{ a: { type: 'reference', products: ['a', 'a'] } }, 'a.products has "a" more than once.'],
    [{ a: { ...text, collections: ['b'] } }, 'a has the rule "collections", which the type "text" does not have.'],
    [{ a: { ...text, help: 'x'.repeat(2001) } }, 'a.help must be a text of at most 2000 characters.'],
    [{ a: { ...text, default: 5 } }, 'a.default must be a text.'],
    [{ a: { ...text, default: null } }, 'a.default must be a value.'],
    [{ a: { ...text, default: 'x'.repeat(10_000) } }, 'a.default must have at most 10000 characters as JSON.'],
    [blocks({ hero: { fields: { b: { type: 'integer', max: 3, default: 4 } } } }), 'a.hero.b.default must be at most 3.'],
    [{ a: { type: 'image', default: picture } }, 'a.default must not name files or objects.'],
    [{ a: { type: 'reference', default: id } }, 'a.default must not name files or objects.'],
  ] // biome-ignore format: one line a case reads better
  for (const [input, message] of mistakes)
    it(`a mistake: ${message}`, () =>
      assert.throws(
        () => parseSchema(input),
        (error) => error instanceof Error && error.message.startsWith(message),
      ))

  it('more than 1000 fields at all levels', () => {
    const fields = Object.fromEntries(Array.from({ length: 200 }, (_, position) => [`f${position}`, text]))
    const wide = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, { type: 'object', fields }]))
    assert.throws(() => parseSchema(wide), /at most 1000 fields/)
  })
})
