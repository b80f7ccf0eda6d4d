import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { hasTooManyUrls, mediaKeysInHtml, replaceMediaInHtml, toMediaReferences } from '../../src/content/html-media.ts'
import { encodeMediaKey } from '../../src/content/media-keys.ts'
import { assertLinear } from '../helpers/growth.ts'

const addressOf = (key: string) => `https://m.example/${encodeMediaKey(key)}?a=1&signature="'<>`
const writtenAddressOf = (key: string) =>
  addressOf(key)
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
const keyOf = ({ host, pathname }: URL) => (host === 'm.example' ? decodeURIComponent(pathname.slice(1)) : undefined)
const replace = (html: string) => replaceMediaInHtml(html, addressOf)
const restore = (html: string) => toMediaReferences(html, keyOf)

describe('references to media in HTML', () => {
  for (const html of [
    '<a href="media:g/a.png">',
    '<audio src="media:g/a.png">',
    '<embed src="media:g/a.png">',
    '<iframe src="media:g/a.png">',
    '<img src="media:g/a.png">',
    '<img srcset="media:g/a.png">',
    '<source src="media:g/a.png">',
    '<source srcset="media:g/a.png">',
    '<track src="media:g/a.png">',
    '<video src="media:g/a.png">',
    '<video poster="media:g/a.png">',
    "<img src='media:g/a.png'>",
    '<IMG\n  Src\t=\n" media:g/a.png\n"/>',
    '<img alt="a > b" src="media:g/a.png">',
    '<p title="<img "><img src="media:g/a.png">',
    '</script><img src="media:g/a.png">',
    '<!-- --><img src="media:g/a.png">',
  ]) {
    it(`are found and replaced in ${JSON.stringify(html)}`, () => {
      assert.deepEqual(mediaKeysInHtml(html), ['g/a.png'])
      assert.equal(replace(html), html.replace('media:g/a.png', writtenAddressOf('g/a.png')))
      assert.equal(restore(replace(html)), html)
    })
  }

  for (const html of [
    'media:g/a.png',
    '<p>media:g/a.png</p>',
    '<p src="media:g/a.png">',
    '<img alt="media:g/a.png" data-src="media:g/a.png" href="media:g/a.png" poster="media:g/a.png">',
    '<a src="media:g/a.png" ping="media:g/a.png">',
    '<!-- <img src="media:g/a.png"> -->',
    '<!-- > <img src="media:g/a.png"> ',
    '<script>const html = \'<img src="media:g/a.png">\'</script>',
    '<STYLE>/* <img src="media:g/a.png"> */</STYLE>',
    '<textarea><img src="media:g/a.png"></textarea>',
    '<title><img src="media:g/a.png"></title>',
    '<p title="<img src=media:g/a.png>">',
    '<img alt="&quot;> <img src=media:g/a.png>">',
    '<img src>media:g/a.png',
    '</a href="media:g/a.png">',
    '<img src="media:">',
    '<img src="media:../a.png">',
    '<img src="media:/g/a.png">',
    '<img src="media:g/.hidden">',
    '<img src="media:g%2F..%2Fa.png">',
    '<img src="media:g/%zz.png">',
    '<img src="media:g/%ff.png">',
    '<img src="media:g/a.png?size=1">',
    '<img src="multimedia:g/a.png">',
    '<img src="https://m.example/media:g/a.png">',
    '<img srcset="media:g/a.png,media:g/b.png">', // one address, by the rules of HTML
    '<img src="media:g/a.png',
  ]) {
    it(`are not found in ${JSON.stringify(html)}`, () => {
      assert.deepEqual(mediaKeysInHtml(html), [])
      assert.equal(replace(html), html)
    })
  }

  it('are listed once each, in order', () => {
    const html = '<img src=media:g/b><a href=media:g/a><img src=media:g/b srcset="media:g/c 1x, media:g/a 2x">'
    assert.deepEqual(mediaKeysInHtml(html), ['g/b', 'g/a', 'g/c'])
  })

  it('count towards the limit together with all other URLs, in attributes and in srcset', () => {
    const link = (count: number) => '<a href="/x">x</a>'.repeat(count)
    const srcset = (count: number) => `<img srcset="${Array(count).fill('media:a/b.png 1x').join()}">`
    assert.equal(hasTooManyUrls(`${link(9_999)}<img src="media:a/b.png">`), false)
    assert.equal(hasTooManyUrls(`${link(10_000)}<img src="media:a/b.png">`), true)
    assert.equal(hasTooManyUrls(link(4000) + srcset(6000)), false)
    assert.equal(hasTooManyUrls(link(4000) + srcset(6001)), true)
    assert.equal(hasTooManyUrls(link(20_000)), false, 'there is no file to check')
  })

  it('are case-sensitive', () => {
    assert.deepEqual(mediaKeysInHtml('<img src=Media:g/A.png><img src=mEDIA:g/a.png>'), ['g/A.png', 'g/a.png'])
  })

  it('are read with entities and percent-encoding decoded', () => {
    const written = ['&#109;edia:g/a&#32;b.png', 'media&colon;g/a%20b.png', 'media:g/a&#x20;b.png', 'media:g/a b.png']
    for (const reference of written) {
      assert.deepEqual(mediaKeysInHtml(`<img src="${reference}">`), ['g/a b.png'], reference)
      assert.equal(replace(`<img src="${reference}">`), `<img src="${writtenAddressOf('g/a b.png')}">`)
    }
    assert.deepEqual(mediaKeysInHtml('<img src="media:g/%E9%BA%BA%E5%8C%85.png">'), ['g/麺包.png'])
  })

  it('get quotes when the attribute had none', () => {
    assert.equal(replace('<img src=media:g/a.png alt=x>'), `<img src="${writtenAddressOf('g/a.png')}" alt=x>`)
  })

  it('keep their fragment', () => {
    const html = '<a href="media:g/menu.pdf#page=2">'
    const delivered = '<a href="https://m.example/g/menu.pdf?s=1#page=2">'
    assert.deepEqual(mediaKeysInHtml(html), ['g/menu.pdf'])
    assert.equal(
      replaceMediaInHtml(html, (key) => `https://m.example/${key}?s=1`),
      delivered,
    )
    assert.equal(restore(delivered), html)
  })

  it('stay unchanged when their URL is unknown', () => {
    const html = '<img src=media:g/gone.png><img srcset="media:g/gone.png 1x, media:g/a.png 2x">'
    const replaced = replaceMediaInHtml(html, (key) => (key === 'g/a.png' ? '/a.png' : undefined))
    assert.equal(replaced, '<img src=media:g/gone.png><img srcset="media:g/gone.png 1x, /a.png 2x">')
  })

  it('propagate a signing failure', () => {
    const fail = () => {
      throw new Error('no key to sign with')
    }
    assert.throws(() => replaceMediaInHtml('<img src="media:g/a.png">', fail), /no key to sign with/)
  })

  it('are replaced in each candidate of a srcset, and nothing else is', () => {
    const html = '<img srcset=" ,media:g/a.png 320w,\n data:image/png;base64,AA== 1x, media:g/b.png, /c,d.png 2x ,,">'
    assert.deepEqual(mediaKeysInHtml(html), ['g/a.png', 'g/b.png'])
    const expected = html.replace(/media:(g\/[ab]\.png)/g, (_, key: string) => writtenAddressOf(key))
    assert.equal(replace(html), expected)
    assert.equal(restore(expected), html)
  })
})

