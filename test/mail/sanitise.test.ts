import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { sanitiseBox, sanitiseCustom, TooManyTags } from '../../src/mail/sanitise.ts'
import { assertLinear } from '../helpers/growth.ts'
import { hostileMarkup } from '../helpers/hostile-markup.ts'

const sanitisers = { sanitiseBox, sanitiseCustom }

interface Tag {
  name: string
  attributes: Record<string, string>
}

function tagsIn(html: string): Tag[] {
  const tags: Tag[] = []
  const parser = new Parser({
    onopentag: (name, attributes) => void tags.push({ name, attributes }),
    oncomment: (comment) => assert.fail(`a comment is left: ${comment}`),
    onprocessinginstruction: (_, text) => assert.fail(`a declaration is left: ${text}`),
  })
  parser.end(html)
  return tags
}

const harmlessTags = new Set(
  'p br hr b strong i em u s small sub sup span div code pre blockquote h1 h2 h3 h4 h5 h6 ul ol li dl dt dd a table thead tbody tfoot tr th td caption colgroup col section center font img'.split(
    ' ',
  ),
)
const harmlessAttributes = new Set(
  'href rel target colspan rowspan start type style dir lang align valign title role src alt width height border bgcolor cellpadding cellspacing nowrap span color face size'.split(
    ' ',
  ),
)

function assertInert(html: string): void {
  for (const { name, attributes } of tagsIn(html)) {
    assert.ok(harmlessTags.has(name), `<${name}> is left in ${html}`)
    for (const [attribute, value] of Object.entries(attributes)) {
      assert.ok(harmlessAttributes.has(attribute), `${attribute}= is left in ${html}`)
      if (attribute === 'href') assert.match(value, /^(?:https?:\/\/|mailto:)/)
      if (attribute === 'src') assert.match(value, /^https:\/\//)
      if (attribute === 'style')
        assert.doesNotMatch(value, /url|expression|import|position|behaviou?r|binding|[\\@{}<>]/i)
    }
  }
}

describe('untrusted markup', () => {
  for (const [name, sanitise] of Object.entries(sanitisers)) {
    for (const markup of hostileMarkup)
      it(`${name} makes inert: ${JSON.stringify(markup).slice(0, 60)}`, () => assertInert(sanitise(markup)))

    it(`${name} makes any combination of such fragments inert`, () => {
      const piece = fc.oneof(
        fc.constantFrom(...hostileMarkup),
        fc.constantFrom(
          '<',
          '>',
          '"',
          "'",
          '/',
          '<!--',
          '-->',
          '<![CDATA[',
          ']]>',
          '<table>',
          '</td>',
          '&lt;',
          '\0',
          '<p ',
          '=',
        ),
        fc.string({ maxLength: 8 }),
      )
      fc.assert(
        fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => assertInert(sanitise(pieces.join('')))),
        { numRuns: 500 },
      )
    })

    it(`${name} preserves the text of tags that are unclosed or nested 2,000 deep`, () => {
      assert.match(sanitise('<p>one <b>two <i>three'), /<p>one <b>two <i>three<\/i><\/b><\/p>/)
      const deep = sanitise(`${'<div>'.repeat(2000)}the words${'</div>'.repeat(2000)}`)
      assert.match(deep, /the words/)
      assertInert(deep)
    })

    it(`${name} refuses more than 5,000 tags before parsing any, and accepts exactly that many`, () => {
      const shapes = [
        '<dt>a<dd>b',
        '<p>',
        '</p>',
        '<b>a</b>',
        '<td>',
        '<!-- -->',
        '<?x>',
        '<x>',
        '<script>',
        '<svg/>',
        '<li>a\n',
      ]
      for (const shape of shapes) assert.throws(() => sanitise(`<p>${shape.repeat(5000)}`), TooManyTags, shape)
      assert.match(sanitise('<p>a</p>'.repeat(2500)), /^(<p>a<\/p>){2500}$/)
      assert.match(sanitise(`<p>${'a < b, c > d & e, <3\n'.repeat(8000)}</p>`), /a &lt; b/)
    })

    it(`${name} takes time linear in the length`, async () => {
      const endless: ((characters: number) => string)[] = [
        (length) => '<'.repeat(length),
        (length) => '<b>'.repeat(length / 3),
        (length) => '<b>'.repeat(length / 6) + '</i>'.repeat(length / 8),
        (length) => '<b>'.repeat(990) + '</i>'.repeat(length / 4),
        (length) => '<img>x'.repeat(length / 6),
        (length) => `<p style="${'{'.repeat(length)}">`,
        (length) => `<p style="color:${'rgb(1)'.repeat(length / 6)}">`,
        (length) => `<a ${'a '.repeat(length / 2)}>`,
        (length) => '<iframe>'.repeat(length / 8),
        (length) => '<!--'.repeat(length / 4),
        (length) => '&'.repeat(length),
        (length) => '<p>x</p>'.repeat(600) + '\u0315\u0300'.repeat(length / 2),
        (length) => `<p style="${'color:red;'.repeat(length / 10)}">`,
        (length) => `<pre>${' '.repeat(length)}x`,
      ]
      const attempt = (html: string): void => {
        try {
          sanitise(html)
        } catch (error) {
          assert.ok(error instanceof TooManyTags)
        }
      }
      for (const make of endless) await assertLinear(make, attempt)
    })
  }
})

