import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { countries } from '../../src/content/countries.ts'
import { checkSite, collectionIdsIn, problemsOfSite, type SiteDraft } from '../../src/content/site-settings.ts'
import { AppError } from '../../src/core/errors.ts'
import { demoSite } from '../../src/demo/content.ts'

const groupId = '66f0c0ffee0123456789abcd'
const collectionId = '66f0c0ffee0123456789abce'
const image = (key = `${groupId}/a.png`) => ({ name: 'a', key, type: 'image' })
const bare: SiteDraft = { name: 'Site', domainName: '', settings: {}, privateSettings: {} }

/** The problems of a valid site with these parts replaced, which may have any JSON type. */
const problemsWith = (parts: object): string[] => problemsOfSite(groupId, { ...bare, ...parts })
const inSettings = (key: string) => (value: unknown) => problemsWith({ settings: { [key]: value } })
const inPrivate = (key: string) => (value: unknown) => problemsWith({ privateSettings: { [key]: value } })
const inPage = (key: string) => (value: unknown) =>
  problemsWith({ settings: { pages: [{ name: 'A', slug: 'a', [key]: value }] } })
const inBusiness = (key: string) => (value: unknown) => problemsWith({ settings: { businessInfo: { [key]: value } } })

const repeat = (count: number, make: (position: number) => unknown) =>
  Array.from({ length: count }, (_, at) => make(at))
const nested = (depth: number): unknown => {
  let value: unknown = []
  for (let level = 1; level < depth; level++) value = [value]
  return value
}

interface Scenario {
  problemsOf: (value: unknown) => string[]
  accepted: unknown[]
  refused: unknown[]
  /** The expected problem of each refusal. */
  because: RegExp
}

