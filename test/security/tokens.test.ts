import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import {
  displayPrefix,
  hashSecret,
  isApiKey,
  isPreviewToken,
  makeApiKey,
  makePreviewToken,
} from '../../src/security/tokens.ts'
import { createHarness } from '../helpers/harness.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The value of base 62 digits, implemented independently of the code under test. */
const fromBase62 = (text: string): bigint =>
  [...text].reduce((value, digit) => value * 62n + BigInt(alphabet.indexOf(digit)), 0n)

const kinds = [
  { name: 'an API key', make: makeApiKey, is: isApiKey, isOther: isPreviewToken, prefix: 'slc_live_' },
  { name: 'a preview token', make: makePreviewToken, is: isPreviewToken, isOther: isApiKey, prefix: 'slc_preview_' },
]

for (const { name, make, is, isOther, prefix } of kinds) {
  describe(name, () => {
    it('is its prefix, 43 base62 characters, _ and the 6-character base62 CRC32 of what precedes', () => {
      for (let round = 0; round < 200; round += 1) {
        const [whole, body = '', secret = '', checksum = ''] =
          new RegExp(`^(${prefix}([0-9A-Za-z]{43}))_([0-9A-Za-z]{6})$`).exec(make()) ?? []
        assert.ok(whole)
        assert.ok(fromBase62(secret) < 2n ** 256n)
        assert.equal(fromBase62(checksum), BigInt(crc32(body)))
      }
    })

    it('is accepted as generated, and not as another kind', () => {
      for (let round = 0; round < 200; round += 1) {
        const secret = make()
        assert.ok(is(secret))
        assert.equal(isOther(secret), false)
      }
    })

    it('never repeats, and uses all of its 256 bits', () => {
      const secrets = Array.from({ length: 1000 }, () => fromBase62(make().slice(prefix.length, prefix.length + 43)))
      assert.equal(new Set(secrets).size, 1000)
      assert.equal(
        secrets.reduce((all, secret) => all | secret),
        2n ** 256n - 1n,
      )
      assert.equal(
        secrets.reduce((all, secret) => all & secret),
        0n,
      )
    })

    it('is refused when any single character is changed', () => {
      const character = fc.oneof(fc.constantFrom(...alphabet, '_', '-'), fc.string({ unit: 'grapheme', minLength: 1 }))
      fc.assert(
        fc.property(fc.nat(), character, (at, replacement) => {
          const secret = make()
          const position = at % secret.length
          const changed = secret.slice(0, position) + replacement + secret.slice(position + 1)
          assert.equal(is(changed), changed === secret)
        }),
        { numRuns: 3000 },
      )
    })

    it('is refused when two neighbours are swapped, or a character is missing or added', () => {
      fc.assert(
        fc.property(fc.nat(), (at) => {
          const secret = make()
          const position = at % (secret.length - 1)
          const [a = '', b = ''] = secret.slice(position, position + 2)
          const swapped = secret.slice(0, position) + b + a + secret.slice(position + 2)
          assert.equal(is(swapped), swapped === secret)
          assert.equal(is(secret.slice(0, position) + secret.slice(position + 1)), false)
          assert.equal(is(`${secret.slice(0, position)}0${secret.slice(position)}`), false)
        }),
        { numRuns: 1000 },
      )
    })

    it('is refused with anything around it, or when empty', () => {
      const secret = make()
      const wrong = [
        '',
        prefix,
        ` ${secret}`,
        `${secret} `,
        `${secret}\n`,
        `\n${secret}`,
        `${secret}\0`,
        `Bearer ${secret}`,
      ]
      for (const text of [...wrong, secret.toLowerCase(), secret.toUpperCase(), secret + secret]) {
        assert.equal(is(text), false, JSON.stringify(text))
      }
    })
  })
}

describe('a stored secret', () => {
  it('is its SHA-256', () => {
    const key = makeApiKey()
    assert.equal(hashSecret(key), createHash('sha256').update(key).digest('hex'))
  })

  it('shows the kind and 4 of the 43 secret characters, and none of the checksum', () => {
    const key = makeApiKey()
    assert.equal(displayPrefix(key), key.slice(0, 'slc_live_'.length + 4))
    const token = makePreviewToken()
    assert.equal(displayPrefix(token), token.slice(0, 'slc_preview_'.length + 4))
  })

  it('is all that the database and the log contain: no key can be read from them', async () => {
    const { newGroup, service, log, close } = await createHarness('sqlite')
    try {
      const { key, get } = await newGroup()
      await get('/tenant/siteDetails?siteId=x')
      const rows = await service.store.control.read.selectFrom('api_keys').selectAll().execute()
      const kept = JSON.stringify(rows) + log()
      const secret = key.slice('slc_live_'.length)
      assert.ok(kept.includes(hashSecret(key)))
      // At most the part that may be shown.
      for (let start = 0; start + 6 <= secret.length; start += 1) {
        assert.ok(!kept.includes(secret.slice(start, start + 6)))
      }
    } finally {
      await close()
    }
  })
})
