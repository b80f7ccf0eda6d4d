import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import fc from 'fast-check'
import { createCurrentFiles } from '../../src/media/current-files.ts'
import { createLocalSigner } from '../../src/media/local-signer.ts'
import { signingWindow } from '../../src/media/signer.ts'
import { deriveKey, loadMasterKey } from '../../src/security/master-key.ts'
import { createHarness, type Harness, localFolder, type TestGroup, testStartMs } from '../helpers/harness.ts'

const hourMs = 3_600_000
const bytes = Buffer.from('0123456789')
const bucket = 'media'

let service: Harness
let group: TestGroup
let baseUrl: string
let secret: Buffer

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** Requests exactly this path; `fetch` would normalise it. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { hostname, port } = new URL(baseUrl)
  const asked = request({ hostname, port, path, headers, method, agent: false })
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject).end()
  })
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

/** The service's signature of any text, including one that it would never sign. */
function signatureOf(key: string, expires: string, inBucket = bucket): string {
  return createHmac('sha256', secret).update(`${inBucket}\n${key}\n${expires}`).digest('base64url')
}

const expirySeconds = (nowMs: number, ttlSeconds: number): number => signingWindow(nowMs, ttlSeconds).expiresSeconds
const expiresAt = () => String(expirySeconds(service.clock.now, 86_400))

/** The path of a file, signed by the test; `written` is the spelling of the key in the path. */
function signedPath(
  key: string,
  written = key.split('/').map(encodeURIComponent).join('/'),
  inBucket = bucket,
): string {
  return `/media/${inBucket}/${written}?expires=${expiresAt()}&signature=${signatureOf(key, expiresAt(), inBucket)}`
}

async function write(name: string, content: Buffer = bytes): Promise<string> {
  const key = `${group.group.id}/${name}`
  await service.service.media.storage.write(bucket, key, content)
  return key
}

/** Stores an item with a picture and returns the URL that the API delivers. */
async function deliveredUrl(key: string): Promise<string> {
  const collection = await group.collection(`Photos of ${key}`, { photo: { type: 'image' } })
  await group.add(collection, { value: { photo: { name: 'photo', key, type: 'image' } } })
  const answer = await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)
  return answer.json().data.items[0].objectValue.photo.currentFile.source
}

const pathOf = (url: string): string => url.slice(baseUrl.length)

function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.body.toString())
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  const { error, ...envelope } = JSON.parse(answer.body.toString())
  assert.deepEqual(envelope, { success: false, data: null, code })
  assert.ok(typeof error === 'string' && error.length > 10)
}

before(async () => {
  service = await createHarness('sqlite')
  group = await service.newGroup()
  baseUrl = (await service.service.listen()).baseUrl
  secret = deriveKey(loadMasterKey(service.config.dataDir, undefined), 'media signing')
})
after(() => service.close())
beforeEach(() => {
  service.clock.now = testStartMs
})