describe('the white box of an e-mail', () => {
  it('preserves simple markup', () => {
    const markup =
      '<h2>Order</h2><p>Two <b>loaves</b>, <em>sliced</em></p><ul><li>one</li></ul><table><thead><tr><th>a</th></tr></thead><tbody><tr><td colspan="2">b</td></tr></tbody></table><blockquote>c</blockquote>'
    assert.equal(sanitiseBox(markup), markup)
  })

  it('removes styles, classes, ids and images', () => {
    assert.equal(
      sanitiseBox('<p style="color:red" class="x" id="y">a<img src="https://x.example/y.png"></p>'),
      '<p>a</p>',
    )
  })

  it('opens links in a window without access to the e-mail', () => {
    assert.equal(
      sanitiseBox('<a href="https://x.example/?a=1&amp;b=2" target="top">b</a>'),
      '<a href="https://x.example/?a=1&amp;b=2" rel="noopener noreferrer nofollow" target="_blank">b</a>',
    )
    assert.match(sanitiseBox('<a href="mailto:a@x.example">b</a>'), /href="mailto:a@x.example"/)
    for (const href of ['/relative', '//x.example', 'ftp://x.example', 'https://user:password@x.example', 'tel:1', ''])
      assert.equal(sanitiseBox(`<a href="${href}">b</a>`), '<a>b</a>')
  })

  it('shows plain text as it was written, line by line', () => {
    assert.equal(
      sanitiseBox('Tom & Jerry <3\r\na < b\nAnn <ann@example.com> {{x}} $' + '{y} <%= z %>'),
      'Tom &amp; Jerry &lt;3<br />a &lt; b<br />Ann &lt;ann@example.com&gt; {{x}} $' + '{y} &lt;%= z %&gt;',
    )
    assert.equal(sanitiseBox('<script>alert(1)</script>'), '&lt;script&gt;alert(1)&lt;/script&gt;')
  })

  it('counts line breaks like tags', () => {
    assert.throws(() => sanitiseBox('\n'.repeat(5001)), TooManyTags)
    assert.ok(sanitiseBox('a\n'.repeat(5000)))
  })

  it('decodes character references once', () => {
    assert.equal(sanitiseBox('Fish &amp; Chips &nope; &#39;x&#39;'), "Fish &amp; Chips &amp;nope; 'x'")
  })

  it('preserves angle brackets that are not tags', () => {
    assert.equal(
      sanitiseBox('<p>I <3 you, Ann <ann@example.com></p>'),
      '<p>I &lt;3 you, Ann &lt;ann@example.com&gt;</p>',
    )
  })

  it('limits the column span of a cell to the possible maximum', () => {
    assert.equal(sanitiseBox('<td colspan="100000000" rowspan="-1">a</td>'), '<td>a</td>')
  })
})

describe('customHtml', () => {
  it('preserves tables, images and their styles', () => {
    const markup =
      '<table width="600" align="center" bgcolor="#ffffff" cellpadding="0" cellspacing="0" border="0"><tr><td style="padding:0 10px;color:#333;font-family:Arial, sans-serif"><img src="https://x.example/a.png" alt="" width="10" height="5" /></td></tr></table>'
    assert.equal(sanitiseCustom(markup), markup)
  })

  it('removes the head, forms, comments, and Outlook’s conditional markup', () => {
    assert.equal(
      sanitiseCustom(
        '<!doctype html><html><head><title>T</title><style>p{}</style><base href="https://x"><meta http-equiv="refresh" content="0"><link rel="stylesheet" href="https://x"></head><body><!--[if mso]><b>x</b><![endif]--><![if !mso]><p>a</p><![endif]><form action="https://x"><input value="b">c</form></body></html>',
      ),
      '<p>a</p>c',
    )
  })

  it('removes styles that load, cover or execute something, and images that are not https', () => {
    assert.equal(
      sanitiseCustom(
        '<p style="color:red;background:url(https://x);position:fixed;width:expression(alert(1));-moz-binding:url(x);background-image:image-set(x);c\\olor:blue;color:rgb(1, 2, 3)">a</p><img src="http://x.example/a.png">',
      ),
      '<p style="color:red;color:rgb(1, 2, 3)">a</p>',
    )
  })
})
