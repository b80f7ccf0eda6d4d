import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import fc from 'fast-check'
import { createS3Signer } from '../../../src/media/s3/sigv4.ts'
import type { S3Location } from '../../../src/media/s3/url.ts'
import { anyMediaKey } from '../../helpers/media-key-arbitrary.ts'

const credentials = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'a/secret+of=ours' }
const window = { startSeconds: 1_767_225_600, expiresSeconds: 1_767_312_000 }

function locationAt(endpoint: string, pathStyle: boolean): S3Location {
  return { kind: 's3', endpoint: new URL(endpoint), region: 'eu-central-1', pathStyle }
}

function bothSigners(location: S3Location) {
  const client = new S3Client({
    endpoint: location.endpoint.origin,
    region: location.region,
    forcePathStyle: location.pathStyle,
    credentials,
  })
  return {
    ours: createS3Signer({ location, ...credentials }),
    theirs: (Bucket: string, Key: string, { startSeconds, expiresSeconds } = window): Promise<string> =>
      getSignedUrl(client, new GetObjectCommand({ Bucket, Key }), {
        expiresIn: expiresSeconds - startSeconds,
        signingDate: new Date(startSeconds * 1000),
      }),
  }
}

const awkwardKey = "g1/a b/c+d'(é)!~=,@ 你好.png"

describe('the S3 signer', () => {
  for (const pathStyle of [true, false]) {
    it(`makes the same URL as the AWS SDK, byte for byte, for a thousand keys ${pathStyle ? 'in path style' : 'in virtual-hosted style'}`, async () => {
      const { ours, theirs } = bothSigners(locationAt('https://s3.eu-central-1.amazonaws.com', pathStyle))
      const anyWindow = fc.record({ start: fc.nat(4_000_000_000), life: fc.integer({ min: 60, max: 604_800 }) })
      await fc.assert(
        fc.asyncProperty(anyMediaKey, anyWindow, async (key, { start, life }) => {
          const moment = { startSeconds: start, expiresSeconds: start + life }
          const url = ours.sign('bakery-media', key, moment)
          assert.equal(url, await theirs('bakery-media', key, moment))
          assert.equal(ours.keyOf('bakery-media', new URL(url)), key)
        }),
        { numRuns: 1000 },
      )
    })
  }

  it('puts the bucket where the AWS SDK does: with a port, an IP address, or a dot in its name', async () => {
    for (const [endpoint, bucket] of [
      ['https://minio.example.com:9000', 'bakery'],
      ['http://127.0.0.1:9000', 'bakery'],
      ['http://[::1]:9000', 'bakery'],
      ['https://s3.example.com', 'media.bakery.example'],
    ] as const) {
      for (const pathStyle of [true, false]) {
        const { ours, theirs } = bothSigners(locationAt(endpoint, pathStyle))
        assert.equal(ours.sign(bucket, awkwardKey, window), await theirs(bucket, awkwardKey))
      }
    }
  })

  it('returns one URL per file within a window', () => {
    const { ours } = bothSigners(locationAt('https://s3.example.com', false))
    assert.equal(ours.sign('bakery', awkwardKey, window), ours.sign('bakery', awkwardKey, window))
    const later = { startSeconds: window.startSeconds + 43_200, expiresSeconds: window.expiresSeconds + 43_200 }
    assert.notEqual(ours.sign('bakery', awkwardKey, window), ours.sign('bakery', awkwardKey, later))
  })

  it('refuses to sign an invalid key or bucket', () => {
    const { ours } = bothSigners(locationAt('https://s3.example.com', false))
    for (const key of ['', '../a.png', 'a//b.png', '/a.png', '.hidden', 'a?b', 'a\\b'])
      assert.throws(() => ours.sign('bakery', key, window), /cannot be a media key/)
    for (const bucket of ['', 'evil.example/x', 'a', 'UPPER'])
      assert.throws(() => ours.sign(bucket, 'a.png', window), /cannot name a bucket/)
  })

  it('finds the key in its own URLs in both styles', () => {
    const { ours } = bothSigners(locationAt('https://s3.example.com', false))
    for (const url of ['https://bakery.s3.example.com/g1/a%20b.png', 'https://s3.example.com/bakery/g1/a%20b.png?x=1'])
      assert.equal(ours.keyOf('bakery', new URL(url)), 'g1/a b.png')
  })

  it('finds no key in a URL of another host, scheme or bucket, or in a malformed one', () => {
    const { ours } = bothSigners(locationAt('https://s3.example.com', false))
    for (const url of [
      'https://evil.example/bakery/g1/a.png',
      'https://bakery.s3.example.com.evil.example/g1/a.png',
      'http://s3.example.com/bakery/g1/a.png',
      'https://s3.example.com:8443/bakery/g1/a.png',
      'https://s3.example.com/bakery2/g1/a.png',
      'https://bakery2.s3.example.com/g1/a.png',
      'https://s3.example.com/bakery/',
      'https://s3.example.com/bakery',
      'https://s3.example.com/bakery/%E0%A4%A',
      'https://s3.example.com/bakery/g1%2F..%2Fa.png',
      'data:text/plain,hello',
    ])
      assert.equal(ours.keyOf('bakery', new URL(url)), undefined, url)
  })
})
