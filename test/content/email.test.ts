import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isEmailAddress } from '../../src/content/email.ts'

describe('an e-mail address', () => {
  const good = [
    'a@b.c', 'hello@demo.example', 'first.last+tag@mail.example.co.uk', "o'neil@example.com", 'root@localhost',
    'x_y-z@xn--bcher-kva.example', 'info@bücher.example', 'A.B@Example.COM', `${'a'.repeat(64)}@example.com`,
    `a@${'b'.repeat(63)}.example`,
  ] // biome-ignore format: one line reads better
  for (const address of good) it(`may be ${address}`, () => assert.ok(isEmailAddress(address)))

  const bad = [
    '', '@', 'a', 'a@', '@b.c', 'a@b', 'a@b@c.d', 'a@b.c@d.e', 'a@b.c@', 'a@@b.c', ' a@b.c', 'a@b.c ', 'a b@c.d', 'a@b .c', '.a@b.c', 'a.@b.c',
    'a..b@c.d', 'a@.b.c', 'a@b..c', 'a@b.c.', 'a@-b.c', 'a@b-.c', 'a@[127.0.0.1]', 'a@b_c.d', 'a@b.c:25', 'Ann <a@b.c>',
    '<a@b.c>', '"a b"@c.d', '"a"@b.c', 'a(x)@b.c', 'a@b.c,d@e.f', 'a@b.c;d@e.f', 'a@b.c\r\nBcc: d@e.f', 'a@b.c\n', 'a\0@b.c',
    'a@b.c\0', 'a\t@b.c', 'a\\@b.c', 'mailto:a@b.c', 'a@b.c?cc=d', 'a%c.d@b.c', 'b.c!a@d.e', '|cmd@b.c', '`cmd`@b.c', 'ü@b.c', 'a＠b.c', 'a@b。c', 'a\u202E@b.c', 'a\uD83E@b.c',
    '=?utf-8?q?x=40y.z?=@b.c', 'a=?b@c.d', 'a@xn--bcher-k.va.example', 'a@xn--a.b', 'a@0x7f.1', 'a@１２７.0.0.1', 'a@1.2.3.4', `${'a'.repeat(65)}@b.c`, `a@${'b'.repeat(64)}.c`, `a@${'b.'.repeat(126)}c`,
  ] // biome-ignore format: one line reads better
  for (const address of bad) {
    it(`must not be ${JSON.stringify(address.slice(0, 60))}`, () => assert.equal(isEmailAddress(address), false))
  }

  /** Parts of addresses and of attacks with them. */
  const piece = fc.constantFrom(
    'a', 'b.c', '@', '.', '-', 'demo.example', 'localhost', '\r', '\n', '\0', ',', ';', '<', '>', '"', ' ', '\t', '%0d',
    '\\', '(', ')', ':', 'Bcc:', '\u2028', '\u0085', '\u00A0', '\u007F', 'é', '🥐', '\uD83E',
  ) // biome-ignore format: one line reads better

  it('has exactly one @, and nothing that ends a header, separates addresses or quotes', () => {
    const text = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.tuple(piece, fc.emailAddress(), piece).map((pieces) => pieces.join('')),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(text, (address) => {
        if (!isEmailAddress(address)) return
        assert.equal(address.split('@').length, 2)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
        assert.doesNotMatch(address, /[\u0000-\u0020\u007F-\u00A0\u2028\u2029,;:<>"()\\]/)
      }),
      { numRuns: 10_000 },
    )
  })

  it('is invalid with one bad character anywhere in it', () => {
    const bad = ['\r', '\n', '\r\n', '\0', ',', ';', '<', '>', '"', '@', ' ', '\t', '\u007F', '\u2028']
    fc.assert(
      fc.property(fc.emailAddress(), fc.nat(), (address, position) => {
        fc.pre(!/=\?|[%!|`]/.test(address))
        assert.ok(isEmailAddress(address))
        const at = position % (address.length + 1)
        for (const character of bad) {
          const broken = address.slice(0, at) + character + address.slice(at)
          assert.equal(isEmailAddress(broken), false, JSON.stringify(broken))
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('is rejected quickly when the text is very long', () => {
    for (const text of ['a'.repeat(1e6), 'a.'.repeat(5e5), `a@${'b-'.repeat(5e5)}`, '@'.repeat(1e6)]) {
      assert.equal(isEmailAddress(text), false)
    }
  })
})
