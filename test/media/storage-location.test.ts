import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { parseStorageLocation } from '../../src/media/storage-location.ts'

function s3(endpoint: string, region = 'us-east-1', pathStyle = false) {
  return { kind: 's3', endpoint: new URL(endpoint), region, pathStyle }
}

describe('MEDIA_URL', () => {
  it('defaults to the data folder', () => {
    assert.deepEqual(parseStorageLocation(''), { kind: 'folder', path: undefined })
  })

  it('may be a folder', () => {
    assert.deepEqual(parseStorageLocation('/var/media'), { kind: 'folder', path: '/var/media' })
    assert.deepEqual(parseStorageLocation('files/media'), { kind: 'folder', path: resolve('files/media') })
    assert.deepEqual(parseStorageLocation('file:///var/our%20media'), { kind: 'folder', path: '/var/our media' })
  })

  it('may be an S3 store, by default over https and with the bucket in the host name', () => {
    assert.deepEqual(
      parseStorageLocation('s3://s3.eu-central-1.amazonaws.com?region=eu-central-1'),
      s3('https://s3.eu-central-1.amazonaws.com', 'eu-central-1'),
    )
    assert.deepEqual(parseStorageLocation('s3://s3.example.com/'), s3('https://s3.example.com'))
    assert.deepEqual(
      parseStorageLocation('s3://127.0.0.1:9000?pathStyle=true&tls=false'),
      s3('http://127.0.0.1:9000', 'us-east-1', true),
    )
    assert.deepEqual(parseStorageLocation('s3://minio:9000?pathStyle=false&tls=true'), s3('https://minio:9000'))
  })

  it('is refused with the correct form', () => {
    for (const [text, message] of [
      ['s3://key:secret@s3.example.com', /MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY/],
      ['s3://s3.example.com/bucket', /no bucket/],
      ['s3://s3.example.com#bucket', /no bucket/],
      ['s3://', /name the endpoint/],
      ['s3://s3.example.com?bucket=a', /must not have "bucket"/],
      ['s3://s3.example.com?pathStyle=yes', /pathStyle=true or pathStyle=false/],
      ['s3://s3.example.com?tls=1', /tls=true or tls=false/],
      ['s3://s3.example.com?region=Frankfurt', /region=eu-central-1/],
      ['https://s3.example.com', /must be a folder, or a store/],
      ['file://host/var/media', /must be a folder, or a store/],
    ] as const)
      assert.throws(() => parseStorageLocation(text), message, text)
  })

  it('never discloses a secret in it', () => {
    assert.throws(
      () => parseStorageLocation('s3://key:hush@s3.example.com'),
      (error: Error) => !error.message.includes('hush'),
    )
  })
})
