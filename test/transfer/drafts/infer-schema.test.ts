import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { problemsOf } from '../../../src/content/validate.ts'
import { readCsv } from '../../../src/transfer/drafts/csv.ts'
import { type Draft, fitDraft } from '../../../src/transfer/drafts/draft.ts'
import { inferSchema } from '../../../src/transfer/drafts/infer-schema.ts'
import { readMarkdownFolder } from '../../../src/transfer/drafts/markdown.ts'
import { folderOf } from '../files.ts'

const draftsOf = (name: string, values: readonly unknown[]): Draft[] =>
  values.map((value) => ({ source: 'x', value: { [name]: value }, problems: [] }))

const inferOf = async (name: string, ...values: unknown[]) => (await inferSchema(draftsOf(name, values)))[name]

const listOfText = { type: 'list', of: { type: 'text' } }

describe('a schema is inferred from all values of a field', () => {
  const cases: [type: string, ...values: unknown[]][] = [
    ['integer', 1, '2', '-3', '', null, undefined, '0'],
    ['decimal', 1, '2.50', 0.5],
    ['decimal', '12345678901234567890'],
    ['boolean', true, 'false', 'TRUE', ''],
    ['date', '2024-05-01', '1999-12-31'],
    ['dateTime', '2024-05-01T10:00:00Z', '2024-05-01', '2024-05-01 10:00'],
    ['text', '2024-05-01', 'tomorrow'],
    ['text', '2024-02-30'],
    ['text', '01234', '56789'],
    ['text', '0049.5'],
    ['text', 1, 'two'],
    ['text', 'true', '1'],
    ['text', '', null, ' '],
    ['text', 'a < b and b > c'],
    ['text', 'x'.repeat(300)],
    ['longText', 'short', 'x'.repeat(301)],
    ['longText', 'one\ntwo'],
    ['longText', 'a <b>bold</b> word'],
    ['longText', 'a<br/>b'],
  ]
  for (const [type, ...values] of cases) {
    it(`${type} from ${JSON.stringify(values).slice(0, 60)}`, async () => {
      assert.deepEqual(await inferOf('it', ...values), { type })
    })
  }

  it('a list of text when any value is a list', async () => {
    assert.deepEqual(await inferOf('tags', ['a', 'b']), listOfText)
    assert.deepEqual(await inferOf('tags', 'a', ['b', 1], 5), listOfText)
    assert.deepEqual(await inferOf('tags', []), listOfText)
  })

  it('JSON when any value is an object or a list of them', async () => {
    assert.deepEqual(await inferOf('seo', 'none', { title: 'x' }), { type: 'json' })
    assert.deepEqual(await inferOf('hours', [{ day: 'Monday' }]), { type: 'json' })
  })

  it('a slug only in a field of that name, and only if all values are slugs', async () => {
    assert.deepEqual(await inferOf('slug', 'a-b', 'c/d', 2024), { type: 'slug' })
    assert.deepEqual(await inferOf('slug', 'a-b', 'Not One'), { type: 'text' })
    assert.deepEqual(await inferOf('path', 'a-b'), { type: 'text' })
  })

  it('long text for a body, however short', async () => {
    assert.deepEqual(await inferOf('body', '5'), { type: 'longText' })
    assert.deepEqual(await inferOf('body', ''), { type: 'longText' })
  })

  it('without the drafts that have problems', async () => {
    const drafts = [...draftsOf('it', ['5']), { source: 'x', value: { it: 'shifted' }, problems: ['bad'] }]
    assert.deepEqual(await inferSchema(drafts), { it: { type: 'integer' } })
  })

  it('and of nothing, nothing', async () => assert.deepEqual(await inferSchema([]), {}))
})

describe('an inferred schema accepts its input', () => {
  const accept = async (drafts: Draft[]) => {
    const schema = parseSchema(await inferSchema(drafts))
    for (const draft of drafts) assert.deepEqual(problemsOf(schema, fitDraft(schema, draft).value), [])
  }

  it('for any cells', async () => {
    const cell = fc.oneof(
      fc.string(),
      fc.constantFrom('', ' ', 'true', 'TRUE', '007', '-0', '1e5', '2024-05-01', '2024-05-01 9:00', '<b>', 'a-b', '+5'),
      fc.integer().map(String),
      fc.double().map(String),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    )
    const cells = fc.array(cell, { maxLength: 5 })
    const tags = fc.array(fc.oneof(cell, fc.array(cell)), { maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('it', 'slug', 'body'), fc.oneof(cells, tags), async (name, values) => {
        await accept(draftsOf(name, values))
      }),
      { numRuns: 1000 },
    )
  })

  it('for a folder of pages', async (t) => {
    const folder = folderOf(t, {
      'one.md': '---\ntags: [a, b]\nrating: 5\nprice: 4.50\ndate: 2024-05-01\nevent: 2024-06-01\n---\n# One\n\nText',
      'two.md': '---\ntags: c\nrating: 4\nprice: 12\ncode: 007\nfeatured: true\n---\n# Two\n\nText',
    })
    const drafts = await Array.fromAsync(readMarkdownFolder(folder))
    assert.deepEqual(await inferSchema(drafts), {
      tags: listOfText,
      rating: { type: 'integer' },
      price: { type: 'decimal' },
      event: { type: 'date' },
      slug: { type: 'slug' },
      title: { type: 'text' },
      body: { type: 'longText' },
      code: { type: 'text' },
      featured: { type: 'boolean' },
    })
    await accept(drafts)
  })

  it('for a CSV file, read as a stream', async (t) => {
    const text = 'slug,rating,price,when,zip,note\na-b,5,4.50,2024-05-01,01234,"x\ny"\nc,,,,,\n'
    const file = join(folderOf(t, { 'in.csv': text }), 'in.csv')
    assert.deepEqual(await inferSchema(readCsv(file)), {
      slug: { type: 'slug' },
      rating: { type: 'integer' },
      price: { type: 'decimal' },
      when: { type: 'date' },
      zip: { type: 'text' },
      note: { type: 'longText' },
    })
    await accept(await Array.fromAsync(readCsv(file)))
  })
})
