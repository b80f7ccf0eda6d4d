import { createHash, createHmac } from 'node:crypto'
import { createLruMap } from '../../cache/lru-map.ts'
import { isMediaKey } from '../../content/media-keys.ts'
import type { MediaSigner, SigningWindow } from '../signer.ts'
import { encodeForS3, keyFromS3Url, type S3Location, type S3Url, s3Url } from './url.ts'

const algorithm = 'AWS4-HMAC-SHA256'
/** URLs are signed with the key of their window's day, requests with today's. */
const maxSigningKeys = 4

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

/** Header names are in lower case. */
export interface S3Message {
  method: string
  url: S3Url
  query: Record<string, string>
  headers: Record<string, string>
  body: Buffer
}

/** Amazon's "Signature Version 4". */
export interface SigV4 {
  /** A URL for GET requests within the window; byte for byte that of the AWS SDK. */
  presign(url: S3Url, window: SigningWindow): string
  /** The headers to send with the request: its own and those of the signature. */
  signHeaders(message: S3Message, nowMs: number): Record<string, string>
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

/** A query string in the order in which it is signed. */
export function canonicalQuery(query: Record<string, string>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encodeForS3(name)}=${encodeForS3(query[name] ?? '')}`)
    .join('&')
}

/** `20260131T235959Z` */
const amzDate = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')

export function createSigV4({ accessKeyId, secretAccessKey, region }: S3Credentials & { region: string }): SigV4 {
  const signingKeys = createLruMap<string, Buffer>(maxSigningKeys)

  function signingKey(day: string): Buffer {
    const known = signingKeys.get(day)
    if (known) return known
    const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`) as Buffer
    signingKeys.set(day, key)
    return key
  }

  const scopeOf = (date: string): string => `${date.slice(0, 8)}/${region}/s3/aws4_request`

  function signatureOf(date: string, request: Omit<S3Message, 'body'> & { bodyHash: string }): string {
    const { method, url, query, headers, bodyHash } = request
    const names = Object.keys(headers).sort()
    const canonicalRequest = [
      method,
      url.path,
      canonicalQuery(query),
      ...names.map((name) => `${name}:${headers[name]}`),
      '',
      names.join(';'),
      bodyHash,
    ].join('\n')
    const text = [algorithm, date, scopeOf(date), sha256(canonicalRequest)].join('\n')
    return hmac(signingKey(date.slice(0, 8)), text).toString('hex')
  }

  return {
    presign(url, { startSeconds, expiresSeconds }) {
      const date = amzDate(startSeconds * 1000)
      const query = {
        'X-Amz-Algorithm': algorithm,
        'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
        'X-Amz-Credential': `${accessKeyId}/${scopeOf(date)}`,
        'X-Amz-Date': date,
        'X-Amz-Expires': String(expiresSeconds - startSeconds),
        'X-Amz-SignedHeaders': 'host',
        'x-amz-checksum-mode': 'ENABLED',
        'x-id': 'GetObject',
      }
      const headers = { host: url.host }
      const signature = signatureOf(date, { method: 'GET', url, query, headers, bodyHash: 'UNSIGNED-PAYLOAD' })
      return `${url.origin}${url.path}?${canonicalQuery({ ...query, 'X-Amz-Signature': signature })}`
    },

    signHeaders({ body, ...message }, nowMs) {
      const date = amzDate(nowMs)
      const bodyHash = sha256(body)
      const headers = { ...message.headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': date }
      const signed = { ...headers, host: message.url.host }
      const signature = signatureOf(date, { ...message, headers: signed, bodyHash })
      const names = Object.keys(signed).sort().join(';')
      const credential = `${accessKeyId}/${scopeOf(date)}`
      return {
        ...headers,
        authorization: `${algorithm} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
      }
    },
  }
}

/** Presigns URLs at which an S3 store serves its files itself. */
export function createS3Signer({ location, ...credentials }: { location: S3Location } & S3Credentials): MediaSigner {
  const { presign } = createSigV4({ ...credentials, region: location.region })
  return {
    sign(bucketName, key, window) {
      if (!isMediaKey(key)) throw new Error(`${JSON.stringify(key)} cannot be a media key.`)
      return presign(s3Url(location, bucketName, key), window)
    },
    keyOf: (bucketName, url) => keyFromS3Url(location, bucketName, url),
  }
}
