import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDomainName, isHostName, isWebLink } from '../../src/content/addresses.ts'
import { addressKey } from '../../src/content/email.ts'
import { mediaKeysInHtml, replaceMediaInHtml, toMediaReferences } from '../../src/content/html-media.ts'
import { indexRowsOf, searchTextOf, searchWordsOf } from '../../src/content/index-keys.ts'
import { isMediaKey } from '../../src/content/media-keys.ts'
import type { ScalarType, Schema } from '../../src/content/schema.ts'
import { asHeaderText, hasLongMarkRun, normalise, slugify } from '../../src/content/texts.ts'
import { problemsOf } from '../../src/content/validate.ts'
import { assertLinear } from '../helpers/growth.ts'

const schemaOf = (type: ScalarType): Schema => new Map([['it', { type, values: ['a'] }]])

/** Everything that parses untrusted text. */
const works: Record<string, (text: string) => unknown> = {
  mediaKeysInHtml: (text) => mediaKeysInHtml(`media:${text}`),
  replaceMediaInHtml: (text) => replaceMediaInHtml(`media:${text}`, () => 'https://x.example/'),
  toMediaReferences: (text) => toMediaReferences(text, () => 'a/b'),
  searchTextOf: (text) => searchTextOf(schemaOf('longText'), { it: text }),
  searchWordsOf,
  indexRowsOf: (text) => indexRowsOf(schemaOf('text'), { it: text }),
  problemsOf: (text) =>
    (['longText', 'slug', 'date', 'dateTime', 'time', 'color', 'decimal'] as const).map((type) =>
      problemsOf(schemaOf(type), { it: text }),
    ),
  slugify,
  asHeaderText,
  addresses: (text) => [addressKey(text), isHostName(text), isDomainName(text), isWebLink(`http://${text}`)],
  isMediaKey,
}

/** Patterns whose repetition is slow for some parser. */
const pieces = [
  ' ', '\n', '<', '<a', '<a href=', "<a href='media:a/b'>", '<!--', '<![CDATA[', '&', '&#', '&notit;', '.', '-', '-a', '0', '%4',
  '\u0300', '\u0315\u0300', `a${'\u0315\u0300'.repeat(15)}`, '\uff9e\u0315', '\u0f71\u0f72\u0f74', '\ufdfa', '\u200d',
  "<img srcset='a, ", 'a@', 'İ',
] // biome-ignore format: three lines read better

describe('untrusted text', () => {
  for (const [name, work] of Object.entries(works))
    it(`is processed by ${name} in time linear in its length`, async () => {
      for (const piece of pieces)
        for (const [before, after] of [['', ''], ["<img srcset='", "x'>"]])
          await assertLinear((length) => before + piece.repeat(Math.ceil(length / piece.length)) + after, work)
    }) // biome-ignore format: shorter

  it('is normalised unless a character has more than 30 accents, including halfwidth ones, which become combining marks', () => {
    assert.equal(normalise('e\u0301', 'NFC'), 'é')
    const most = `e${'\u0301'.repeat(30)}`
    assert.equal(hasLongMarkRun(most.repeat(3)), false)
    assert.equal(normalise(most, 'NFC'), `é${'\u0301'.repeat(29)}`)
    assert.equal(normalise(`${most}\u0301`, 'NFC'), `${most}\u0301`)
    assert.equal(hasLongMarkRun(`カ${'\uff9e\u0315'.repeat(16)}`), true)
  })
})
