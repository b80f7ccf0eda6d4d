import assert from 'node:assert/strict'
import { createHash, createVerify, generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { AppError } from '../../src/core/errors.ts'
import { createComposer, type MailParts } from '../../src/mail/compose.ts'
import { temporaryFolder } from '../helpers/pictures.ts'

const unsigned = { mailDkimDomain: undefined, mailDkimSelector: undefined, mailDkimPrivateKey: undefined }
const compose = createComposer(unsigned)

const letter: MailParts = {
  from: { name: 'Demo Bakery', address: 'mail@demo.example' },
  to: 'ann@example.com',
  replyTo: 'hello@demo.example',
  subject: 'Thank you',
  messageId: '65f0@demo.example',
  dateMs: Date.UTC(2026, 2, 1, 12),
  html: '<p>Hello <img src="cid:logo"></p>',
  text: 'Hello',
  logo: { content: Buffer.from('a picture'), contentType: 'image/png', width: 10, height: 10 },
  isAutomatic: false,
  canDkimSign: true,
}

const headersOf = (raw: Buffer): string => raw.toString('latin1').split('\r\n\r\n')[0] as string
const valuesOf = (headers: { key: string; value: string }[], name: string): string[] =>
  headers.filter(({ key }) => key === name).map(({ value }) => value)

describe('a composed e-mail', () => {
  it('has both parts, the logo, and the requested headers', async () => {
    const raw = await compose(letter)
    const mail = await PostalMime.parse(raw)
    assert.deepEqual(mail.from, { name: 'Demo Bakery', address: 'mail@demo.example' })
    assert.deepEqual(mail.to, [{ name: '', address: 'ann@example.com' }])
    assert.deepEqual(mail.replyTo, [{ name: '', address: 'hello@demo.example' }])
    assert.equal(mail.subject, 'Thank you')
    assert.equal(mail.messageId, '<65f0@demo.example>')
    assert.equal(new Date(mail.date ?? '').getTime(), letter.dateMs)
    assert.equal(mail.html?.trim(), letter.html)
    assert.equal(mail.text?.trim(), letter.text)
    assert.deepEqual(
      mail.attachments.map(({ contentId, mimeType, disposition }) => ({ contentId, mimeType, disposition })),
      [{ contentId: '<logo>', mimeType: 'image/png', disposition: 'inline' }],
    )
  })

  it('has no logo that it does not show', async () => {
    const mail = await PostalMime.parse(await compose({ ...letter, html: '<p>x</p>' }))
    assert.deepEqual(mail.attachments, [])
  })

  it('suppresses automatic replies only when no person wrote it', async () => {
    const pattern = /^Auto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: All$/m
    assert.match(headersOf(await compose({ ...letter, isAutomatic: true })), pattern)
    assert.doesNotMatch(headersOf(await compose(letter)), /auto/i)
  })

  it('is the same bytes each time', async () => {
    assert.ok((await compose(letter)).equals(await compose(structuredClone(letter))))
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
    const sign = createComposer({ mailDkimDomain: 'demo.example', mailDkimSelector: 's', mailDkimPrivateKey: pem })
    assert.ok((await sign(letter)).equals(await sign(letter)))
  })

  it('folds and encodes a subject of a thousand emoji, and has no line that a server would refuse', async () => {
    const subject = '🥐'.repeat(1000)
    const raw = await compose({ ...letter, subject, html: 'x'.repeat(5000), text: `${'y '.repeat(5000)}\n.\n..` })
    assert.equal((await PostalMime.parse(raw)).subject, subject)
    const lines = raw.toString('latin1').split('\r\n')
    assert.ok(lines.every((line) => line.length <= 998 && !/[\r\n]/.test(line)))
    assert.ok(
      headersOf(raw)
        .split('\r\n')
        .every((line) => line.length <= 78),
    )
  })

  it('gets no additional header or recipient from any name, subject or text', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .array(
          fc.constantFrom(
            '\r\n',
            '\n',
            '\r',
            '\0',
            '\u2028',
            '\ud800',
            'Bcc: b@evil.example',
            'Cc: c@evil.example',
            '"',
            '\\',
            '<',
            '>',
            ',',
            ';',
            ':',
            '@',
            '(',
            ')',
            '=?utf-8?Q?=0D=0ABcc:_b?=',
            ' ',
            '\t',
            'é',
            'a',
            '\u202e',
            '--',
            '.',
          ),
          { maxLength: 20 },
        )
        .map((parts) => parts.join('')),
    )
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (name, subject, body) => {
        const text = `${body}|`.replaceAll('\r\n', '\n').replaceAll('\r', '\n')
        const raw = await compose({ ...letter, from: { ...letter.from, name }, subject, text, html: '<p>x</p>' })
        const mail = await PostalMime.parse(raw)
        const count = (header: string): number => valuesOf(mail.headers, header).length
        assert.deepEqual(
          ['to', 'from', 'reply-to', 'message-id', 'date', 'cc', 'bcc'].map(count),
          [1, 1, 1, 1, 1, 0, 0],
        )
        assert.ok(count('subject') <= 1) // a blank subject is omitted
        assert.deepEqual(mail.to, [{ name: '', address: 'ann@example.com' }])
        assert.equal(mail.from?.address, 'mail@demo.example')
        assert.equal(mail.text?.replace(/\n$/, ''), text.toWellFormed())
      }),
      { numRuns: 300 },
    )
  })
})

