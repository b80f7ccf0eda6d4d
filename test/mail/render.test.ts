import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Parser } from 'htmlparser2'
import type { MessageContent } from '../../src/content/mail.ts'
import { toPlainText, wordsOf } from '../../src/mail/plain-text.ts'
import { renderMessage } from '../../src/mail/render.ts'
import { sanitiseBox, sanitiseCustom } from '../../src/mail/sanitise.ts'
import type { SiteLook } from '../../src/mail/site-look.ts'

const look: SiteLook = { name: 'Demo Bakery', domainName: 'demo.example', colors: {}, logo: undefined }
const visitor = { name: 'Ann Lee', email: 'ann@example.com', message: 'Two loaves & a roll,\nplease <3' }

function render(content: Partial<MessageContent>, site: SiteLook = look) {
  return renderMessage({ subject: 'The subject', content: { siteName: 'Demo Bakery', ...content } }, site)
}

/** How often a text occurs in the visible part of an e-mail. */
function timesShown(html: string, words: string): number {
  const shown = html.replace(/<div [^>]*display:none[^>]*>.*?<\/div>/, '').replace(/<head>.*<\/head>/s, '')
  return wordsOf(toPlainText(shown)).split(wordsOf(words)).length - 1
}

describe('a contact e-mail', () => {
  it('names the sender, their message, and how to reply', () => {
    const { html, text } = render({ visitor })
    assert.equal(timesShown(html, 'New message from Ann Lee'), 1)
    assert.match(html, /<a href="mailto:ann@example.com"[^>]*>ann@example.com<\/a>/)
    assert.match(html, /Two loaves &amp; a roll,<br>please &lt;3/)
    assert.equal(
      text,
      'New message from Ann Lee\n\nAnn Lee <ann@example.com> wrote:\n\nTwo loaves & a roll,\nplease <3\n\n-- \nDemo Bakery\nhttps://demo.example\n',
    )
  })

  it('has the four given texts', () => {
    const texts = { title: 'A title', subtitle: 'A subtitle', signature: 'A signature\nof two lines' }
    const { html, text } = render({ ...texts, whiteBoxHtml: sanitiseBox('<b>A box</b>'), visitor })
    for (const words of ['A title', 'A subtitle', 'A box', 'A signature of two lines', visitor.message])
      for (const form of [html, text]) assert.equal(timesShown(form.replaceAll('\n', '<br>'), words), 1, words)
    assert.ok(!html.includes('New message from'))
  })

  it('contains the message once, whether or not the white box repeats it', () => {
    const box = (markup: string) => render({ whiteBoxHtml: sanitiseBox(markup), visitor, title: 'Hello' })
    for (const { html, text } of [
      box('Two loaves &amp; a roll,\nplease <3'),
      box('<p>They wrote: <i>Two loaves &amp; a roll,<br>please &lt;3</i></p>'),
      box('<p>Two loaves</p>'),
    ]) {
      assert.equal(timesShown(html, visitor.message), 1)
      assert.equal(wordsOf(text).split(wordsOf(visitor.message)).length - 1, 1)
      assert.equal(timesShown(html, 'ann@example.com'), 1)
    }
  })

  it('does not mistake a few coinciding words for the message', () => {
    const { text } = render({ whiteBoxHtml: 'Here is the book order', visitor: { name: 'Al', message: 'order' } })
    assert.match(text, /Al wrote:\n\norder\n/)
    const same = render({ whiteBoxHtml: 'order', title: 'Also', visitor: { name: 'Al', message: 'order' } })
    assert.match(same.text, /^Also\n\norder\n\nFrom Al\n/)
  })

  it('does not repeat the visitor’s name when the white box has it', () => {
    const { html } = render({
      whiteBoxHtml: sanitiseBox(`${visitor.name} ${visitor.email}: ${visitor.message}`),
      visitor,
    })
    assert.equal(timesShown(html, 'ann@example.com'), 1)
    assert.equal(html.match(/class="box"/g)?.length, 1)
  })

  it('supports any text direction', () => {
    const { html } = render({ visitor: { name: 'דנה', message: 'שלום' } })
    assert.match(html, /<div lang="" dir="auto"[^>]*>שלום<\/div>/)
  })
})

describe('an order confirmation', () => {
  const whiteBoxHtml = sanitiseBox(
    '<p>Thanks!</p><table><tr><th>Item</th><th>Price</th></tr><tr><td>Loaf</td><td>$8.50</td></tr><tr><td>One cell</td></tr></table>',
  )
  const content = { title: 'Your order', subtitle: 'It is on its way', whiteBoxHtml, signature: 'Mara' }

  it('shows the four texts, with prices right-aligned', () => {
    const { html, text } = render(content)
    assert.match(html, /<th style="[^"]*text-align:right[^"]*">Price</)
    assert.match(html, /<td style="[^"]*text-align:right;[^"]*white-space:nowrap">\$8\.50</)
    assert.match(html, /<td style="[^"]*text-align:left[^"]*">Loaf</)
    assert.match(html, /<td style="[^"]*text-align:left[^"]*">One cell</)
    assert.equal(
      text,
      'Your order\n\nIt is on its way\n\nThanks!\n\nItem       Price\nLoaf       $8.50\nOne cell\n\nMara\n\n-- \nDemo Bakery\nhttps://demo.example\n',
    )
  })

  it('shows the logo, or else the site’s name', () => {
    const logo = { content: Buffer.from('x'), contentType: 'image/png', width: 120, height: 40 }
    assert.match(
      render(content, { ...look, logo }).html,
      /<img class="logo" src="cid:logo" width="120" height="40" alt="Demo Bakery"/,
    )
    const plain = render(content)
    assert.ok(!plain.html.includes('cid:logo'))
    assert.equal(timesShown(plain.html, 'Demo Bakery'), 2) // above and below
  })

  it('has no link to a site without a domain', () => {
    const { html, text } = render(content, { ...look, domainName: '' })
    assert.ok(!html.includes('<a '))
    assert.ok(text.endsWith('-- \nDemo Bakery\n'))
  })
})

