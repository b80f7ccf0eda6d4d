import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../../src/core/errors.ts'
import type { S3Options } from '../../../src/media/s3/client.ts'
import { createS3Storage } from '../../../src/media/s3/storage.ts'
import { UnfinishedUploadsUnavailable } from '../../../src/media/storage.ts'

const bucket = 'bakery-media'
const credentials = { accessKeyId: 'AKIAOURS', secretAccessKey: 'hush-hush' }
const large = Buffer.alloc(33 * 1024 ** 2, 'x')

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const answer =
  (status: number, body = '', headers: Record<string, string> = {}): Answer =>
  (request, response) => {
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  }

const failure = (status: number, code: string): Answer =>
  answer(status, `<Error><Code>${code}</Code><Message>hush</Message></Error>`)

/** Reads a little and disconnects. */
const reset: Answer = (request) => {
  request.once('data', () => request.socket.resetAndDestroy())
}

/** A store with scripted answers by request number, which records the requests. */
async function scriptedStore(
  t: TestContext,
  script: (line: string, count: number) => Answer,
  options: Partial<S3Options> = {},
) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url}`
    requests.push(line)
    script(line, requests.filter((earlier) => earlier === line).length)(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const location: S3Options['location'] = { kind: 's3', endpoint, region: 'us-east-1', pathStyle: true }
  return { storage: createS3Storage({ location, ...credentials, retryForMs: 0, ...options }), requests, location }
}

async function failureOf(attempt: Promise<unknown>): Promise<AppError> {
  const error = await attempt.then(
    () => assert.fail('it succeeded'),
    (thrown) => thrown,
  )
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, 'Unavailable')
  assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /hush|AKIAOURS|Signature=|Credential=|uploadId/)
  return error
}

const uploadStarted = answer(
  200,
  '<InitiateMultipartUploadResult><UploadId>up/1+2=</UploadId></InitiateMultipartUploadResult>',
)
const uploadId = 'uploadId=up%2F1%2B2%3D'
const file = `/${bucket}/g1/film.mp4`

/** An upload that succeeds except where scripted. */
const upload =
  (faults: (line: string, count: number) => Answer | undefined) =>
  (line: string, count: number): Answer => {
    const fault = faults(line, count)
    if (fault) return fault
    if (line.startsWith('POST') && line.endsWith('?uploads=')) return uploadStarted
    if (line.startsWith('PUT')) return answer(200, '', { ETag: `"etag of ${/partNumber=(\d+)/.exec(line)?.[1]}"` })
    if (line.startsWith('DELETE')) return answer(204)
    return answer(200, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
  }

describe('S3 storage, on a temporary failure of the store', () => {
  for (const [what, fault] of [
    ['an answer 500', failure(500, 'InternalError')],
    ['an answer 503', failure(503, 'SlowDown')],
    ['an answer 429', failure(429, 'TooManyRequests')],
    ['a connection that breaks', reset],
  ] as const)
    it(`tries again after ${what}`, async (t) => {
      const { storage, requests } = await scriptedStore(t, (_, count) => (count < 3 ? fault : answer(200)))
      await storage.write(bucket, 'g1/a.png', Buffer.from('content'))
      assert.deepEqual(requests, Array(3).fill(`PUT /${bucket}/g1/a.png`))
    })

  it('gives up at the time limit, after at least three attempts, and reports a temporary failure', async (t) => {
    const { storage, requests } = await scriptedStore(t, () => failure(503, 'SlowDown'))
    const error = await failureOf(storage.write(bucket, 'g1/a.png', Buffer.from('content')))
    assert.equal(
      error.message,
      'It was not possible to write a file in the bucket "bakery-media": the store answered HTTP 503, SlowDown. Try again in a moment.',
    )
    assert.equal(error.retryAfterSeconds, 5)
    assert.equal(requests.length, 3)
  })

  it('retries until the time limit, however often that is', async (t) => {
    const fault = failure(503, 'SlowDown')
    const script = (_: string, count: number) => (count < 5 ? fault : answer(200))
    const { storage, requests } = await scriptedStore(t, script, { retryForMs: 30_000 })
    await storage.write(bucket, 'g1/a.png', Buffer.from('content'))
    assert.equal(requests.length, 5)
  })

  it('requests a page of a listing again when its answer breaks off', async (t) => {
    const page = (key: string, next = '') =>
      `<ListBucketResult><Contents><Key>${key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>${next}</ListBucketResult>`
    const { storage, requests } = await scriptedStore(t, (line, count) => {
      if (!line.includes('continuation-token'))
        return answer(200, page('g1/it&apos;s.txt', '<NextContinuationToken>a&amp;b=</NextContinuationToken>'))
      if (count > 1) return answer(200, page('g1/you&#39;re &#x4f60;.txt'))
      return (_, response) => {
        response.writeHead(200, { 'Content-Length': '1000' }).write('<ListBucket')
        setTimeout(() => response.destroy(), 10)
      }
    })
    const files = await Array.fromAsync(storage.list(bucket, 'g1'))
    assert.deepEqual(
      files.map(({ key }) => key),
      ["g1/it's.txt", "g1/you're 你.txt"],
    )
    assert.equal(files[0]?.modifiedMs, Date.UTC(2026, 0, 1))
    assert.equal(requests[1], `GET /${bucket}?continuation-token=a%26b%3D&list-type=2&prefix=g1%2F`)
    assert.equal(requests.length, 3)
  })

  it('lists and removes foreign files with names that XML escapes', async (t) => {
    const files = ['g1/a&amp;b.txt', 'g1/&lt;c&gt;.txt', 'g1/../d.txt', 'g1/.hidden'].map(
      (key) => `<Contents><Key>${key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
    )
    const listing = `<ListBucketResult>${files.join('')}</ListBucketResult>`
    const { storage, requests } = await scriptedStore(t, (line) =>
      line.startsWith('GET') ? answer(200, listing) : answer(204),
    )
    const keys = (await Array.fromAsync(storage.list(bucket, 'g1'))).map(({ key }) => key)
    assert.deepEqual(keys, ['g1/a&b.txt', 'g1/<c>.txt'])
    await storage.remove(bucket, keys)
    assert.deepEqual(requests.slice(1).toSorted(), [
      `DELETE /${bucket}/g1/%3Cc%3E.txt`,
      `DELETE /${bucket}/g1/a%26b.txt`,
    ])
  })

  it('limits the wait for an answer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let count = 0
    const { location } = await scriptedStore(t, () => answer(200))
    const storage = createS3Storage({
      location,
      ...credentials,
      retryForMs: 0,
      fetch: (_, init) =>
        new Promise((_, reject) => {
          count += 1
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        }),
    })
    const failed = failureOf(storage.remove(bucket, ['g1/a.png']))
    for (let half = 0; half < 30 && count < 4; half++) {
      await pause(50)
      t.mock.timers.tick(15_000)
    }
    assert.match((await failed).message, /remove a file.*no answer in 30 seconds/)
    assert.equal(count, 3)
  })
})

