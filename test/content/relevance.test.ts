import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { searchTextOf, searchWordsOf } from '../../src/content/index-keys.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { compareRelevance, relevanceOf } from '../../src/content/relevance.ts'
import { assertLinear } from '../helpers/growth.ts'

const schema = parseSchema({
  category: { type: 'enum', values: ['Bread', 'Cake'] },
  summary: { type: 'text' },
  title: { type: 'text' },
  body: { type: 'longText' },
})

const relevance = (search: string, value: Record<string, unknown>): number =>
  relevanceOf(searchTextOf(schema, value), searchWordsOf(search))

describe('relevanceOf', () => {
  it('ranks the title before other texts, and a whole word before a part of one', () => {
    const found = [
      { title: 'The Rye, again' },
      { title: 'Ryebread' },
      { title: 'Rolls', body: '<p>of (rye)</p>' },
      { title: 'Rolls', body: 'of ryegrass' },
    ].map((value) => relevance('rye', value))
    assert.deepEqual(found, [8, 4, 2, 1])
  })

  it('adds up all words', () => {
    assert.equal(relevance('rye bread', { title: 'Rye', category: 'Bread' }), 8 + 2)
    assert.equal(relevance('rye bread', { title: 'Rye bread' }), 8 + 8)
  })

  it('finds a whole word after a part of one, next to marks and in any script', () => {
    assert.equal(relevance('rye', { title: 'ryegrass-rye' }), 8)
    assert.equal(relevance('日本', { title: '日本語' }), 4)
    assert.equal(relevance('日本', { title: '「日本」' }), 8)
    assert.equal(relevance('q', { title: 'q\u0301' }), 4)
    assert.equal(relevance('𝒶', { title: '𝒶😀' }), 8)
    assert.equal(relevance('𝒶', { title: '𝒷𝒶' }), 4)
  })

  it('takes the field title for the title, else name, else the first text', () => {
    const of = (fields: object, value: Record<string, unknown>) =>
      relevanceOf(searchTextOf(parseSchema(fields), value), ['rye'])
    const [text, hidden] = [{ type: 'text' }, { type: 'text', private: true }]
    assert.equal(of({ kind: text, name: text }, { kind: 'x', name: 'rye' }), 8)
    assert.equal(of({ kind: text, name: text }, { kind: 'rye', name: 'x' }), 2)
    assert.equal(of({ slug: { type: 'slug' }, headline: text }, { slug: 'a', headline: 'rye' }), 8)
    assert.equal(of({ title: hidden, kind: text }, { title: 'x', kind: 'rye' }), 8)
    assert.equal(of({ slug: { type: 'slug' } }, { slug: 'rye' }), 2)
  })

  it('takes linear time in hostile texts', async () => {
    await assertLinear(
      (length) => 'a'.repeat(length),
      (text) => relevanceOf(text, ['aaaa', 'ab']),
    )
  })
})

describe('compareRelevance', () => {
  it('orders equal ones newest first, and then by id', () => {
    const of = (id: string, createdMs: number, relevance: number) => ({ id, createdMs, relevance })
    const ordered = [of('a', 1, 5), of('d', 9, 2), of('c', 7, 2), of('b', 7, 2)]
    assert.deepEqual(ordered.toReversed().sort(compareRelevance), ordered)
  })
})
