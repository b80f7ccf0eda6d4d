import assert from 'node:assert/strict'
import { posix, win32 } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { bucketNamePattern, isKeyOfGroup, isMediaKey } from '../../src/content/media-keys.ts'
import { mediaKeysIn } from '../../src/content/media-uses.ts'
import { parseSchema } from '../../src/content/parse-schema.ts'

const groupId = '66f0c0ffee0123456789abcd'

describe('a media key', () => {
  const good = [
    'a',
    'site/logo.png',
    `${groupId}/photo.jpg`,
    'a b.png',
    'naïve/Ünïcode-日本語.png',
    'e\u0301.png',
    'a+b@c(1)=2,3!~4.png',
    "it's.png",
    'a..b.png',
    'a/b/c/d/e.png',
    '-dash',
    `${'x'.repeat(200)}/${'y'.repeat(200)}/${'z'.repeat(98)}`,
  ]
  for (const key of good) {
    it(`may be ${key.length > 60 ? `${key.length} characters long` : key}`, () => assert.ok(isMediaKey(key)))
  }

  const bad = [
    '', '.', '..', '/', '//', 'a/', '/a', 'a//b', './a', 'a/./b', '../a', 'a/../b', 'a/..', 'a/../../etc/passwd', '.env',
    'a/.env', '.../a', '..\\a', 'a\\b', '\\\\host\\share', 'C:\\a', 'C:/a', 'file:///etc/passwd', 'https://evil/a',
    '%2e%2e/a', '..%2fa', 'a%00b', 'a%2fb', '%', 'a\0', 'a\0.png', '\0', 'a\nb', 'a\r\nb', 'a\tb', 'a?b', 'a#b', 'a;b',
    'a:b', 'a*b', 'a|b', 'a"b', 'a<b', 'a>b', 'a&b', 'a$b', 'a`b', 'a{b}', 'a[b]', 'a^b', 'a\uD83E', '\u202Egnp.exe',
    'a\u200Bb', '\uFF0E\uFF0E/a', 'a\u2215..', 'x'.repeat(201), 'ü'.repeat(101),
    `${'x'.repeat(200)}/${'y'.repeat(200)}/${'z'.repeat(99)}`,
  ] // biome-ignore format: one line reads better
  for (const key of bad) {
    it(`must not be ${JSON.stringify(key.slice(0, 60))}`, () => assert.equal(isMediaKey(key), false))
  }

  it('cannot leave its folder, on any system, decoded or not', () => {
    const piece = fc.constantFrom('..', '.', '/', '\\', '%2e', '%2f', '%5c', '\0', 'a', ' ', 'C:', '~', '\u2025')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const key = pieces.join('')
        if (!isMediaKey(key)) return
        for (const written of [key, decodeURIComponent(key)]) {
          assert.ok(posix.join('/media/bucket', written).startsWith('/media/bucket/'))
          assert.ok(win32.join('C:\\media\\bucket', written).startsWith('C:\\media\\bucket\\'))
        }
      }),
      { numRuns: 5000 },
    )
  })
})

describe('isKeyOfGroup', () => {
  const other = '66f0c0ffee0123456789abce'
  const cases: [key: string, mine: boolean][] = [
    [`${groupId}/a.png`, true],
    [`${groupId}/deep/a.png`, true],
    [`${other}/a.png`, false],
    [groupId, false],
    [`${groupId}/`, false],
    [`${groupId}x/a.png`, false],
    [`${groupId}/../${other}/a.png`, false],
    [`x/${groupId}/a.png`, false],
    [`${groupId.toUpperCase()}/a.png`, false],
    ['a.png', false],
    ['', false],
  ]
  for (const [key, mine] of cases) {
    it(`is ${mine} of ${JSON.stringify(key)}`, () => assert.equal(isKeyOfGroup(groupId, key), mine))
  }
})

describe('mediaKeysIn', () => {
  it('finds the key of every file: single, in a gallery, in a variant map of either', () => {
    const schema = parseSchema({
      photo: { type: 'image' },
      gallery: { type: 'list', of: { type: 'image' } },
      clip: { type: 'variant', of: { type: 'video' } },
      papers: { type: 'variant', of: { type: 'list', of: { type: 'file' } } },
      hidden: { type: 'file', private: true },
      empty: { type: 'image' },
      title: { type: 'text' },
    })
    const media = (key: string) => ({ name: 'x', key, type: 'image' })
    const value = {
      photo: media('1'),
      gallery: [media('2'), media('3')],
      clip: { a: media('4'), b: media('5') },
      papers: { a: [media('6')], b: [media('7')] },
      hidden: media('8'),
      empty: null,
      title: 'no key',
    }
    assert.deepEqual(mediaKeysIn(schema, value), ['1', '2', '3', '4', '5', '6', '7', '8'])
    assert.deepEqual(mediaKeysIn(schema, { clip: media('4'), papers: [media('6')] }), ['4', '6'])
  })
})

describe('a bucket name', () => {
  it('is one plain folder name', () => {
    for (const name of ['media', 'my-bucket', 'a.b.c', '123', 'x'.repeat(63)]) assert.match(name, bucketNamePattern)
    const bad = [
      '',
      'a',
      'ab',
      '..',
      '...',
      '.ab',
      'ab.',
      '-ab',
      'a/b',
      'a\\b',
      'Media',
      'a b',
      'a%2e',
      'abc\n',
      'x'.repeat(64),
    ]
    for (const name of bad) assert.doesNotMatch(name, bucketNamePattern)
  })
})