const scenarios: Record<string, Scenario> = {
  name: {
    problemsOf: (name) => problemsWith({ name }),
    accepted: ['A', 'Bäckerei 🥐', 'x'.repeat(200)],
    refused: ['', ' ', '\u00A0\n', 'x'.repeat(201), 'a\0', '\uD83E', 5, null, undefined, ['A']],
    because: /^name must be a text of 1 to 200 characters/,
  },
  domainName: {
    problemsOf: (domainName) => problemsWith({ domainName }),
    accepted: [
      '', 'x', 'localhost', 'localhost:3000', 'www.example.com', 'bücher.example', '例え.jp', 'xn--bcher-kva.example',
      'a-b.example:65535', '192.0.2.1', `${`${'a'.repeat(62)}.`.repeat(4)}b`,
    ],
    refused: [
      'Example.com', 'BÜCHER.example', 'https://example.com', 'example.com/', 'example.com/a', 'a b.c', 'a..b', '.a', 'a.',
      '-a.b', 'a-.b', 'a_b.c', 'a@b.c', 'a.b:', 'a.b:0', 'a.b:65536', 'a.b:1:2', '*.a.b', 'a.b\n', 'a\0', '300.1.1.1', '[::1]',
      `${'a'.repeat(64)}.b`, `${`${'a'.repeat(62)}.`.repeat(4)}bb`, 5, null, undefined,
    ],
    because: /^domainName must be a host name/,
  },
  settings: {
    problemsOf: (settings) => problemsWith({ settings }),
    accepted: [{}, { anything: [1, null, { goes: true }] }, { '': '' }, { mediaFields: 1 }, { toString: 'x' }],
    refused: [null, undefined, [], 'text', 5],
    because: /^settings must be an object$/,
  },
  'a name that the service delivers itself': {
    problemsOf: (key) => inSettings(String(key))('x'),
    accepted: ['id', 'names', 'Tier', 'sitedetails', 'domain'],
    refused: ['_id', 'name', 'domainName', 'tier', 'siteDetails'],
    because: /^settings\.(_id|name|domainName|tier|siteDetails) cannot be set/,
  },
  colors: {
    problemsOf: inSettings('colors'),
    accepted: [{}, { primary: '#fff' }, { 'text-primary': 'rgb(1, 2, 3)', A_9: '#7c3aed80' }],
    refused: [null, [], '#fff', 5],
    because: /^settings\.colors must be an object$/,
  },
  'the name of a colour': {
    problemsOf: (name) => inSettings('colors')({ [String(name)]: '#fff' }),
    accepted: ['a', '9', '-', 'text-on_primary', 'x'.repeat(64), 'toString'],
    refused: [
      '', 'a b', 'a.b', 'é', 'a\n', 'x'.repeat(65), 'x'.repeat(10_000), '_id', 'name', 'domainName', 'tier', 'siteDetails',
      'logo', 'heroImage', 'businessInfo', 'socialLinks', 'pages', 'colors', 'mediaFields',
    ],
    because: /^settings\.colors\.[\s\S]{0,61} needs a name of letters/,
  },
  'a colour': {
    problemsOf: (value) => inSettings('colors')({ primary: value }),
    accepted: ['#fff', '#7C3AED'],
    refused: ['', 'red', 'url(x)', '#fff;background:url(x)', 5, null, {}],
    because: /^settings\.colors\.primary must be a colour/,
  },
  logo: {
    problemsOf: inSettings('logo'),
    accepted: [null, image(), { ...image(), alt: 'A bun' }],
    refused: [false, '', 'a.png', [image()], {}, { ...image(), type: 'video' }, { ...image(), name: '' }],
    because: /^settings\.logo must be /,
  },
  heroImage: {
    problemsOf: inSettings('heroImage'),
    accepted: [null, image()],
    refused: [{ ...image(), type: 'file' }, { ...image(), key: 5 }],
    because: /^settings\.heroImage must be /,
  },
  businessInfo: {
    problemsOf: inSettings('businessInfo'),
    accepted: [{}, { name: '', description: 'x', shipping: false, address: {}, contactInfo: {}, openingHours: [{ days: 1 }] }],
    refused: [null, [], 'x'],
    because: /^settings\.businessInfo must be an object$/,
  },
  'the name of a business': {
    problemsOf: inBusiness('name'),
    accepted: ['', 'x'],
    refused: [5, null],
    because: /^settings\.businessInfo\.name must be a text$/,
  },
  'the description of a business': {
    problemsOf: inBusiness('description'),
    accepted: ['', 'x'],
    refused: [5, null, true, ['x'], {}],
    because: /^settings\.businessInfo\.description must be a text$/,
  },
  address: {
    problemsOf: (value) => inBusiness('address')({ zip: value }),
    accepted: ['', 'B0J 9Z9'],
    refused: [12345, null, {}],
    because: /^settings\.businessInfo\.address\.zip must be a text$/,
  },
  'email of a business': {
    problemsOf: (value) => inBusiness('contactInfo')({ email: value, phoneNumber: '1' }),
    accepted: ['hello@demo.example'],
    refused: ['', 'hello', 'a@b.c, d@e.f', 'Ann <a@b.c>', 5, null],
    because: /^settings\.businessInfo\.contactInfo\.email must be one e-mail address/,
  },
  shipping: {
    problemsOf: inBusiness('shipping'),
    accepted: [true, false],
    refused: ['false', 'true', 0, 1, null, ''],
    because: /^settings\.businessInfo\.shipping must be true or false$/,
  },
  socialLinks: {
    problemsOf: inSettings('socialLinks'),
    accepted: [
      [], [{ type: 'x', link: 'https://x.example', icon: 'y' }], [{ platform: 'x', url: 'https://x.example' }],
      [{ type: 'x', platform: 'y', link: 'https://x.example', url: 'https://y.example' }],
    ],
    refused: [null, {}, ['https://x.example'], [{ link: 'https://x.example' }], [{ type: 'x' }], [{ type: 5, link: 'https://x.example' }], [{ platform: 'x' }], [{ url: 'https://x.example' }], [{ platform: 'x', url: 'x.example' }], [{ platform: null, url: 'https://x.example' }]],
    because: /^settings\.socialLinks(\[0\](\.type|\.link|\.url|\.platform)?)? (\(or (platform|url)\) )?(must be|is required)/,
  },
  'the link of a social link': {
    problemsOf: (link) => inSettings('socialLinks')([{ type: 'x', link }]),
    accepted: ['https://youtube.example/@demo', 'http://x.example:8080/a?b=c#d', 'https://bücher.example/ü', 'HTTPS://X.example'],
    refused: [
      '', 'x.example', '//x.example', '/a', 'javascript:alert(1)', 'data:text/html,x', 'ftp://x.example', 'mailto:a@b.c',
      'https:x.example', 'https://', 'https://user@x.example', 'https://user:pass@x.example', 'https://:pass@x.example',
      ' https://x.example', 'https://x.example/a b', 'https://x.example\n', 'java\nscript:alert(1)', 'https://x.example\\@y.example',
      5, null,
    ],
    because: /^settings\.socialLinks\[0\]\.link must be an http or https address/,
  },
  pages: {
    problemsOf: inSettings('pages'),
    accepted: [[], [{ name: 'A', slug: 'a', further: {} }], repeat(200, (at) => ({ name: 'A', slug: `a${at}` }))],
    refused: [
      null, {}, ['a'], [null], [{ slug: 'a' }], [{ name: 'A' }], [{ name: 5, slug: 'a' }], [{ name: null, slug: 'a' }],
      repeat(201, (at) => ({ name: 'A', slug: `a${at}` })),
    ],
    because: /^settings\.pages(\[0\](\.name|\.slug)?)? (must|is required)/,
  },
  'the slug of a page': {
    problemsOf: inPage('slug'),
    accepted: ['', 'home', 'a', 'a/b', 'blog/2026/first_post', 'über-uns', '製品', '-'],
    refused: ['/', '/a', 'a/', 'a//b', 'A', 'Über', 'a b', 'a.b', '..', 'a/../b', 'a?b', 'a#b', 'a%20b', 'a\\b', 'a\n', 5, null],
    because: /^settings\.pages\[0\]\.slug must be lower-case letters/,
  },
  'slugs of several pages': {
    problemsOf: (slugs) => inSettings('pages')((slugs as string[]).map((slug) => ({ name: 'A', slug }))),
    accepted: [['a', 'b', 'a/b'], ['home', 'homes']],
    refused: [['a', 'b', 'a'], ['home', 'x', 'home'], ['', 'x', 'home'], ['home', 'x', '']],
    because: /^settings\.pages\[2\]\.slug is that of an earlier page$/,
  },
  'the format of a page': {
    problemsOf: inPage('format'),
    accepted: ['home', ''],
    refused: [5, null],
    because: /^settings\.pages\[0\]\.format must be a text$/,
  },
  'the collections of a page': {
    problemsOf: inPage('collections'),
    accepted: [[], [{ collectionId }], [{ collectionId, name: 'A', role: 'r', displayAs: 'd', order: 0, enabled: true, more: 1 }]],
    refused: [
      null, {}, [collectionId], [{}], [{ collectionId: '' }], [{ collectionId: collectionId.toUpperCase() }],
      [{ collectionId: `${collectionId}\n` }], [{ collectionId: 5 }], [{ collectionId, name: 5 }], [{ collectionId, role: null }],
      [{ collectionId, displayAs: true }], [{ collectionId, order: -1 }], [{ collectionId, order: 1.5 }],
      [{ collectionId, order: '1' }], [{ collectionId, order: 2 ** 53 }], [{ collectionId, enabled: 'false' }],
    ],
    because: /^settings\.pages\[0\]\.collections(\[0\](\.\w+)?)? (must be|is required)/,
  },
  'the integrations of a page': {
    problemsOf: inPage('integrations'),
    accepted: [[], [{ type: 'stripe' }], [{ type: 'stripe', name: 'n', role: 'r', displayAs: 'd', more: 1 }]],
    refused: [null, {}, ['stripe'], [{ name: 'n' }], [{ type: 5 }], [{ type: 't', name: 5 }], [{ type: 't', role: 5 }]],
    because: /^settings\.pages\[0\]\.integrations(\[0\](\.\w+)?)? (must be|is required)/,
  },
  'the labels of a page': {
    problemsOf: inPage('labels'),
    accepted: [{}, { title: 'T', anyOther: '' }, { title: 'T', heroImage: image(), film: { ...image(), type: 'video' } }],
    refused: [null, [], 'x', { title: 5 }, { title: null }, { title: { en: 'x' } }, { title: { ...image(), type: 'other' } }, { title: { ...image(), name: '' } }],
    because: /^settings\.pages\[0\]\.labels(\.title)? must be (an object|a text)/,
  },
  'a page on the header': {
    problemsOf: inPage('displayOnHeader'),
    accepted: [true, false],
    refused: ['false', 'true', 0, null],
    because: /^settings\.pages\[0\]\.displayOnHeader must be true or false$/,
  },
  'a page on the footer': {
    problemsOf: inPage('displayOnFooter'),
    accepted: [true, false],
    refused: ['false', 'true', 0, null],
    because: /^settings\.pages\[0\]\.displayOnFooter must be true or false$/,
  },
  'media deep in open settings': {
    problemsOf: (value) => inSettings('gallery')([{ deep: value }]),
    accepted: [image(), { ...image(), type: 'file' }, { ...image('other/a.png'), type: 'other' }],
    refused: [image('other/a.png'), image('../a.png'), image(''), image(`${groupId}/../b/a.png`), image(`${groupId}x/a.png`)],
    because: /^settings\.gallery\[0\]\.deep\.key does not belong to this group$/,
  },
  'a delivered media value': {
    problemsOf: inSettings('logo'),
    accepted: [image()],
    refused: [{ ...image(), currentFile: { source: 'https://x.example', expiresAt: 'x' } }, { ...image(), currentFile: null }],
    because: /^settings\.logo\.currentFile is added on delivery: omit it$/,
  },
  'text anywhere': {
    problemsOf: (value) => inSettings('open')({ deep: [value] }),
    accepted: ['', '\u0001', '\u{1F950}'],
    refused: ['\0', '\uD83E', 'a\uDD50'],
    because: /^settings\.open\.deep\[0\] contains a character that cannot be stored$/,
  },
  'numbers anywhere': {
    problemsOf: inSettings('open'),
    accepted: [0, -1.5, 1e300],
    refused: [JSON.parse('1e999'), JSON.parse('-1e999')],
    because: /^settings\.open is a number that cannot be stored$/,
  },
  'keys anywhere': {
    problemsOf: (key) => inSettings('open')([JSON.parse(`{${JSON.stringify(key)}:1}`)]),
    accepted: ['', 'a b', 'é', 'toString', 'x'.repeat(1000)],
    refused: ['__proto__', 'constructor', 'prototype', 'a\0', '\uD83E'],
    because: /^settings\.open\[0\] has (the key (__proto__|constructor|prototype), which cannot be used|a key with a character)/,
  },
  'depth of settings': {
    problemsOf: inSettings('open'),
    accepted: [nested(20)],
    refused: [nested(21), nested(100_000), { a: nested(100_000), b: '\0' }],
    because: /^settings must be nested at most 20 deep$/,
  },
  'size of settings': {
    problemsOf: inSettings('a'),
    accepted: ['x'.repeat(200_000 - '{"a":""}'.length)],
    refused: ['x'.repeat(200_001 - '{"a":""}'.length), '"'.repeat(100_000), repeat(300_000, () => '\0')],
    because: /^settings must have at most 200000 characters of JSON$/,
  },
  privateSettings: {
    problemsOf: (privateSettings) => problemsWith({ privateSettings }),
    accepted: [{}, { allowedOrigins: [], allowedRecipients: [], shippingCountries: [] }],
    refused: [
      null, undefined, [], 'x', { other: 1 }, { allowedorigins: [] }, { constructor: 1 }, JSON.parse('{"__proto__":1}'),
      { x: nested(100_000) },
    ],
    because: /^privateSettings(\.\w+)? (must be an object|is not a private setting)$/,
  },
  allowedOrigins: {
    problemsOf: inPrivate('allowedOrigins'),
    accepted: [
      ['https://www.example.com', 'http://localhost:3000', 'https://xn--bcher-kva.example', 'http://127.0.0.1:8080', 'http://[::1]:3000'],
      repeat(50, (at) => `https://${at}.example`),
    ],
    refused: [
      null, {}, 'https://a.example', ...[
        '', '*', 'null', 'a.example', 'https://', 'https://a.example/', 'https://a.example/x', 'https://a.example?x', 'https://a.example#x',
        'https://A.example', 'https://a.example:443', 'http://a.example:80', 'https://a.example:99999', 'https://u@a.example',
        'https://u:p@a.example', 'https://@a.example', 'https://*.a.example', 'https://bücher.example', 'ftp://a.example',
        'file://', 'https://a.example\n', ' https://a.example', 'https://a.example,https://b.example', 5, null,
      ].map((origin) => [origin]),
      repeat(51, (at) => `https://${at}.example`),
    ],
    because: /^privateSettings\.allowedOrigins(\[0\])? must (be an origin|be a list|have at most 50 entries)/,
  },
  allowedRecipients: {
    problemsOf: inPrivate('allowedRecipients'),
    accepted: [[], ['a@b.c', 'root@localhost'], repeat(50, (at) => `a${at}@b.c`)],
    refused: [
      null, 'a@b.c', [''], ['a'], ['a@b.c,d@e.f'], ['a@b.c\r\nBcc: d@e.f'], ['<a@b.c>'], [5], [['a@b.c']],
      repeat(51, (at) => `a${at}@b.c`),
    ],
    because: /^privateSettings\.allowedRecipients(\[0\])? must (be one e-mail address|be a list|have at most 50 entries)/,
  },
  shippingCountries: {
    problemsOf: inPrivate('shippingCountries'),
    accepted: [[], ['CA'], ['US', 'CA', 'GB', 'XK'], [...countries]],
    refused: [null, 'CA', {}, [''], ['ca'], ['CAN'], ['XX'], ['KP'], [5], [null], [['CA']], [...countries, 'CA']],
    because: /^privateSettings\.shippingCountries(\[0\])? must (be the code of a country|be a list|have at most \d+ entries)/,
  },
} // biome-ignore format: one line a case reads better

