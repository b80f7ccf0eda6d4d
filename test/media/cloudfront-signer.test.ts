import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getSignedUrl } from '@aws-sdk/cloudfront-signer'
import fc from 'fast-check'
import { AppError } from '../../src/core/errors.ts'
import { createCloudFrontSigner } from '../../src/media/cloudfront-signer.ts'
import { anyMediaKey } from '../helpers/media-key-arbitrary.ts'

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const rsa = pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
const p256 = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)

const url = 'https://cdn.example.com/{bucket}'
const keyId = 'K2JCJMDEHXQW5F'
const window = { startSeconds: 1_767_225_600, expiresSeconds: 1_767_312_000 }

const theirs = (address: string, privateKey: string, expiresSeconds = window.expiresSeconds): string =>
  getSignedUrl({
    url: address,
    keyPairId: keyId,
    privateKey,
    dateLessThan: new Date(expiresSeconds * 1000),
    algorithm: 'SHA256',
  })

/** Verifies a signed URL like CloudFront: rebuilds the policy and checks the signature with the public key. */
function isGenuine(signed: string, privateKey: string): boolean {
  const [resource = '', query] = signed.split('?')
  const parameters = new URLSearchParams(query)
  const policy = `{"Statement":[{"Resource":"${resource}","Condition":{"DateLessThan":{"AWS:EpochTime":${parameters.get('Expires')}}}}]}`
  const base64 = (parameters.get('Signature') ?? '').replaceAll('-', '+').replaceAll('_', '=').replaceAll('~', '/')
  assert.equal(parameters.get('Hash-Algorithm'), 'SHA256')
  return verify(
    'sha256',
    Buffer.from(policy),
    createPublicKey(createPrivateKey(privateKey)),
    Buffer.from(base64, 'base64'),
  )
}

const withoutSignature = (signed: string): string => signed.replace(/(?<=Signature=)[\w~-]+/, '…')

describe('the CloudFront signer', () => {
  it('makes the same URL as the AWS SDK with an RSA key, byte for byte, for any key', () => {
    const ours = createCloudFrontSigner({ url, keyId, privateKey: rsa })
    fc.assert(
      fc.property(anyMediaKey, fc.integer({ min: 1, max: 4_000_000_000 }), (key, expiresSeconds) => {
        const signed = ours.sign('bakery', key, { startSeconds: 0, expiresSeconds })
        const address = `https://cdn.example.com/bakery/${key.split('/').map(encodeURIComponent).join('/')}`
        assert.equal(signed, theirs(address, rsa, expiresSeconds))
        assert.equal(ours.keyOf('bakery', new URL(signed)), key)
      }),
      { numRuns: 200 },
    )
  })

  it('makes a URL of the SDK’s form with a P-256 key, with a valid signature', () => {
    const ours = createCloudFrontSigner({ url, keyId, privateKey: p256 })
    fc.assert(
      fc.property(anyMediaKey, (key) => {
        const signed = ours.sign('bakery', key, window)
        const [address = ''] = signed.split('?')
        assert.equal(withoutSignature(signed), withoutSignature(theirs(address, p256)))
        assert.ok(isGenuine(signed, p256))
      }),
      { numRuns: 200 },
    )
  })

  it('makes a signature that is invalid for another file or a later expiry', () => {
    for (const privateKey of [rsa, p256]) {
      const signed = createCloudFrontSigner({ url, keyId, privateKey }).sign('bakery', 'g1/a.png', window)
      assert.ok(isGenuine(signed, privateKey))
      assert.ok(!isGenuine(signed.replace('g1/a.png', 'g1/b.png'), privateKey))
      assert.ok(!isGenuine(signed.replace('/bakery/', '/butcher/'), privateKey))
      assert.ok(!isGenuine(signed.replace('Expires=1767312000', 'Expires=1767398400'), privateKey))
    }
  })

  it('returns one URL per file within a window, even though signatures are randomised', () => {
    for (const privateKey of [rsa, p256]) {
      const ours = createCloudFrontSigner({ url, keyId, privateKey })
      const signed = ours.sign('bakery', 'g1/a.png', window)
      assert.equal(ours.sign('bakery', 'g1/a.png', window), signed)
      assert.notEqual(ours.sign('bakery', 'g1/a.png', { ...window, expiresSeconds: window.expiresSeconds + 1 }), signed)
      assert.notEqual(ours.sign('butcher', 'g1/a.png', window), signed)
    }
  })

  it('puts the bucket where the URL template has its placeholder', () => {
    const addressWith = (url: string): string =>
      createCloudFrontSigner({ url, keyId, privateKey: p256 }).sign('bakery', 'a.png', window).split('?')[0] ?? ''
    assert.equal(addressWith('https://{bucket}.cdn.example.com'), 'https://bakery.cdn.example.com/a.png')
    assert.equal(addressWith('https://cdn.example.com/media/{bucket}'), 'https://cdn.example.com/media/bakery/a.png')
    assert.equal(addressWith('https://CDN.example.com:443'), 'https://cdn.example.com/a.png')
  })

  it('refuses to sign an invalid key', () => {
    const ours = createCloudFrontSigner({ url, keyId, privateKey: p256 })
    for (const key of ['', '../a.png', 'a?b', '.hidden'])
      assert.throws(() => ours.sign('bakery', key, window), /cannot be signed/)
  })

  it('finds no key in a foreign or malformed URL', () => {
    const ours = createCloudFrontSigner({ url, keyId, privateKey: p256 })
    for (const address of [
      'https://evil.example/bakery/a.png',
      'https://cdn.example.com/butcher/a.png',
      'https://cdn.example.com/bakery',
      'https://cdn.example.com/bakery/%E0%A4%A',
      'data:text/plain,hello',
    ])
      assert.equal(ours.keyOf('bakery', new URL(address)), undefined, address)
  })
})

describe('MEDIA_CDN_PRIVATE_KEY', () => {
  const open = (privateKey: string) => createCloudFrontSigner({ url, keyId, privateKey })

  it('may be PEM text, PEM on one line, or the path of a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-key-'))
    try {
      const path = join(folder, 'key.pem')
      writeFileSync(path, rsa)
      const [plain, onOneLine, fromFile] = [rsa, rsa.replaceAll('\n', '\\n'), path].map((privateKey) =>
        open(privateKey).sign('bakery', 'a.png', window),
      )
      assert.equal(onOneLine, plain)
      assert.equal(fromFile, plain)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('is refused by name, and without its value, unless CloudFront supports the key', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const refused = {
      'RSA 1024': pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey),
      'RSA-PSS': pemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey),
      'P-384': pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey),
      Ed25519: pemOf(generateKeyPairSync('ed25519').privateKey),
      public: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString(),
      encrypted: privateKey
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' })
        .toString(),
      cut: rsa.slice(0, 400),
      'without its first line': rsa.split('\n').slice(1, -2).join(''),
      'no such file': '/nowhere/key.pem',
    }
    for (const [kind, text] of Object.entries(refused)) {
      assert.throws(
        () => open(text),
        (error) =>
          error instanceof AppError &&
          error.code === 'ValidationError' &&
          error.message.startsWith('MEDIA_CDN_PRIVATE_KEY must be') &&
          !error.message.includes(text.slice(0, 60)),
        kind,
      )
    }
  })
})
