import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { AppError } from '../../../src/core/errors.ts'
import { createS3Signer } from '../../../src/media/s3/sigv4.ts'
import { createS3Storage } from '../../../src/media/s3/storage.ts'
import type { MediaStorage, StoredFile } from '../../../src/media/storage.ts'
import { keysPerPage, type S3Server, s3Credentials, startS3Server } from '../../helpers/s3-server.ts'

const megabyte = 1024 ** 2
const bucket = 'bakery-media'
const otherBucket = 'butcher-media'

let server: S3Server
let storage: MediaStorage
before(async () => {
  server = await startS3Server([bucket, otherBucket])
  storage = createS3Storage({ location: server.location, ...s3Credentials })
})
after(() => server.stop())

async function filesIn(folder: string): Promise<StoredFile[]> {
  return Array.fromAsync(storage.list(bucket, folder))
}

const keysIn = async (folder: string): Promise<string[]> => (await filesIn(folder)).map(({ key }) => key).sort()

const isMissing = { code: 'ENOENT' }

/** A stream of different megabytes, generated on demand. */
async function* megabytes(count: number): AsyncGenerator<Buffer> {
  for (let index = 0; index < count; index++) yield Buffer.alloc(megabyte, `${index} `)
}

describe('S3 storage, on a real server', () => {
  it('reads back what was written, for every character that a key can have', async () => {
    const keys = ['w1/=x', 'w1/a b/c+d(é)!~=,@ 你好.png', 'w1/empty.txt']
    // In listings, this server escapes an apostrophe in a way that no other does.
    for (const key of [...keys, "apostrophe/it's.txt"]) {
      const content = key.includes('empty') ? Buffer.alloc(0) : Buffer.from(`content of ${key}`)
      await storage.write(bucket, key, content)
      assert.deepEqual(await buffer(storage.read(bucket, key)), content)
    }
    assert.deepEqual(await keysIn('w1'), keys)
  })

  it('writes a stream of bytes, or of text', async () => {
    await storage.write(bucket, 'w2/a.bin', Readable.from(megabytes(2)))
    assert.equal((await buffer(storage.read(bucket, 'w2/a.bin'))).length, 2 * megabyte)
    await storage.write(bucket, 'w2/b.txt', Readable.from(['grüß ', 'dich']))
    assert.equal((await buffer(storage.read(bucket, 'w2/b.txt'))).toString(), 'grüß dich')
  })

  it('overwrites a file of the same key', async () => {
    for (const text of ['a first one', 'second']) await storage.write(bucket, 'w3/a.txt', Buffer.from(text))
    assert.equal((await buffer(storage.read(bucket, 'w3/a.txt'))).toString(), 'second')
  })

  it('writes a large stream in parts, and reads at most one part ahead', async () => {
    let produced = 0
    async function* source(): AsyncGenerator<Buffer> {
      for await (const chunk of megabytes(34)) {
        produced += chunk.length
        yield chunk
      }
    }
    const parts: { bytes: number; ahead: number }[] = []
    let sent = 0
    const watched = createS3Storage({
      location: server.location,
      ...s3Credentials,
      fetch: (input, init) => {
        if (String(input).includes('partNumber=')) {
          const { length } = init?.body as Buffer
          parts.push({ bytes: length, ahead: produced - sent })
          sent += length
        }
        return fetch(input, init)
      },
    })
    await watched.write(bucket, 'w4/film.mp4', Readable.from(source(), { highWaterMark: 1 }))
    assert.deepEqual(
      parts.map(({ bytes }) => bytes / megabyte),
      [16, 16, 2],
    )
    // The part, and the first bytes of the next one.
    for (const { ahead } of parts) assert.ok(ahead <= 16 * megabyte + 2 * megabyte, `${ahead} bytes were held`)
    const expected = Buffer.concat(await Array.fromAsync(megabytes(34)))
    const found = await buffer(storage.read(bucket, 'w4/film.mp4'))
    assert.ok(found.equals(expected))
  })

  it('writes 16 MB at once, and one byte more in parts', async () => {
    const requests: string[] = []
    const watched = createS3Storage({
      location: server.location,
      ...s3Credentials,
      fetch: (input, init) => {
        requests.push(`${init?.method} ${[...new URL(String(input)).searchParams.keys()].sort().join(' ')}`.trim())
        return fetch(input, init)
      },
    })
    const content = Buffer.alloc(16 * megabyte + 1, 'x')
    await watched.write(bucket, 'w5/a.bin', content.subarray(1))
    assert.deepEqual(requests.splice(0), ['PUT'])
    await watched.write(bucket, 'w5/b.bin', content)
    assert.deepEqual(requests, ['POST uploads', 'PUT partNumber uploadId', 'PUT partNumber uploadId', 'POST uploadId'])
    assert.deepEqual(
      (await filesIn('w5')).map(({ key, bytes }) => [key, bytes]),
      [
        ['w5/a.bin', 16 * megabyte],
        ['w5/b.bin', 16 * megabyte + 1],
      ],
    )
  })

  it('stores a file’s headers for browsers, also with a multipart upload', async () => {
    const client = new S3Client({
      endpoint: server.location.endpoint.origin,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: s3Credentials,
    })
    const headersOf = async (key: string, content: Buffer): Promise<unknown[]> => {
      await storage.write(bucket, key, content)
      const file = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      file.Body?.transformToWebStream().cancel()
      return [file.ContentType, file.ContentDisposition, file.CacheControl]
    }
    const small = Buffer.from('x')
    assert.deepEqual(await headersOf('w6/a.png', small), ['image/png', undefined, 'max-age=31536000, immutable'])
    assert.deepEqual(await headersOf('w6/a.svg', small), ['image/svg+xml', 'attachment', 'max-age=31536000, immutable'])
    assert.deepEqual(await headersOf('w6/a.html', Buffer.alloc(17 * megabyte, ' ')), [
      'text/html; charset=utf-8',
      'attachment',
      'max-age=31536000, immutable',
    ])
  })

  it('stores nothing when the source of a file fails, early or late', async () => {
    for (const good of [1, 20]) {
      const key = `w7/${good}.bin`
      const source = Readable.from(
        (async function* () {
          yield* megabytes(good)
          throw new Error('the visitor went away')
        })(),
      )
      await assert.rejects(storage.write(bucket, key, source), /the visitor went away/)
      assert.ok(source.destroyed)
      await assert.rejects(buffer(storage.read(bucket, key)), isMissing)
    }
    assert.deepEqual(await keysIn('w7'), [])
  })

  it('reports a missing file with the code ENOENT', async () => {
    await assert.rejects(buffer(storage.read(bucket, 'w8/none.png')), isMissing)
  })

  it('lists exactly one folder over all pages, with sizes and times', async () => {
    const keys = Array.from({ length: 2 * keysPerPage + 10 }, (_, index) => `w9/${String(index).padStart(4, '0')}.txt`)
    for (let first = 0; first < keys.length; first += 50)
      await Promise.all(keys.slice(first, first + 50).map((key) => storage.write(bucket, key, Buffer.from('1234'))))
    await storage.write(bucket, 'w91/beside.txt', Buffer.from('beside'))
    let pages = 0
    const watched = createS3Storage({
      location: server.location,
      ...s3Credentials,
      fetch: (input, init) => {
        pages += 1
        return fetch(input, init)
      },
    })
    const files = await Array.fromAsync(watched.list(bucket, 'w9'))
    assert.equal(pages, 3)
    assert.deepEqual(
      files.map(({ key }) => key),
      keys,
    )
    for (const { bytes, modifiedMs } of files) {
      assert.equal(bytes, 4)
      assert.ok(Math.abs(modifiedMs - Date.now()) < 300_000)
    }
    await storage.removeFolder(bucket, 'w9')
    assert.deepEqual(await keysIn('w9'), [])
    assert.deepEqual(await keysIn('w91'), ['w91/beside.txt'])
  })

  it('lists nothing for a missing folder, and skips invalid keys', async () => {
    assert.deepEqual(await filesIn('w10'), [])
    await fetch(`${server.location.endpoint.origin}/${bucket}/w10/.hidden`, { method: 'PUT', body: 'x' })
    await storage.write(bucket, 'w10/seen.txt', Buffer.from('x'))
    assert.deepEqual(await keysIn('w10'), ['w10/seen.txt'])
  })

  it('removes the given files, and ignores missing ones', async () => {
    for (const name of ['a', 'b', 'c']) await storage.write(bucket, `w11/${name}.txt`, Buffer.from(name))
    await storage.remove(bucket, ['w11/a.txt', 'w11/none.txt', 'w11/c.txt'])
    assert.deepEqual(await keysIn('w11'), ['w11/b.txt'])
    await storage.remove(bucket, [])
  })

  it('refuses keys and folders that could leave the bucket', async () => {
    for (const bad of ['../a', 'a//b', '', '.a', 'a/../b']) {
      await assert.rejects(storage.write(bucket, bad, Buffer.from('x')), /cannot be a media key/)
      assert.throws(() => storage.read(bucket, bad), /cannot be a media key/)
      await assert.rejects(storage.remove(bucket, ['w12/a.txt', bad]), /cannot be a media key/)
      await assert.rejects(storage.removeFolder(bucket, bad), /cannot be a media key/)
      await assert.rejects(Array.fromAsync(storage.list(bucket, bad)), /cannot be a media key/)
    }
  })

  it('asks to create a missing bucket, on every operation', async () => {
    const none = 'no-such-bucket'
    for (const attempt of [
      () => storage.write(none, 'a.txt', Buffer.from('x')),
      () => storage.write(none, 'a.txt', Buffer.alloc(17 * megabyte)),
      () => buffer(storage.read(none, 'a.txt')),
      () => storage.remove(none, ['a.txt']),
      () => storage.removeFolder(none, 'a'),
    ])
      await assert.rejects(attempt, (error) => {
        assert.ok(error instanceof AppError)
        assert.match(
          error.message,
          /in the bucket "no-such-bucket": the store answered HTTP 404, NoSuchBucket\. Create the/,
        )
        return true
      })
  })

  it('names the settings to check when the store rejects our keys, without their values', async () => {
    for (const [wrong, code] of [
      [{ accessKeyId: 'STRANGER', secretAccessKey: 'hush-hush' }, 'InvalidAccessKeyId'],
      [{ ...s3Credentials, secretAccessKey: 'hush-hush' }, 'SignatureDoesNotMatch'],
    ] as const) {
      const stranger = createS3Storage({ location: server.location, ...wrong })
      await assert.rejects(stranger.write(bucket, 'w13/a.txt', Buffer.from('x')), (error) => {
        assert.ok(error instanceof AppError)
        assert.ok(error.message.includes(`HTTP 403, ${code}. Check MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY.`))
        assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /hush|STRANGER|Signature=|Credential=|X-Amz/)
        return true
      })
    }
    assert.deepEqual(await keysIn('w13'), [])
  })
})