/** Some values are too deep or too long to be written out. */
const shown = (value: unknown): string =>
  inspect(value, { compact: 9, depth: 3, maxArrayLength: 3, maxStringLength: 60, breakLength: 999 })

for (const [what, { problemsOf, accepted, refused, because }] of Object.entries(scenarios)) {
  describe(`for ${what}, a site`, () => {
    for (const value of accepted) it(`may have ${shown(value)}`, () => assert.deepEqual(problemsOf(value), []))
    for (const value of refused) {
      it(`must not have ${shown(value)}`, () => {
        const [problem, ...more] = problemsOf(value)
        assert.match(problem ?? 'nothing', because)
        assert.deepEqual(more, [])
      })
    }
  })
}

describe('a site', () => {
  it('like the demo’s is accepted', () => {
    const ids = {
      Blog: collectionId,
      Team: collectionId,
      Reviews: groupId,
      FAQ: collectionId,
      Subscribers: collectionId,
    }
    const { name, domainName, settings } = demoSite(ids, (picture) => image(`${groupId}/${picture}.png`) as never)
    const privateSettings = {
      allowedOrigins: ['https://demo.example'],
      allowedRecipients: ['hello@demo.example'],
      shippingCountries: ['CA'],
    }
    assert.deepEqual(problemsOfSite(groupId, { name, domainName, settings, privateSettings }), [])
    assert.deepEqual(collectionIdsIn(settings).sort(), [groupId, collectionId])
  })

  it('gets all its problems in one answer', () => {
    const settings = {
      tier: 'pro',
      colors: { primary: 'red' },
      businessInfo: { shipping: 'false' },
      pages: [
        { slug: '/a', labels: { title: '\0' } },
        { name: 'B', slug: '/a' },
      ],
      open: { deep: image('other/a.png') },
    }
    const site = { name: '', domainName: '/', settings, privateSettings: { secret: 'x' } as object }
    assert.deepEqual(
      problemsOfSite(groupId, site).map((problem) => problem.split(' ')[0]),
      [
        'name', 'domainName', 'settings.tier', 'settings.colors.primary', 'settings.businessInfo.shipping',
        'settings.pages[0].name', 'settings.pages[0].slug', 'settings.pages[1].slug', 'settings.pages[1].slug',
        'settings.pages[0].labels.title', 'settings.open.deep.key', 'privateSettings.secret',
      ], // biome-ignore format: one line reads better
    )
  })

  it('may have any JSON in its open parts; hostile JSON there gets a readable error', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue({ maxDepth: 30 }), (key, value) => {
        for (const settings of [
          { [`x-${key}`]: value },
          { pages: value },
          { colors: value },
          { businessInfo: value },
        ]) {
          for (const problem of problemsWith({ settings })) assert.match(problem, /^settings/)
        }
      }),
    )
  })

  it('is accepted only if its settings survive storage unchanged', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (settings) => {
        if (problemsWith({ settings }).length > 0) return
        const text = JSON.stringify(settings)
        assert.ok(text.isWellFormed())
        assert.equal(JSON.stringify(JSON.parse(text)), text)
      }),
    )
  })
})