describe('a signed address', () => {
  it('from the API returns the file', async () => {
    const url = await deliveredUrl(await write('bun.png'))
    assert.ok(url.startsWith(`${baseUrl}/media/${bucket}/${group.group.id}/bun.png?expires=`))
    const answer = await ask(pathOf(url))
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, bytes)
    assert.equal(answer.headers['content-type'], 'image/png')
    assert.equal(answer.headers['content-length'], '10')
    assert.equal(answer.headers['content-disposition'], 'inline')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['accept-ranges'], 'bytes')
    assert.match(String(answer.headers['x-request-id']), /^[0-9a-f]{24}$/)
  })

  it('needs no API key, and states for how long it may be cached', async () => {
    const path = signedPath(await write('kept.png'))
    service.clock.now += 2 * hourMs
    const answer = await ask(path)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['cache-control'], `private, max-age=${22 * 3600}, immutable`)
  })

  it('answers HEAD with the headers only', async () => {
    const answer = await ask(signedPath(await write('head.png')), {}, 'HEAD')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['content-length'], '10')
    assert.equal(answer.headers['content-type'], 'image/png')
    assert.equal(answer.body.length, 0)
  })

  it('returns an empty file and one of several megabytes', async () => {
    const large = Buffer.alloc(5_000_000, 'sluice')
    assert.equal((await ask(signedPath(await write('empty.png', Buffer.alloc(0))))).body.length, 0)
    assert.ok((await ask(signedPath(await write('large.mp4', large)))).body.equals(large))
  })

  for (const name of [
    'with space.png',
    'a+b.png',
    'photo (1).png',
    'Crème brûlée.png',
    'cre\u0300me.png',
    '日本語/写真.png',
    "it's, fine! ~a=b@c.png",
    'a..b.png',
    'deep/er/and/deeper.png',
  ]) {
    it(`returns a file called ${name}`, async () => {
      const content = Buffer.from(name)
      const url = await deliveredUrl(await write(name, content))
      assert.deepEqual((await ask(pathOf(url))).body, content)
      const fetched = await fetch(url) // the URL as a browser normalises it
      assert.equal(fetched.status, 200)
      assert.deepEqual(Buffer.from(await fetched.arrayBuffer()), content)
    })
  }

  it('of a file that does not exist, or of a folder, is 404', async () => {
    await write('folder/file.png')
    assertRefused(await ask(signedPath(`${group.group.id}/missing.png`)), 404, 'NotFound')
    assertRefused(await ask(signedPath(`${group.group.id}/folder`)), 404, 'NotFound')
    assertRefused(await ask(signedPath(`${group.group.id}/folder/file.png/more`)), 404, 'NotFound')
    assertRefused(await ask(signedPath(`${group.group.id}/${'x'.repeat(200)}`)), 404, 'NotFound')
    assertRefused(await ask(signedPath('a.png', 'a.png', 'no-such-bucket')), 404, 'NotFound')
  })

  it('of a file that has changed is 412 for a request for the old one', async () => {
    await write('changing.png')
    const path = signedPath(`${group.group.id}/changing.png`)
    assertRefused(await ask(path, { 'if-match': '"another"' }), 412, 'PreconditionFailed')
  })

  it('of a file that cannot be read is 500, not 404', async () => {
    const folder = join(localFolder(service.service, bucket), group.group.id)
    mkdirSync(folder, { recursive: true })
    symlinkSync('loop.png', join(folder, 'loop.png'))
    assertRefused(await ask(signedPath(`${group.group.id}/loop.png`)), 500, 'InternalError')
    assert.match(service.log(), /ELOOP/)
  })
})

describe('a range', () => {
  const cases: [range: string, body: string, contentRange: string][] = [
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-4', '6789', 'bytes 6-9/10'],
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
  ]
  for (const [range, body, contentRange] of cases) {
    it(`${range} gets ${body}`, async () => {
      const answer = await ask(signedPath(await write('range.mp4')), { Range: range })
      assert.equal(answer.status, 206)
      assert.equal(answer.headers['content-range'], contentRange)
      assert.equal(answer.headers['content-length'], String(body.length))
      assert.equal(answer.headers['content-type'], 'video/mp4')
      assert.equal(answer.body.toString(), body)
    })
  }

  for (const range of ['bytes=10-', 'bytes=100-200', 'bytes=-0']) {
    it(`${range} of 10 bytes is 416, in the envelope`, async () => {
      const answer = await ask(signedPath(await write('range.mp4')), { Range: range })
      assertRefused(answer, 416, 'RangeNotSatisfiable')
      assert.equal(answer.headers['content-range'], 'bytes */10')
    })
  }

  for (const range of ['bytes=0-1,4-5', 'lines=1-2', '']) {
    it(`${JSON.stringify(range)} is ignored: the whole file is returned`, async () => {
      const answer = await ask(signedPath(await write('range.mp4')), { Range: range })
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, bytes)
    })
  }

  it('applies only if the file is still the one that the client has', async () => {
    const path = signedPath(await write('range.mp4'))
    const known = String((await ask(path)).headers['last-modified'])
    assert.equal((await ask(path, { Range: 'bytes=0-3', 'If-Range': known })).status, 206)
    assert.equal((await ask(path, { Range: 'bytes=0-3', 'If-Range': '"other"' })).status, 200)
  })
})