describe('URLs that an editor sends back', () => {
  for (const html of [
    '<p>https://m.example/g/a.png</p>',
    '<p title="https://m.example/g/a.png">',
    '<!-- <img src="https://m.example/g/a.png"> -->',
    '<img src="https://elsewhere.example/g/a.png">',
    '<img src="//m.example/g/a.png">',
    '<img src="/g/a.png">',
    '<img src="ftp://m.example/g/a.png">',
    '<img src="https://m.example:port/g/a.png">',
    '<img src="https://">',
    '<img src="https://m.example/">', // keyOf returns an empty key
    '<img src="https://m.example/..%2Fa.png">', // keyOf returns an invalid key
    '<img src="https://m.example/%ff">', // keyOf throws
  ]) {
    it(`stay in ${JSON.stringify(html)}`, () => assert.equal(restore(html), html))
  }

  it('become references with the key as in the URL', () => {
    const html = `<IMG SRC=HTTPS://M.EXAMPLE/g/it's%20(1).png><a href='http://m.example/g/a%2Cb.pdf?x=1&amp;y=2'>`
    assert.equal(restore(html), `<IMG SRC="media:g/it&#39;s%20(1).png"><a href='media:g/a%2Cb.pdf'>`)
    assert.deepEqual(mediaKeysInHtml(restore(html)), ["g/it's (1).png", 'g/a,b.pdf'])
  })

  it('leave existing references unchanged', () => {
    assert.equal(restore('<img src=MEDIA:g/a.png>'), '<img src=MEDIA:g/a.png>')
  })
})

