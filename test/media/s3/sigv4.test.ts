import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { canonicalQuery, createSigV4, type S3Message } from '../../../src/media/s3/sigv4.ts'

/** The key, bucket and time of the examples in Amazon's documentation of Signature Version 4 for S3. */
const sigV4 = createSigV4({
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
})
const host = 'examplebucket.s3.amazonaws.com'
const moment = Date.UTC(2013, 4, 24)

function signatureOf(message: Partial<S3Message> & { path: string }, nowMs = moment): string {
  const headers = sigV4.signHeaders(
    {
      method: 'GET',
      url: { origin: `https://${host}`, host, path: message.path },
      query: {},
      headers: {},
      body: Buffer.alloc(0),
      ...message,
    },
    nowMs,
  )
  return headers.authorization ?? ''
}

describe('signHeaders', () => {
  it('signs a GET like Amazon’s example', () => {
    assert.equal(
      signatureOf({ path: '/test.txt', headers: { range: 'bytes=0-9' } }),
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
  })

  it('signs a PUT and its body like Amazon’s example', () => {
    const headers = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' }
    const body = Buffer.from('Welcome to Amazon S3.')
    assert.match(
      signatureOf({ method: 'PUT', path: '/test%24file.text', headers, body }),
      /Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd$/,
    )
  })

  it('signs a query with and without values like Amazon’s examples', () => {
    assert.match(
      signatureOf({ path: '/', query: { prefix: 'J', 'max-keys': '2' } }),
      /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/,
    )
    assert.match(
      signatureOf({ path: '/', query: { lifecycle: '' } }),
      /Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543$/,
    )
  })

  it('changes the signing key every day', () => {
    const day = 24 * 3600 * 1000
    const days = [0, 1, 2, 3, 4, 5].map((count) => signatureOf({ path: '/test.txt' }, moment + count * day))
    assert.equal(new Set(days).size, days.length)
    assert.equal(signatureOf({ path: '/test.txt' }), days[0])
  })
})

describe('canonicalQuery', () => {
  it('is sorted by name, also if one is a prefix of another', () => {
    assert.equal(canonicalQuery({ 'a-b': '1', a: "it's (2)!*", B: '' }), 'B=&a=it%27s%20%282%29%21%2A&a-b=1')
  })
})