describe('a client that has the file', () => {
  it('gets 304 without a body, and without headers that would alter the stored answer', async () => {
    const path = signedPath(await write('known.png'))
    const { etag = '', 'last-modified': modified = '' } = (await ask(path)).headers
    assert.ok(etag && modified)
    const conditions = [
      { 'If-None-Match': etag },
      { 'If-None-Match': `"x", ${etag}` },
      { 'If-Modified-Since': modified },
    ]
    for (const condition of conditions) {
      const answer = await ask(path, condition as Record<string, string>)
      assert.equal(answer.status, 304)
      assert.equal(answer.body.length, 0)
      assert.equal(answer.headers.etag, etag)
      assert.equal(answer.headers['content-type'], undefined)
      assert.equal(answer.headers['content-disposition'], undefined)
    }
  })

  it('gets a changed file in full', async () => {
    const path = signedPath(await write('changing.png'))
    const { etag = '' } = (await ask(path)).headers
    await write('changing.png', Buffer.from('something else'))
    const answer = await ask(path, { 'If-None-Match': etag })
    assert.equal(answer.status, 200)
    assert.equal(answer.body.toString(), 'something else')
  })

  it('gets 403, and not 304, without a valid signature', async () => {
    const path = signedPath(await write('known.png'))
    const { etag = '' } = (await ask(path)).headers
    assertRefused(await ask(path.slice(0, -1), { 'If-None-Match': etag }), 403, 'Forbidden')
    assertRefused(await ask(path.slice(0, -1), { 'If-None-Match': '*' }), 403, 'Forbidden')
  })
})

describe('a URL is 403', () => {
  interface Parts {
    inBucket: string
    key: string
    expires: string
    signature: string
  }
  const changes: Record<string, (parts: Parts) => string> = {
    'without a signature': ({ inBucket, key, expires }) => `/media/${inBucket}/${key}?expires=${expires}`,
    'without an expiry': ({ inBucket, key, signature }) => `/media/${inBucket}/${key}?signature=${signature}`,
    'without either': ({ inBucket, key }) => `/media/${inBucket}/${key}`,
    'with two signatures': (parts) => `${joined(parts)}&signature=${parts.signature}`,
    'with two expiries': (parts) => `${joined(parts)}&expires=${parts.expires}`,
    'with a list of one signature': (parts) => joined(parts).replace('signature=', 'signature[]='),
    'with an empty signature': (parts) => joined({ ...parts, signature: '' }),
    'with a truncated signature': (parts) => joined({ ...parts, signature: parts.signature.slice(0, -1) }),
    'with half a signature': (parts) => joined({ ...parts, signature: parts.signature.slice(0, 20) }),
    'with a lengthened signature': (parts) => joined({ ...parts, signature: `${parts.signature}A` }),
    'with a padded signature': (parts) => joined({ ...parts, signature: `${parts.signature}=` }),
    'with a signature spelled in another alphabet': (parts) =>
      joined({ ...parts, signature: encodeURIComponent(Buffer.from(parts.signature, 'base64url').toString('base64')) }),
    'with a signature in hex': (parts) =>
      joined({ ...parts, signature: Buffer.from(parts.signature, 'base64url').toString('hex') }),
    'with a signature in another case': (parts) => joined({ ...parts, signature: parts.signature.toUpperCase() }),
    'with a space behind the signature': (parts) => joined({ ...parts, signature: `${parts.signature}%20` }),
    'with a later expiry': (parts) => joined({ ...parts, expires: String(Number(parts.expires) + 1) }),
    'with an expiry spelled otherwise': (parts) => joined({ ...parts, expires: `0${parts.expires}` }),
    'with an expiry that is no number': (parts) => joined({ ...parts, expires: 'Infinity' }),
    'with a negative expiry': (parts) => joined({ ...parts, expires: `-${parts.expires}` }),
    'with an empty expiry': (parts) => joined({ ...parts, expires: '' }),
    'of another file': (parts) => joined({ ...parts, key: parts.key.replace('mine.png', 'other.png') }),
    'of another group': (parts) => joined({ ...parts, key: parts.key.replace(group.group.id, 'f'.repeat(24)) }),
    'of a file in another case': (parts) => joined({ ...parts, key: parts.key.replace('mine.png', 'MINE.png') }),
    'in another bucket': (parts) => joined({ ...parts, inBucket: 'other' }),
    'in a bucket in another case': (parts) => joined({ ...parts, inBucket: 'MEDIA' }),
    'with bucket and key cut apart elsewhere': (parts) =>
      joined({ ...parts, inBucket: `${bucket}%2F${group.group.id}`, key: 'mine.png' }),
  }
  const joined = ({ inBucket, key, expires, signature }: Parts): string =>
    `/media/${inBucket}/${key}?expires=${expires}&signature=${signature}`

  for (const [what, change] of Object.entries(changes)) {
    it(what, async () => {
      const key = await write('mine.png')
      await write('other.png')
      const parts = { inBucket: bucket, key, expires: expiresAt(), signature: signatureOf(key, expiresAt()) }
      assert.equal((await ask(joined(parts))).status, 200)
      assertRefused(await ask(change(parts)), 403, 'Forbidden')
    })
  }

  it('if any character of the signature is changed', async () => {
    const path = signedPath(await write('mine.png'))
    const start = path.length - 43
    for (let position = start; position < path.length; position += 1) {
      const other = path[position] === 'A' ? 'B' : 'A'
      assert.equal((await ask(path.slice(0, position) + other + path.slice(position + 1))).status, 403)
    }
  })

  it('signed with another key', async () => {
    const key = await write('mine.png')
    const foreign = createLocalSigner({ secrets: [Buffer.alloc(32)], baseUrl: () => '' })
    assertRefused(await ask(foreign.sign(bucket, key, signingWindow(testStartMs, 86_400))), 403, 'Forbidden')
  })

  it('from the millisecond in which it expires', async () => {
    const path = signedPath(await write('mine.png'))
    service.clock.now = Number(expiresAt()) * 1000 - 1
    assert.equal((await ask(path)).status, 200)
    service.clock.now += 1
    assertRefused(await ask(path), 403, 'Forbidden')
    service.clock.now += 365 * 24 * hourMs
    assertRefused(await ask(path), 403, 'Forbidden')
  })
})