describe('a URL of the S3 signer, on a real server', () => {
  const key = "s1/a b/c+d(é)!~=,@'s 你好.png"
  const content = Buffer.from('a picture')
  const windowFrom = (startSeconds: number, life: number) => ({ startSeconds, expiresSeconds: startSeconds + life })
  const nowSeconds = Math.floor(Date.now() / 1000)
  const sign = (window = windowFrom(nowSeconds - 100, 3600)): string =>
    createS3Signer({ location: server.location, ...s3Credentials }).sign(bucket, key, window)
  const statusOf = async (url: string): Promise<number> => {
    const answer = await fetch(url)
    await answer.arrayBuffer()
    return answer.status
  }
  before(async () => {
    for (const name of [bucket, otherBucket]) await storage.write(name, key, content)
    await storage.write(bucket, key.replace('s1', 's2'), content)
  })

  it('returns the file', async () => {
    const answer = await fetch(sign())
    assert.equal(answer.status, 200)
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), content)
    assert.equal(answer.headers.get('content-type'), 'image/png')
  })

  it('is refused when it has expired', async () => {
    assert.equal(await statusOf(sign(windowFrom(nowSeconds - 3700, 3600))), 403)
  })

  it('is refused when its file, bucket, lifetime, date or signature is altered', async () => {
    const url = sign()
    const altered = {
      file: url.replace('/s1/', '/s2/'),
      bucket: url.replace(`/${bucket}/`, `/${otherBucket}/`),
      life: url.replace('X-Amz-Expires=3600', 'X-Amz-Expires=7200'),
      date: url.replace(/(X-Amz-Date=\d+T\d+)\dZ/, '$1xZ'),
      signature: url.replace(/X-Amz-Signature=(.)/, (_, digit) => `X-Amz-Signature=${digit === '0' ? '1' : '0'}`),
      'signature cut short': url.replace(/(X-Amz-Signature=\w{60})\w{4}/, '$1'),
    }
    for (const [what, address] of Object.entries(altered)) {
      assert.notEqual(address, url, what)
      assert.equal(await statusOf(address), 403, what)
    }
  })

  it('is refused if it was signed with another secret', async () => {
    const signer = createS3Signer({ location: server.location, ...s3Credentials, secretAccessKey: 'another' })
    assert.equal(await statusOf(signer.sign(bucket, key, windowFrom(nowSeconds, 3600))), 403)
  })
})