interface Signature {
  tags: Map<string, string>
  /** Whether the signature matches both body and headers. */
  isGood: boolean
}

/** Verifies like a receiver by RFC 6376, "relaxed" for headers and body. */
function verifySignature(raw: Buffer, publicKey: Parameters<ReturnType<typeof createVerify>['verify']>[0]): Signature {
  const message = raw.toString('latin1')
  const end = message.indexOf('\r\n\r\n')
  const fields = message.slice(0, end).split(/\r\n(?![ \t])/)
  const relaxed = (field: string): string => {
    const colon = field.indexOf(':')
    const value = field
      .slice(colon + 1)
      .replaceAll('\r\n', '')
      .replace(/[ \t]+/g, ' ')
    return `${field.slice(0, colon).trim().toLowerCase()}:${value.trim()}`
  }
  const find = (name: string): string => fields.findLast((field) => field.toLowerCase().startsWith(`${name}:`)) ?? ''
  const signature = find('dkim-signature')
  const tags = new Map(
    signature
      .slice(signature.indexOf(':') + 1)
      .split(';')
      .map((tag) => {
        const [name = '', ...value] = tag.split('=')
        return [name.trim(), value.join('=').replace(/\s/g, '')]
      }),
  )
  const lines = message
    .slice(end + 4)
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
  const body = `${lines.join('\r\n').replace(/(?:\r\n)+$/, '')}\r\n`
  const bodyHash = createHash('sha256').update(body, 'latin1').digest('base64')
  const signed = (tags.get('h') ?? '').split(':').map((name) => `${relaxed(find(name))}\r\n`)
  const verify = createVerify('RSA-SHA256')
  verify.update(`${signed.join('')}${relaxed(signature.replace(/(\bb=)[^;]*$/, '$1'))}`, 'latin1')
  const isGood = tags.get('bh') === bodyHash && verify.verify(publicKey, tags.get('b') ?? '', 'base64')
  return { tags, isGood }
}

describe('a DKIM signature', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const mailDkimPrivateKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const settings = { mailDkimDomain: 'demo.example', mailDkimSelector: 'mail', mailDkimPrivateKey }
  const from = (address: string): MailParts => ({ ...letter, from: { name: 'Größe', address }, text: 'a\nb\r\n\n\n' })

  it('can be verified by a receiver, and covers what people see', async () => {
    const raw = await createComposer(settings)(from('mail@demo.example'))
    const { tags, isGood } = verifySignature(raw, publicKey)
    assert.ok(isGood)
    assert.equal(tags.get('d'), 'demo.example')
    assert.equal(tags.get('s'), 'mail')
    assert.deepEqual(
      ['from', 'to', 'subject', 'reply-to', 'date', 'message-id'].filter(
        (name) => !tags.get('h')?.split(':').includes(name),
      ),
      [],
    )
    const changed = Buffer.from(raw.toString('latin1').replace('Thank you', 'Thank me'), 'latin1')
    assert.ok(!verifySignature(changed, publicKey).isGood)
  })

  it('is made for the domain and its subdomains only', async () => {
    const sign = createComposer(settings)
    assert.match(headersOf(await sign(from('mail@news.demo.example'))), /^DKIM-Signature:/m)
    for (const address of ['mail@other.example', 'mail@notdemo.example', 'mail@demo.example.other.example'])
      assert.doesNotMatch(headersOf(await sign(from(address))), /DKIM/i)
  })

  it('is not made for e-mails through a group’s own server', async () => {
    const raw = await createComposer(settings)({ ...from('mail@demo.example'), canDkimSign: false })
    assert.doesNotMatch(headersOf(raw), /DKIM/i)
  })

  it('can take its key from a file', async (t) => {
    const path = join(await temporaryFolder(t), 'key.pem')
    await writeFile(path, mailDkimPrivateKey)
    const raw = await createComposer({ ...settings, mailDkimPrivateKey: path })(from('mail@demo.example'))
    assert.ok(verifySignature(raw, publicKey).isGood)
  })

  it('is refused at startup when a setting is missing or invalid, without showing the key', () => {
    const ed25519 = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const cases: [object, RegExp][] = [
      [{ mailDkimSelector: undefined }, /are needed together/],
      [{ mailDkimPrivateKey: undefined }, /are needed together/],
      [{ mailDkimDomain: undefined }, /are needed together/],
      [{ mailDkimDomain: 'demo.example; x=y' }, /MAIL_DKIM_DOMAIN must be a domain/],
      [{ mailDkimSelector: 'a b' }, /MAIL_DKIM_SELECTOR must be a name/],
      [{ mailDkimPrivateKey: '/nowhere/secret-name.pem' }, /must be a private key as PEM, or the path/],
      [{ mailDkimPrivateKey: mailDkimPrivateKey.slice(0, 300) }, /must be a private key as PEM/],
      [{ mailDkimPrivateKey: ed25519 }, /must be an RSA key/],
    ]
    for (const [change, message] of cases)
      assert.throws(
        () => createComposer({ ...settings, ...change }),
        (error: unknown) =>
          error instanceof AppError && message.test(error.message) && !/secret|MII/.test(error.message),
      )
  })
})