describe('a path that tries to leave its bucket', () => {
  const canary = 'canary-outside-the-bucket'
  before(() => {
    const media = join(service.config.dataDir, 'media')
    for (const folder of [service.config.dataDir, media, join(media, bucket), join(media, 'other')]) {
      mkdirSync(folder, { recursive: true })
      for (const name of ['secret.txt', '.secret.txt']) writeFileSync(join(folder, name), canary)
    }
  })

  const attempts: [key: string, written?: string][] = [
    ['../secret.txt', '../secret.txt'],
    ['../secret.txt', '..%2fsecret.txt'],
    ['../secret.txt', '..%2Fsecret.txt'],
    ['../secret.txt', '%2e%2e/secret.txt'],
    ['../secret.txt', '%2e%2e%2fsecret.txt'],
    ['..%2fsecret.txt', '..%252fsecret.txt'],
    ['%2e%2e/secret.txt', '%252e%252e/secret.txt'],
    ['../other/secret.txt', '../other/secret.txt'],
    ['../../master.key', '../../master.key'],
    ['../../master.key', '..%2f..%2fmaster.key'],
    ['a/../../secret.txt', 'a/../../secret.txt'],
    ['a/../../../control.sqlite', 'a/..%2f..%2f..%2fcontrol.sqlite'],
    ['..\\secret.txt', '..\\secret.txt'],
    ['..\\secret.txt', '..%5csecret.txt'],
    ['/secret.txt', '/secret.txt'],
    ['//secret.txt', '//secret.txt'],
    ['/etc/passwd', '%2fetc%2fpasswd'],
    ['./../secret.txt', './../secret.txt'],
    ['.secret.txt', '.secret.txt'],
    ['a//b', 'a//b'],
    ['\0', '%00'],
    ['secret.txt\0.png', 'secret.txt%00.png'],
    ['\uFF0E\uFF0E/secret.txt', encodeURIComponent('\uFF0E\uFF0E/secret.txt')],
    ['', ''],
    ['.', '.'],
    ['..', '..'],
    ['..', '%2e%2e'],
  ]
  for (const [key, written] of attempts) {
    it(`${JSON.stringify(written)} is refused, even with a valid signature`, async () => {
      const answer = await ask(signedPath(key, written))
      assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status))
      assert.equal(JSON.parse(answer.body.toString()).success, false)
      assert.ok(!answer.body.includes(canary))
    })
  }

  for (const inBucket of ['..', '%2e%2e', '.', '..%2f', '..%2fmedia', 'media%2f..', '%00', 'a%5cb', '']) {
    it(`by the bucket ${JSON.stringify(inBucket)} is refused`, async () => {
      const path = `/media/${inBucket}/secret.txt?expires=${expiresAt()}&signature=`
      for (const signed of [inBucket, safelyDecoded(inBucket)]) {
        const answer = await ask(path + signatureOf('secret.txt', expiresAt(), signed))
        assert.ok(answer.status >= 400 && answer.status < 500, String(answer.status))
        assert.ok(!answer.body.includes(canary))
      }
    })
  }

  it('is not found, for any mixture of dots, slashes and escapes', async () => {
    const piece = fc.constantFrom('..', '.', '/', '\\', '%2e', '%2f', '%5c', '%00', '%25', 'secret.txt', 'media', 'a')
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 7 }), async (pieces) => {
        const written = pieces.join('')
        const answer = await ask(signedPath(safelyDecoded(written), written))
        // Only the file directly in the bucket may be returned; none beside or above it.
        if (answer.status === 200) assert.equal(safelyDecoded(written), 'secret.txt')
        else assert.ok(answer.status >= 400 && answer.status < 500, `${written}: ${answer.status}`)
      }),
      { numRuns: 300 },
    )
  })

  it('cannot be written either', async () => {
    const { storage } = service.service.media
    const before = readdirSync(service.config.dataDir, { recursive: true }).length
    for (const key of [
      '../escape.txt',
      'a/../../escape.txt',
      '/escape.txt',
      'a\\..\\escape.txt',
      '..',
      '',
      '\0',
      '.hidden',
    ]) {
      await assert.rejects(storage.write(bucket, key, bytes), /cannot be stored/, key)
    }
    assert.equal(readdirSync(service.config.dataDir, { recursive: true }).length, before)
  })
})

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

