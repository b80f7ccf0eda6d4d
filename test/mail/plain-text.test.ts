import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toPlainText, wordsOf, wrapText } from '../../src/mail/plain-text.ts'
import { sanitiseBox, sanitiseCustom } from '../../src/mail/sanitise.ts'
import { assertLinear } from '../helpers/growth.ts'

const textOf = (markup: string): string => toPlainText(sanitiseBox(markup))

describe('markup as plain text', () => {
  it('shows the target of each link once', () => {
    assert.equal(
      textOf(
        '<p>See <a href="https://x.example/faq">our answers</a>, <a href="https://x.example/">https://x.example/</a> or <a href="mailto:a@x.example">write</a>.</p>',
      ),
      'See our answers (https://x.example/faq), https://x.example/ or write\n(a@x.example).',
    )
  })

  it('shows the lines of an order one below the other', () => {
    const order = `<table><thead><tr><th>Item</th><th>Qty</th><th>Price</th></tr></thead><tbody>
      <tr><td>Sourdough, large</td><td>2</td><td>$17.00</td></tr><tr><td>Roll</td><td>12</td><td>$9.50</td></tr>
      <tr><td colspan="2"><b>Total</b></td><td><b>$26.50</b></td></tr></tbody></table>`
    assert.equal(
      textOf(order),
      [
        'Item               Qty    Price',
        'Sourdough, large   2     $17.00',
        'Roll               12     $9.50',
        'Total                    $26.50',
      ].join('\n'),
    )
  })

  it('shows a table that is too wide for a line cell by cell', () => {
    const row = `<tr>${Array.from({ length: 9 }, (_, n) => `<td>cell ${n}</td>`).join('')}</tr>`
    assert.equal(textOf(`<table>${row}</table>`), Array.from({ length: 9 }, (_, n) => `cell ${n}`).join('\n'))
  })

  it('shows lists, headings, quotes and rules as a person would type them', () => {
    assert.equal(
      textOf('<h2>Hours</h2><ul><li>one</li><li>two</li></ul><ol><li>a</li></ol><blockquote>so</blockquote><hr>end'),
      'Hours\n\n- one\n- two\n\n 1. a\n\n> so\n\n--------------------\n\nend',
    )
  })

  it('ignores tables that are only used for layout', () => {
    const page =
      '<table width="100%"><tr><td><table><tr><td><h1>Hi</h1></td><td>there</td></tr></table></td></tr></table><img src="https://x.example/a.png" alt="A cake">'
    assert.equal(toPlainText(sanitiseCustom(page)), 'Hi   there\n\nA cake')
  })

  it('wraps long lines, but never a URL', () => {
    const address = `https://x.example/${'a'.repeat(100)}`
    const lines = textOf(`<p>${'some words '.repeat(40)}<a href="${address}">${address}</a></p>`).split('\n')
    assert.ok(lines.includes(address))
    assert.ok(lines.filter((line) => line !== address).every((line) => line.length <= 78))
    assert.ok(
      wrapText('some words '.repeat(40))
        .split('\n')
        .every((line) => line.length <= 78),
    )
    assert.equal(wrapText('one\r\ntwo\n\nthree'), 'one\ntwo\n\nthree')
  })

  it('has the text of a stored message with more tags than are accepted now', () => {
    const html = `<h1>Your &lt;order&gt; &amp; more</h1><dl>${'<dt>a</dt><dd>b&nbsp;c</dd>'.repeat(20_000)}</dl>`
    const lines = toPlainText(html).split('\n')
    assert.equal(lines[0], 'Your <order> & more')
    assert.equal(lines.filter((line) => line.trim() === 'b c').length, 20_000)
  })

  it('takes time linear in the length', async () => {
    const endless: ((characters: number) => string)[] = [
      (length) => '<'.repeat(length),
      (length) => `${'<blockquote>'.repeat(50)}${'<p>x</p>'.repeat(length / 8)}`,
      (length) => `<table><tr>${'<td>x'.repeat(length / 10)}${'<tr><td>'.repeat(length / 16)}`,
      (length) => `${'<table><tr><td>a<td>'.repeat(14)}${'x '.repeat(length / 2)}`,
      (length) => `<table><tr><td>a<td>${'x<br>'.repeat(length / 5)}`,
      (length) => `${'<ul><li>'.repeat(25)}${'x '.repeat(length / 2)}`,
      (length) => '<a href="https://x.example/">x</a>'.repeat(length / 35),
      (length) => '<dt>a</dt><dd>b</dd>'.repeat(length / 20),
      (length) => `<pre>${' '.repeat(length)}x</pre>`,
      (length) => `<pre>${'\t'.repeat(length)}x</pre>`,
    ]
    for (const make of endless) await assertLinear(make, toPlainText)
    await assertLinear((length) => '\u0315\u0300'.repeat(length / 2), wordsOf)
    await assertLinear((length) => '\uff9e\u0315'.repeat(length / 2), wordsOf)
    await assertLinear((length) => 'a '.repeat(length / 2), wrapText)
  })
})
