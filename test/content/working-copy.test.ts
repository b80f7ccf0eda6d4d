import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { problemsOf } from '../../src/content/validate.ts'
import { compareThreeWay, mergeThreeWay, relaxSchema } from '../../src/content/working-copy.ts'

describe('a comparison of three values', () => {
  const base = { same: 1, ofDraft: 1, ofLive: 1, ofBoth: 1, alike: 1, gone: 1 }
  const live = { same: 1, ofDraft: 1, ofLive: 2, ofBoth: 2, alike: 2 }
  const draft = { same: 1, ofDraft: 3, ofLive: 1, ofBoth: 3, alike: 2, gone: 1, added: [3] }

  it('names each field by the sides that changed it; the same change on both sides is none', () => {
    assert.deepEqual(compareThreeWay({ base, live, draft }), {
      draft: ['ofDraft', 'added'],
      live: ['ofLive', 'gone'],
      both: ['ofBoth'],
    })
  })

  it('merges what only the live value changed into the draft, removals included', () => {
    const merged = mergeThreeWay({ base, live, draft })
    assert.deepEqual(merged, { same: 1, ofDraft: 3, ofLive: 2, ofBoth: 3, alike: 2, added: [3] })
  })
})

describe('a schema without its limits', () => {
  const schema = parseSchema({
    title: { type: 'text', required: true, minLength: 5, maxLength: 10 },
    path: { type: 'slug' },
    stars: { type: 'integer', min: 1, max: 5 },
    tags: { type: 'list', of: { type: 'text', minLength: 2 }, maxItems: 1 },
    sections: {
      type: 'blocks',
      blocks: { quote: { fields: { author: { type: 'object', fields: { name: { type: 'text', required: true } } } } } },
    },
    sizes: { type: 'variant', of: { type: 'list', of: { type: 'integer', min: 2 } } },
  })
  const unfinished = {
    title: 'x',
    path: 'Not yet',
    stars: 9,
    tags: ['a', 'b'],
    sizes: { S: [1] },
    sections: [{ type: 'quote', author: {} }],
  }

  it('accepts unfinished values', () => {
    assert.equal(problemsOf(schema, unfinished).length, 6)
    assert.deepEqual(problemsOf(relaxSchema(schema), unfinished), [])
    assert.deepEqual(problemsOf(relaxSchema(schema), {}), [])
  })

  it('accepts no other type, no other field and no size beyond that of an object', () => {
    const relaxed = relaxSchema(schema)
    for (const wrong of [
      { title: 5 },
      { sections: [{ type: 'table' }] },
      { stars: 'two' },
      { tags: 'a' },
      { nope: 1 },
      { title: 'x'.repeat(1_000_001) },
    ])
      assert.equal(problemsOf(relaxed, wrong).length, 1)
  })
})