describe('a file that a browser could run in our origin', () => {
  const attachments = [
    'svg',
    'SVG',
    'svgz',
    'html',
    'HTML',
    'htm',
    'xhtml',
    'xml',
    'js',
    'mjs',
    'css',
    'json',
    'wasm',
    'swf',
    'exe',
    'unknown',
  ]
  for (const extension of attachments) {
    it(`is a download: .${extension}`, async () => {
      const answer = await ask(signedPath(await write(`file.${extension}`, Buffer.from('<script>alert(1)</script>'))))
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-disposition'], 'attachment')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      assert.match(String(answer.headers['content-security-policy']), /default-src 'none'/)
    })
  }

  it('is a download if it has no extension, and always has a type', async () => {
    const answer = await ask(signedPath(await write('noextension', Buffer.from('<html>'))))
    assert.equal(answer.headers['content-type'], 'application/octet-stream')
    assert.equal(answer.headers['content-disposition'], 'attachment')
  })

  const inline: Record<string, string> = {
    png: 'image/png',
    jpg: 'image/jpeg',
    JPEG: 'image/jpeg',
    gif: 'image/gif',
    webp: 'image/webp',
    avif: 'image/avif',
    mp4: 'video/mp4',
    webm: 'video/webm',
    mp3: 'audio/mpeg',
    pdf: 'application/pdf',
    txt: 'text/plain; charset=utf-8',
  }
  for (const [extension, type] of Object.entries(inline)) {
    it(`is not .${extension}, which is displayed as ${type}`, async () => {
      const answer = await ask(signedPath(await write(`file.${extension}`)))
      assert.equal(answer.headers['content-type'], type)
      assert.equal(answer.headers['content-disposition'], 'inline')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    })
  }
})

