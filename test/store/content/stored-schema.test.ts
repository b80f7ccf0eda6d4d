import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../../src/content/parse-schema.ts'
import { parseStoredSchema, schemaText } from '../../../src/store/content/stored-schema.ts'

const text = { type: 'text' }
const object = (fields: object, rules: object = {}) => ({ type: 'object', fields, ...rules })

describe('a stored schema', () => {
  const schema = {
    title: { ...text, private: false },
    email: { ...text, private: true },
    author: { type: 'reference' },
    widget: { type: 'json' },
    numbers: object({ a: { type: 'integer' } }),
    notes: object({ a: { type: 'integer', private: true } }),
    open: object({ a: { type: 'image' } }, { private: false, required: true }),
    closed: object({ a: { type: 'image' } }, { private: true }),
    rows: { type: 'list', of: object({ a: object({ b: text }) }) },
    parts: { type: 'blocks', blocks: { hero: { fields: { image: { type: 'image' } } } } },
  }

  it('is read as it was written', () => {
    const read = parseStoredSchema(schemaText(parseSchema(schema)))
    assert.equal(JSON.stringify(Object.fromEntries(read)), JSON.stringify(schema))
  })

  it('hides values from servers of the version before that would deliver private fields or unsigned files in them', () => {
    const seen: Record<string, { private?: boolean }> = JSON.parse(schemaText(parseSchema(schema)))
    const isHidden = Object.entries(seen).filter(([, field]) => field.private)
    assert.deepEqual(isHidden.map(([name]) => name), ['email', 'notes', 'open', 'closed', 'rows', 'parts']) // biome-ignore format: short
  })
})
