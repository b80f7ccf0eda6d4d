import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { openMedia, openStorage } from '../../src/media/open.ts'
import { s3Credentials, startS3Server } from '../helpers/s3-server.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-open-'))
after(() => rmSync(dataDir, { recursive: true }))

const window = { startSeconds: 1_767_225_600, expiresSeconds: 1_767_312_000 }
const s3 = { MEDIA_URL: 's3://s3.example.com', MEDIA_ACCESS_KEY_ID: 'AKIAOURS', MEDIA_SECRET_ACCESS_KEY: 'secret' }
const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const cdn = {
  MEDIA_CDN_URL: 'https://cdn.example.com',
  MEDIA_CDN_KEY_ID: 'K1',
  MEDIA_CDN_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}

const open = (env: Record<string, string>) =>
  openMedia(readConfig({ DATA_DIR: dataDir, ...env }), () => 'http://127.0.0.1:4000')

const addressWith = (env: Record<string, string>): string => open(env).signer.sign('bakery', 'a.png', window)

describe('openMedia', () => {
  it('stores and signs files itself in a folder', async () => {
    const media = open({})
    assert.equal(media.signer, media.local?.signer)
    assert.match(addressWith({}), /^http:\/\/127\.0\.0\.1:4000\/media\/bakery\/a\.png\?expires=/)
    await media.storage.write('bakery', 'a.png', Buffer.from('x'))
    assert.ok(existsSync(join(dataDir, 'media/bakery/a.png')))
    const elsewhere = open({ MEDIA_URL: join(dataDir, 'elsewhere') })
    await elsewhere.storage.write('bakery', 'a.png', Buffer.from('x'))
    assert.ok(existsSync(join(dataDir, 'elsewhere/bakery/a.png')))
  })

  it('signs with the first of the given keys, and accepts what another one has signed', () => {
    const [old, fresh] = ['a'.repeat(64), 'b'.repeat(64)]
    const signatureWith = (keys: string): string =>
      new URL(addressWith({ MEDIA_SIGNING_KEYS: keys })).searchParams.get('signature') ?? ''
    assert.equal(signatureWith(`${fresh},${old}`), signatureWith(fresh))
    assert.notEqual(signatureWith(fresh), signatureWith(old))
    const signer = open({ MEDIA_SIGNING_KEYS: `${fresh},${old}` }).local?.signer
    const verified = signer?.verify('bakery', 'a.png', '1767312000', signatureWith(old), window.startSeconds * 1000)
    assert.equal(verified, 86_400)
  })

  it('derives the signing key from the master key by default', () => {
    const [one, other] = ['1'.repeat(64), '2'.repeat(64)].map((key) => addressWith({ SLUICE_MASTER_KEY: key }))
    assert.notEqual(one, other)
    assert.equal(one, addressWith({ SLUICE_MASTER_KEY: '1'.repeat(64) }))
  })

  it('sends visitors to the S3 store, or to the CDN in front of it', () => {
    assert.equal(open(s3).local, undefined)
    assert.match(addressWith(s3), /^https:\/\/bakery\.s3\.example\.com\/a\.png\?X-Amz-Algorithm=/)
    assert.match(addressWith({ ...s3, ...cdn }), /^https:\/\/cdn\.example\.com\/a\.png\?Expires=/)
  })

  it('creates no master key for files that S3 or a CDN delivers', () => {
    const empty = join(dataDir, 'empty')
    open({ ...s3, DATA_DIR: empty })
    assert.ok(!existsSync(empty))
  })

  it('names missing and incompatible settings', () => {
    for (const { env, message } of [
      { env: { MEDIA_URL: s3.MEDIA_URL }, message: /set MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY/ },
      { env: { ...s3, MEDIA_SECRET_ACCESS_KEY: '' }, message: /set MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY/ },
      { env: cdn, message: /MEDIA_CDN_URL.*set MEDIA_URL/ },
      { env: { MEDIA_CDN_KEY_ID: 'K1' }, message: /MEDIA_CDN_KEY_ID.*set MEDIA_URL/ },
      { env: { ...s3, ...cdn, MEDIA_CDN_URL: '' }, message: /MEDIA_CDN_URL.*all three or none/ },
      { env: { ...s3, ...cdn, MEDIA_CDN_KEY_ID: '' }, message: /MEDIA_CDN_KEY_ID.*all three or none/ },
      { env: { ...s3, ...cdn, MEDIA_CDN_PRIVATE_KEY: '' }, message: /MEDIA_CDN_PRIVATE_KEY.*all three or none/ },
    ])
      assert.throws(() => open(env), { code: 'ValidationError', message })
  })
})

describe('openStorage', () => {
  it('reads and writes in the store that MEDIA_URL names', async () => {
    const server = await startS3Server(['bakery'])
    try {
      const storage = openStorage(
        readConfig({
          MEDIA_URL: server.mediaUrl,
          MEDIA_ACCESS_KEY_ID: s3Credentials.accessKeyId,
          MEDIA_SECRET_ACCESS_KEY: s3Credentials.secretAccessKey,
        }),
      )
      await storage.write('bakery', 'g1/a.txt', Buffer.from('a file'))
      assert.equal((await buffer(storage.read('bakery', 'g1/a.txt'))).toString(), 'a file')
    } finally {
      await server.stop()
    }
  })
})