describe('the expiry of a URL', () => {
  const ttl = fc.integer({ min: 60, max: 604_800 })
  const moment = fc.integer({ min: 0, max: Date.UTC(2100, 0) })

  it('is at least half the lifetime away, and never more than the whole', () => {
    fc.assert(
      fc.property(moment, ttl, (nowMs, ttlSeconds) => {
        const secondsLeft = expirySeconds(nowMs, ttlSeconds) - nowMs / 1000
        assert.ok(secondsLeft >= ttlSeconds / 2, `${secondsLeft} of ${ttlSeconds}`)
        assert.ok(secondsLeft <= ttlSeconds, `${secondsLeft} of ${ttlSeconds}`)
      }),
      { numRuns: 5000 },
    )
  })

  it('is the same within a window, and later in the next', () => {
    fc.assert(
      fc.property(moment, ttl, fc.double({ min: 0, max: 1, noNaN: true }), (nowMs, ttlSeconds, part) => {
        const windowMs = Math.floor(ttlSeconds / 2) * 1000
        const startMs = nowMs - (nowMs % windowMs)
        const expiry = expirySeconds(startMs, ttlSeconds)
        assert.equal(expirySeconds(startMs + Math.floor(part * (windowMs - 1)), ttlSeconds), expiry)
        assert.ok(expirySeconds(startMs + windowMs, ttlSeconds) > expiry)
      }),
      { numRuns: 5000 },
    )
  })

  it('keeps one URL for hours, which is still valid when the next one is delivered', async () => {
    const collection = await group.collection('Cached', { photo: { type: 'image' } })
    const key = await write('cached.png')
    await group.add(collection, { value: { photo: { name: 'photo', key, type: 'image' } } })
    const urlNow = async (): Promise<{ source: string; expiresAt: string }> => {
      const answer = await group.get(`/tenant/collectionObjects?collectionId=${collection.id}`)
      return answer.json().data.items[0].objectValue.photo.currentFile
    }
    const first = await urlNow()
    assert.equal(first.expiresAt, new Date(testStartMs + 24 * hourMs).toISOString())
    service.clock.now = testStartMs + 12 * hourMs - 1
    assert.deepEqual(await urlNow(), first)
    service.clock.now = testStartMs + 12 * hourMs
    const second = await urlNow()
    assert.notEqual(second.source, first.source)
    for (const { source } of [first, second]) assert.equal((await ask(pathOf(source))).status, 200)
  })
})

describe('signing', () => {
  const signer = createLocalSigner({ secrets: [Buffer.alloc(32, 1)], baseUrl: () => 'https://a.example' })
  const window = signingWindow(0, 60)
  const files = createCurrentFiles({ signer, ttlSeconds: 60, clock: () => 0 })
  const tenant = { groupID: 'a'.repeat(24) }
  const sign = async (key: string) =>
    (await files.prepare({ ...group.store, groupId: tenant.groupID }, bucket, [key])).sign(key)

  it('returns an absolute URL under the base URL, and its expiry', async () => {
    const { source, expiresAt: until } = (await sign(`${tenant.groupID}/a b.png`)) ?? {}
    assert.match(
      source ?? '',
      /^https:\/\/a\.example\/media\/media\/a{24}\/a%20b\.png\?expires=60&signature=[\w-]{43}$/,
    )
    assert.equal(until, '1970-01-01T00:01:00.000Z')
  })

  for (const key of [
    `${'b'.repeat(24)}/a.png`,
    'a.png',
    `${'a'.repeat(24)}`,
    `${'a'.repeat(25)}/a.png`,
    `${'a'.repeat(24)}/../${'b'.repeat(24)}/a.png`,
    `${'a'.repeat(24)}/`,
    `${'a'.repeat(24)}/%2e%2e/a.png`,
    '',
  ]) {
    it(`of ${JSON.stringify(key)} returns no URL to another group`, async () => {
      assert.equal(await sign(key), undefined)
    })
  }

  it('of a key that could leave its bucket throws for any caller', () => {
    for (const key of ['../a', 'a/../b', '/a', 'a\\b', 'a\0', '']) {
      assert.throws(() => signer.sign(bucket, key, window), /cannot be signed/)
      assert.equal(signer.verify(bucket, key, '60', 'x', 0), undefined)
    }
  })

  it('is verified for exactly what was signed', () => {
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 .+()_-]{0,20}$/)
    fc.assert(
      fc.property(name, name, (key, other) => {
        const url = new URL(signer.sign(bucket, key, window))
        const [expires = '', signature = ''] = [url.searchParams.get('expires'), url.searchParams.get('signature')].map(
          String,
        )
        assert.equal(signer.verify(bucket, key, expires, signature, 0), 60)
        assert.equal(signer.verify(bucket, other, expires, signature, 0) !== undefined, other === key)
        assert.equal(signer.verify('other', key, expires, signature, 0), undefined)
      }),
    )
  })
})

describe('writing a file', () => {
  it('leaves the complete file and no temporary one, also with concurrent writes', async () => {
    const key = `${group.group.id}/busy/file.bin`
    const contents = Array.from({ length: 8 }, (_, position) => Buffer.alloc(200_000, position))
    await Promise.all(contents.map((content) => service.service.media.storage.write(bucket, key, content)))
    const { body } = await ask(signedPath(key))
    assert.ok(contents.some((content) => content.equals(body)))
    const folder = join(localFolder(service.service, bucket), group.group.id, 'busy')
    assert.deepEqual(readdirSync(folder), ['file.bin'])
  })
})