describe('S3 storage, when an upload in parts fails', () => {
  it('aborts the upload when the connection breaks within a part', async (t) => {
    const script = upload((line) => (line.includes('partNumber=2') ? reset : undefined))
    const { storage, requests } = await scriptedStore(t, script)
    const error = await failureOf(storage.write(bucket, 'g1/film.mp4', large))
    assert.match(
      error.message,
      /write a part of a file in the bucket "bakery-media": the connection to the store failed/,
    )
    assert.deepEqual(requests, [
      `POST ${file}?uploads=`,
      `PUT ${file}?partNumber=1&${uploadId}`,
      ...Array(3).fill(`PUT ${file}?partNumber=2&${uploadId}`),
      `DELETE ${file}?${uploadId}`,
    ])
  })

  it('aborts the upload when the source fails', async (t) => {
    const { storage, requests } = await scriptedStore(
      t,
      upload(() => undefined),
    )
    const source = Readable.from(
      (async function* () {
        yield large
        throw new Error('the visitor went away')
      })(),
    )
    await assert.rejects(storage.write(bucket, 'g1/film.mp4', source), /the visitor went away/)
    assert.equal(requests.at(-1), `DELETE ${file}?${uploadId}`)
    assert.ok(!requests.includes(`POST ${file}?${uploadId}`), 'nothing was assembled')
  })

  it('stops reading the source when the store fails', async (t) => {
    const script = upload((line) => (line.includes('partNumber=1') ? failure(403, 'AccessDenied') : undefined))
    const { storage } = await scriptedStore(t, script)
    const source = Readable.from([large, large, large])
    await failureOf(storage.write(bucket, 'g1/film.mp4', source))
    assert.ok(source.destroyed)
  })

  it('treats a 200 with an error in its body as a failure', async (t) => {
    const script = upload((line) => (line === `POST ${file}?${uploadId}` ? failure(200, 'InternalError') : undefined))
    const { storage, requests } = await scriptedStore(t, script)
    const error = await failureOf(storage.write(bucket, 'g1/film.mp4', large))
    assert.match(error.message, /complete an upload.*InternalError/)
    assert.equal(requests.at(-1), `DELETE ${file}?${uploadId}`)
  })

  it('reports the first error when aborting fails, too', async (t) => {
    const script = upload((line) =>
      line.startsWith('DELETE')
        ? failure(500, 'InternalError')
        : line.startsWith('PUT')
          ? failure(403, 'AccessDenied')
          : undefined,
    )
    const { storage } = await scriptedStore(t, script)
    assert.match((await failureOf(storage.write(bucket, 'g1/film.mp4', large))).message, /AccessDenied/)
  })

  it('completes the upload with its parts in order', async (t) => {
    let sent = ''
    const { storage } = await scriptedStore(
      t,
      upload((line) =>
        line === `POST ${file}?${uploadId}`
          ? (request, response) => {
              request.on('data', (chunk) => (sent += chunk)).on('end', () => response.end('<ok/>'))
            }
          : undefined,
      ),
    )
    await storage.write(bucket, 'g1/film.mp4', large)
    const parts = [1, 2, 3].map(
      (number) => `<Part><PartNumber>${number}</PartNumber><ETag>"etag of ${number}"</ETag></Part>`,
    )
    assert.equal(sent, `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
  })
})

describe('S3 storage, unfinished uploads', () => {
  const upload = (key: string, id: string) =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>2026-01-02T03:04:05Z</Initiated></Upload>`
  const page = (uploads: string, next = '') =>
    `<ListMultipartUploadsResult><Bucket>${bucket}</Bucket>${next}${uploads}</ListMultipartUploadsResult>`
  const more =
    '<IsTruncated>true</IsTruncated><NextKeyMarker>g1/a&amp;b</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>'

  it('are found on all pages, also with names that XML escapes, and aborted by their ids', async (t) => {
    const { storage, requests } = await scriptedStore(t, (line) => {
      if (line.startsWith('DELETE')) return line.includes('uploadId=u3') ? failure(404, 'NoSuchUpload') : answer(204)
      if (!line.includes('key-marker')) return answer(200, page(upload('g1/a&amp;b', 'u1'), more))
      return answer(200, page(`${upload('g1/&lt;c&gt;.mp4', 'u2')}${upload('g1/d', 'u3')}${upload('g2/e', 'u4')}`))
    })
    const found = await Array.fromAsync(storage.listUnfinished(bucket, 'g1'))
    const startedMs = Date.UTC(2026, 0, 2, 3, 4, 5)
    assert.deepEqual(found, [
      { key: 'g1/a&b', uploadId: 'u1', startedMs },
      { key: 'g1/<c>.mp4', uploadId: 'u2', startedMs },
      { key: 'g1/d', uploadId: 'u3', startedMs },
    ])
    for (const each of found) await storage.removeUnfinished(bucket, each)
    assert.deepEqual(requests, [
      `GET /${bucket}?prefix=g1%2F&uploads=`,
      `GET /${bucket}?key-marker=g1%2Fa%26b&prefix=g1%2F&upload-id-marker=u1&uploads=`,
      `DELETE /${bucket}/g1/a%26b?uploadId=u1`,
      `DELETE /${bucket}/g1/%3Cc%3E.mp4?uploadId=u2`,
      `DELETE /${bucket}/g1/d?uploadId=u3`,
    ])
  })

  it('are unknown if the store does not list them, or does not permit it', async (t) => {
    const bare = '<ListBucketResult><Contents><Key>g1/a</Key></Contents></ListBucketResult>'
    for (const script of [failure(501, 'NotImplemented'), failure(403, 'AccessDenied'), answer(200, bare)]) {
      const { storage, requests } = await scriptedStore(t, () => script)
      await assert.rejects(Array.fromAsync(storage.listUnfinished(bucket, 'g1')), UnfinishedUploadsUnavailable)
      assert.equal(requests.length, 1)
    }
  })

  it('never refer outside the bucket', async (t) => {
    const { storage, requests } = await scriptedStore(t, () => answer(200, page(upload('g1/../g2/a', 'u1'))))
    assert.deepEqual(await Array.fromAsync(storage.listUnfinished(bucket, 'g1')), [])
    const foreign = { key: 'g1/../g2/a', uploadId: 'u1', startedMs: 0 }
    await assert.rejects(storage.removeUnfinished(bucket, foreign), /cannot be a media key/)
    await assert.rejects(storage.remove(bucket, ['g1/../g2/a']), /cannot be a media key/)
    assert.equal(requests.length, 1)
  })
})

describe('S3 storage, when the store refuses', () => {
  for (const [status, code, advice] of [
    [
      403,
      'AccessDenied',
      /HTTP 403, AccessDenied\. Check MEDIA_ACCESS_KEY_ID, and that it may list the bucket and read/,
    ],
    [403, 'SignatureDoesNotMatch', /Check MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY/],
    [404, 'NoSuchBucket', /HTTP 404, NoSuchBucket\. Create the bucket/],
    [301, 'PermanentRedirect', /HTTP 301, PermanentRedirect\. Check the endpoint and the region in MEDIA_URL/],
    [400, 'AuthorizationHeaderMalformed', /Check the endpoint and the region in MEDIA_URL/],
    [403, 'RequestTimeTooSkewed', /Set the clock/],
    [405, 'no code, hush', /HTTP 405\. Check MEDIA_URL/],
  ] as const)
    it(`reports what to do about ${code}, at once and without a secret`, async (t) => {
      const { storage, requests } = await scriptedStore(t, () => failure(status, code))
      const error = await failureOf(buffer(storage.read(bucket, 'g1/a.png')))
      assert.match(error.message, /^It was not possible to read a file in the bucket "bakery-media": /)
      assert.match(error.message, advice)
      assert.equal(requests.length, 1)
    })

  it('does not accept the page of another server as a listing', async (t) => {
    const { storage } = await scriptedStore(t, () => answer(200, '<html><body>Welcome to your router</body></html>'))
    const error = await failureOf(storage.removeFolder(bucket, 'g1'))
    assert.match(error.message, /list files.*the response is not a listing/)
  })

  it('fails a download that breaks off', async (t) => {
    const { storage } = await scriptedStore(t, () => (_, response) => {
      response.writeHead(200, { 'Content-Length': '1000' }).write('the beginning')
      setTimeout(() => response.destroy(), 10)
    })
    assert.match((await failureOf(buffer(storage.read(bucket, 'g1/a.png')))).message, /read a file.*connection/)
  })

  it('names the setting to check when the store is unreachable', async () => {
    const gone = createServer()
    await once(gone.listen(0, '127.0.0.1'), 'listening')
    const endpoint = new URL(`http://127.0.0.1:${(gone.address() as AddressInfo).port}`)
    await new Promise((resolve) => gone.close(resolve))
    const location = { kind: 's3', endpoint, region: 'us-east-1', pathStyle: true } as const
    const error = await failureOf(
      createS3Storage({ location, ...credentials, retryForMs: 0 }).write(bucket, 'a.png', Buffer.from('x')),
    )
    assert.match(error.message, /ECONNREFUSED\). Check MEDIA_URL/)
  })
})