describe('checkSite', () => {
  it('accepts a valid site', () => checkSite(groupId, bare))

  it('throws one ValidationError that lists 20 problems and counts the rest', () => {
    const settings = { open: repeat(20_000, () => '\0') }
    assert.throws(
      () => checkSite(groupId, { ...bare, name: '', settings }),
      (error) => {
        assert.ok(error instanceof AppError && error.code === 'ValidationError')
        assert.match(error.message, /^name must be .*; settings\.open\[18\] contains [^;]*; and 19981 more\.$/)
        return true
      },
    )
  })

  it('keeps its message short, however long the keys are', () => {
    const settings = { ['k'.repeat(100_000)]: repeat(30, () => '\0'), colors: { ['c'.repeat(50_000)]: 'red' } }
    assert.throws(
      () => checkSite(groupId, { ...bare, settings }),
      (error) => error instanceof AppError && error.message.length < 4000,
    )
  })
})

describe('collectionIdsIn', () => {
  it('returns each id that a page is bound to once, in order', () => {
    const bound = (...ids: string[]) => ({ collections: ids.map((id) => ({ collectionId: id })) })
    assert.deepEqual(collectionIdsIn({ pages: [bound('b', 'a'), { name: 'none' }, bound('a', 'c')] }), ['b', 'a', 'c'])
  })

  it('returns none for settings without pages, or with unexpected ones', () => {
    for (const pages of [undefined, null, 5, {}, [null], [{ collections: 'x' }], [{ collections: [null, {}, 'x'] }]]) {
      assert.deepEqual(collectionIdsIn({ pages }), [])
    }
  })
})
