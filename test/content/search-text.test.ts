import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { searchTextOf, searchWordsOf } from '../../src/content/index-keys.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'
import { assertLinear } from '../helpers/growth.ts'

const schema = parseSchema({
  title: { type: 'text' },
  body: { type: 'longText' },
  kind: { type: 'enum', values: ['Bread', 'Cake'] },
  tags: { type: 'list', of: { type: 'text' } },
  name: { type: 'variant', of: { type: 'text' } },
  story: { type: 'variant', of: { type: 'longText' } },
  email: { type: 'text', private: true },
  note: { type: 'longText', private: true },
  secrets: { type: 'list', private: true, of: { type: 'text' } },
  quiet: { type: 'text', searchable: false },
  rating: { type: 'integer' },
  photo: { type: 'image' },
})

/** Whether a search finds an object with this value. */
function finds(search: string, value: Record<string, unknown>): boolean {
  const text = searchTextOf(schema, value)
  return searchWordsOf(search).every((word) => text.includes(word))
}

const body = (html: string): string => searchTextOf(schema, { body: html })

describe('searchTextOf', () => {
  it('leaves out HTML tags and their attributes', () => {
    assert.equal(body('<p class="intro">Sour<b>dough</b></p>').replace(/\s+/g, ' ').trim(), 'sour dough')
    for (const word of ['class', 'intro', 'script', 'href']) {
      assert.ok(!body('<p class="intro"><script src="x"></script><a href="/">Bun</a></p>').includes(word), word)
    }
  })

  it('decodes entities once', () => {
    const entities: [html: string, text: string][] = [
      ['Salt &amp; Butter', 'salt & butter'],
      ['1 &lt; 2 &gt; 0', '1 < 2 > 0'],
      ['&quot;x&quot;', '"x"'],
      ['it&#39;s', "it's"],
      ['a&nbsp;b', 'a b'],
      ['&amp;lt;b&amp;gt;', '&lt;b&gt;'],
      ['&unknown; &', '&unknown; &'],
    ]
    for (const [html, text] of entities) assert.equal(body(html).trim(), text)
  })

  it('takes time linear in the number of unclosed tags', async () => {
    const hostile = ['<', '<a', '</', '<!--', '< ', '&', '&amp', '<a href="', '<'.repeat(50)]
    for (const piece of hostile) await assertLinear((length) => piece.repeat(length / piece.length), body)
  })

  it('preserves plain text: a "<" in a title is not a tag', () => {
    assert.ok(finds('<3>', { title: 'We <3> bread' }))
  })

  it('has the values of every list entry and every variant', () => {
    const value = {
      kind: 'Bread',
      tags: ['rye', 'dark'],
      name: { Small: 'Mini loaf', Large: 'Maxi loaf' },
      story: { Small: '<i>tiny</i>', Large: 'huge' },
    }
    for (const word of ['bread', 'rye', 'dark', 'mini', 'maxi', 'tiny', 'huge']) assert.ok(finds(word, value), word)
  })

  it('excludes private and unsearchable fields, numbers and media', () => {
    const value = {
      title: 'Bun',
      email: 'canary@example.com',
      note: 'canary',
      secrets: ['canary'],
      quiet: 'canary',
      rating: 4711,
      photo: { name: 'canary', key: 'canary', type: 'image' },
    }
    const text = searchTextOf(schema, value)
    assert.equal(text, 'bun')
    assert.equal(text, searchTextOf(schema, { title: 'Bun' }))
  })

  it('separates fields: no word spans the end of one and the start of the next', () => {
    assert.equal(finds('sourdough', { title: 'sour', body: 'dough' }), false)
  })

  it('is empty for an object without text', () => assert.equal(searchTextOf(schema, {}), ''))
})

describe('searchWordsOf', () => {
  it('matches in any case, and accents in either encoding', () => {
    assert.ok(finds('CRÈME', { title: 'Crème brûlée' }))
    assert.ok(finds('cre\u0300me', { title: 'Cr\u00E8me' }))
  })

  it('requires every word, in any order and anywhere', () => {
    assert.ok(finds('bread rye', { title: 'Rye and spelt bread' }))
    assert.equal(finds('rye cake', { title: 'Rye bread' }), false)
  })

  it('accepts any kind and number of spaces, and each word once', () => {
    assert.deepEqual(searchWordsOf(' \tRye\n\u00A0rye  bread '), ['bread', 'rye'])
    assert.deepEqual(searchWordsOf('   '), [])
  })

  it('treats wildcards of SQL patterns literally', () => {
    assert.deepEqual(searchWordsOf("100% a_b \\ ' *"), ['100%', 'a_b', '\\', "'", '*'])
  })
})