describe('a notification about submissions', () => {
  const review = {
    collection: 'Reviews',
    createdMs: Date.UTC(2026, 2, 1, 12, 5),
    waits: true,
    fields: [
      { name: 'rating', text: '5' },
      { name: 'body', text: 'Good\nbread' },
    ],
  }

  it('lists each, marks those awaiting approval, and counts the ones not listed', () => {
    const submissions = [review, { ...review, waits: false }]
    const { html, text } = render({ title: '5 new submissions', submissions, furtherSubmissions: 3 })
    assert.equal(timesShown(html, '5 new submissions'), 1)
    assert.equal(timesShown(html, '2026-03-01 12:05 UTC'), 2)
    assert.equal(timesShown(html, 'Waits for your approval'), 1)
    assert.equal(timesShown(html, 'And 3 more.'), 1)
    const listed = 'rating: 5\nbody: Good\n  bread'
    assert.equal(
      text,
      `5 new submissions\n\nReviews, 2026-03-01 12:05 UTC\nWaits for your approval.\n${listed}\n\nReviews, 2026-03-01 12:05 UTC\n${listed}\n\nAnd 3 more.\n\n-- \nDemo Bakery\nhttps://demo.example\n`,
    )
  })

  it('mentions no others when there are none', () => {
    const { html } = render({ title: 'New review', submissions: [review] })
    assert.equal(timesShown(html, 'New review'), 1)
    assert.equal(timesShown(html, 'more'), 0)
  })
})

describe('an e-mail with customHtml', () => {
  it('replaces the template', () => {
    const { html, text } = render({
      customHtml: sanitiseCustom('<h1>Mine</h1><p>Two loaves &amp; a roll, please &lt;3</p>'),
      visitor,
    })
    assert.equal(
      html,
      '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n</head>\n<body>\n<h1>Mine</h1><p>Two loaves &amp; a roll, please &lt;3</p>\n</body>\n</html>\n',
    )
    assert.equal(text, 'Mine\n\nTwo loaves & a roll, please <3')
  })

  it('has the message in its plain text even when the markup omits it', () => {
    const { text } = render({ customHtml: '<p>Somebody wrote.</p>', visitor })
    assert.equal(text, 'Somebody wrote.\n\nAnn Lee <ann@example.com> wrote:\n\nTwo loaves & a roll,\nplease <3')
  })
})

describe('every e-mail', () => {
  it('has a plain-text part, even when its markup has no text', () => {
    assert.equal(render({ customHtml: '<hr />' }).text, '--------------------')
    assert.equal(render({ customHtml: '<p></p>' }).text, 'The subject')
  })

  const known = 'html head meta title style body div table tr td h1 img span a br'.split(' ')

  it('escapes all texts', () => {
    const hostile = fc.oneof(
      fc.constantFrom(
        '<script>hit()</script>',
        '"><img src=x onerror=hit()>',
        '{{7*7}}',
        "';--",
        '&amp;',
        '$&',
        '</title><script>',
      ),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
    )
    const submissions = fc.array(
      fc.record({
        collection: hostile,
        createdMs: fc.integer({ min: 0, max: 4e12 }),
        waits: fc.boolean(),
        fields: fc.array(fc.record({ name: hostile, text: hostile }), { maxLength: 2 }),
      }),
      { maxLength: 2 },
    )
    const contents = fc.record(
      {
        title: hostile,
        subtitle: hostile,
        signature: hostile,
        visitor: fc.record({ name: hostile, message: hostile, email: hostile }),
        submissions,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(contents, hostile, hostile, (content, name, domainName) => {
        const logo = { content: Buffer.from('x'), contentType: 'image/png', width: 1, height: 1 }
        const { html, text } = render(content, { ...look, name, domainName, logo })
        const parser = new Parser({
          onopentag(tag, attributes) {
            assert.ok(known.includes(tag), `<${tag}>`)
            assert.deepEqual(
              Object.keys(attributes).filter((attribute) => attribute.startsWith('on')),
              [],
            )
          },
        })
        parser.end(html.replace(/<style>.*?<\/style>/s, ''))
        const { message = '' } = content.visitor ?? {}
        assert.ok(wordsOf(text).includes(wordsOf(message)))
      }),
      { numRuns: 300 },
    )
  })

  it('has a preview text', () => {
    const preview = /display:none[^>]*>([^<]*?)(?:&#8199;|<)/.exec(render({ visitor }).html)?.[1]
    assert.equal(preview, 'Two loaves &amp; a roll, please &lt;3')
  })

  it('hides its preview text without a colour of its own, so there is no low-contrast text', () => {
    const style = /<div [^>]*style="(display:none[^"]*)"/.exec(render({ visitor }).html)?.[1] ?? ''
    const properties = style.split(';').map((declaration) => declaration.split(':')[0])
    for (const property of ['display', 'max-height', 'overflow', 'opacity']) assert.ok(properties.includes(property))
    assert.ok(!properties.includes('color'))
  })

  it('has a layout for phones, dark mode and Outlook', () => {
    const { html } = render({ visitor })
    for (const part of [
      '@media (max-width: 600px)',
      '@media (prefers-color-scheme: dark)',
      '[data-ogsc]',
      '<!--[if mso]>',
      'name="color-scheme"',
      'name="supported-color-schemes"',
    ])
      assert.ok(html.includes(part), part)
  })
})