/** A part of a document, its delivered form, and the keys it references. */
interface Piece {
  html: string
  delivered: string
  keys: string[]
}

const segment = fc.string({ unit: fc.constantFrom(..."aB9_+@()=,'!~ -é麺"), minLength: 1, maxLength: 6 })
const someKey = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `g/${parts.join('/')}`)
const mixCase = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => [...text].map((letter, i) => (upper[i] ? letter.toUpperCase() : letter)).join(''))
const gap = fc.constantFrom('', ' ', '\n', '\t ')

/** Some of the characters as entities, the quotes always. */
const withEntities = (text: string) =>
  fc
    .array(fc.integer({ min: 0, max: 5 }), { minLength: text.length, maxLength: text.length })
    .map((chances) =>
      [...text].map((sign, i) => (chances[i] === 0 || sign === "'" ? `&#${sign.codePointAt(0)};` : sign)).join(''),
    )

const someReference = someKey.chain((key) =>
  mixCase('media').chain((scheme) =>
    withEntities(`${scheme}:${encodeMediaKey(key)}`).map((reference) => ({ key, reference })),
  ),
)

const simpleAttribute = fc
  .tuple(
    fc.constantFrom(['img', 'src'], ['a', 'href'], ['video', 'poster'], ['source', 'src'], ['track', 'src']),
    someReference,
    fc.constantFrom('"', "'", ''),
    fc.tuple(gap, gap, gap, gap),
  )
  .chain(([[tag = '', name = ''], { key, reference }, quote, [g1, g2, g3, g4]]) =>
    fc.tuple(mixCase(tag), mixCase(name)).map(([writtenTag, writtenName]): Piece => {
      const before = `<${writtenTag} alt="a > b" ${writtenName}${g1}=${g2}`
      const value = (text: string) => (quote === '' ? text : `${g3}${text}${g4}`)
      const newQuote = quote || '"'
      return {
        html: `${before}${quote}${value(reference)}${quote} id=x>`,
        delivered: `${before}${newQuote}${value(writtenAddressOf(key))}${newQuote} id=x>`,
        keys: [key],
      }
    }),
  )

const srcsetAttribute = fc
  .array(
    fc.oneof(
      someReference.map(({ key, reference }) => ({ html: reference, delivered: writtenAddressOf(key), keys: [key] })),
      fc.constantFrom('/other.png', 'data:image/png;base64,AA').map((it) => ({ html: it, delivered: it, keys: [] })),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .chain((candidates) =>
    fc.tuple(fc.constantFrom(' 1x, ', ', ', ' 320w,', '  2x\n,\n'), fc.constantFrom('img', 'source')).map(
      ([separator, tag]): Piece => ({
        html: `<${tag} srcset="${candidates.map(({ html }) => html).join(separator)}">`,
        // An attribute without replacements remains unchanged.
        delivered: `<${tag} srcset="${candidates.map(({ delivered }) => delivered).join(separator)}">`,
        keys: candidates.flatMap(({ keys }) => keys),
      }),
    ),
  )

const untouched = fc
  .tuple(
    someKey.map((key) => encodeMediaKey(key).replaceAll("'", '%27')),
    fc.constantFrom<(key: string) => string>(
      (key) => `text media:${key} & "quotes' &amp; <`,
      (key) => `<p src="media:${key}" title='<img src="media:${key}">'>`,
      (key) => `<!-- <img src="media:${key}"> -->`,
      (key) => `<script>'<a href="media:${key}">'</script>`,
      (key) => `<style><img src="media:${key}"></style>`,
      (key) => `<textarea><img src="media:${key}"></textarea>`,
      (key) => `<img src="media:../${key}" alt="media:${key}" data-src=media:${key}>`,
      (key) => `<img src="https://elsewhere.example/${key}?a&b=%zz">`,
      () => '<br/></p><!doctype html><?x y?><![x]>',
    ),
  )
  .map(([key, write]): Piece => ({ html: write(key), delivered: write(key), keys: [] }))

const someDocument = fc.array(fc.oneof(simpleAttribute, srcsetAttribute, untouched), { maxLength: 12 }).map(
  (pieces): Piece => ({
    html: pieces.map(({ html }) => html).join('\n'),
    delivered: pieces.map(({ delivered }) => delivered).join('\n'),
    keys: [...new Set(pieces.flatMap(({ keys }) => keys))],
  }),
)

/** Markup broken in every combination of its parts. */
const someSoup = fc
  .array(
    fc.constantFrom(
      ...['<', '>', '"', "'", '=', ' ', '/', '&', '&#', '#', ',', '<!--', '-->', '<img', ' src', ' srcset', '<a href='],
      ...[
        'media:g/a',
        'media:',
        'g/b',
        '&colon;',
        '&#109;',
        '<script>',
        '</script>',
        '<textarea',
        '<svg>',
        '<![CDATA[',
      ],
      ...['https://m.example/g/c', '\n', '%', '\u{1F35E}', '\ud800'],
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''))

describe('any document', () => {
  it('has exactly the references in the supported attributes replaced, and everything else unchanged', () => {
    fc.assert(
      fc.property(someDocument, ({ html, delivered, keys }) => {
        assert.deepEqual(mediaKeysInHtml(html), keys)
        assert.equal(replace(html), delivered)
      }),
      { numRuns: 1000 },
    )
  })

  it('has the same references after a round trip', () => {
    fc.assert(
      fc.property(someDocument, ({ html, delivered, keys }) => {
        const restored = restore(replace(html))
        assert.deepEqual(mediaKeysInHtml(restored), keys)
        assert.equal(replace(restored), delivered)
        assert.equal(restore(restored), restored)
      }),
      { numRuns: 500 },
    )
  })

  it('parses the same after a replacement, however broken it is', () => {
    fc.assert(
      fc.property(someSoup, (html) => {
        assert.equal(
          replaceMediaInHtml(html, () => undefined),
          html,
        )
        const known = restore(html)
        assert.deepEqual(mediaKeysInHtml(replace(known)), [])
        assert.deepEqual(mediaKeysInHtml(restore(replace(known))), mediaKeysInHtml(known))
      }),
      { numRuns: 5000 },
    )
  })
})

describe('many hostile characters', () => {
  type Fill = (part: string) => string
  const hostile: Record<string, (fill: Fill) => string> = {
    'tags in tags': (fill) => fill('<a'),
    'attributes without end': (fill) => fill('<a href='),
    'an unclosed quote': (fill) => `<img src="${fill('media:g/a ')}`,
    'quotes in quotes': (fill) => fill(`<a href="'`),
    'ampersands in text': (fill) => fill('&'),
    'ampersands in an attribute': (fill) => `<a href="${fill('&am')}">`,
    'entities in an attribute': (fill) => `<a href="${fill('&#109;')}">`,
    'one endless entity': (fill) => `<a href="&#${fill('0')}">`,
    'commas in a srcset': (fill) => `<img srcset="x${fill(',')}x">`,
    'candidates of a srcset': (fill) => `<img srcset="${fill('media:g/a ,')}">`,
    'white space around a value': (fill) => `<img src${fill(' ')}="${fill(' ')}x">`,
    'a long name of a tag with many attributes': (fill) => `<${fill('a')}${fill(' src=x')}>`,
    'comments in comments': (fill) => fill('<!--'),
    'almost closed scripts': (fill) => `<script>${fill('</scrip')}`,
    'percent signs': (fill) => `<img src="media:${fill('%41')}">`,
    references: (fill) => fill('<img src=media:g/a.png>'),
    addresses: (fill) => fill('<a href=https://m.example/g/a>'),
  }
  for (const [name, html] of Object.entries(hostile)) {
    it(`are processed in time linear in their number: ${name}`, async () => {
      const make = (length: number) => `<img src="media:g/a.png">${html((part) => part.repeat(length / part.length))}`
      for (const work of [mediaKeysInHtml, replace, restore]) await assertLinear(make, work)
    })
  }
})
