import { createHash, createHmac } from 'node:crypto'
import { createBoundedMap } from '../bounded-map.ts'
import { encodeForS3, type S3Address } from './s3-address.ts'
import type { SigningWindow } from './signer.ts'

const algorithm = 'AWS4-HMAC-SHA256'
/** Addresses are signed with the key of their window's day, our own requests with that of today. */
const keptSigningKeys = 4

export interface S3Credentials {
  accessKeyId: string
  secretAccessKey: string
}

/** A request of ours. The names of its headers are in small letters. */
export interface S3Message {
  method: string
  address: S3Address
  query: Record<string, string>
  headers: Record<string, string>
  body: Buffer
}

/** Signs as Amazon's "Signature Version 4" says. */
export interface SigV4 {
  /** An address that anybody can GET within the window; the very one that the AWS SDK would make. */
  presign(address: S3Address, window: SigningWindow): string
  /** The headers to send with the request: its own and those of the signature. */
  signHeaders(message: S3Message, nowMs: number): Record<string, string>
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/** A query string in the order in which it is signed. */
export function canonicalQuery(query: Record<string, string>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${encodeForS3(name)}=${encodeForS3(query[name] ?? '')}`)
    .join('&')
}

/** `20260131T235959Z` */
function amzDate(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')
}

export function createSigV4({ accessKeyId, secretAccessKey, region }: S3Credentials & { region: string }): SigV4 {
  const signingKeys = createBoundedMap<string, Buffer>(keptSigningKeys)

  function signingKey(day: string): Buffer {
    const known = signingKeys.get(day)
    if (known) return known
    const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`) as Buffer
    signingKeys.set(day, key)
    return key
  }

  const scopeOf = (date: string): string => `${date.slice(0, 8)}/${region}/s3/aws4_request`

  function signatureOf(date: string, request: Omit<S3Message, 'body'> & { bodyHash: string }): string {
    const { method, address, query, headers, bodyHash } = request
    const names = Object.keys(headers).sort()
    const canonicalRequest = [
      method,
      address.path,
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
    presign(address, { startSeconds, expiresSeconds }) {
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
      const headers = { host: address.host }
      const signature = signatureOf(date, { method: 'GET', address, query, headers, bodyHash: 'UNSIGNED-PAYLOAD' })
      return `${address.origin}${address.path}?${canonicalQuery({ ...query, 'X-Amz-Signature': signature })}`
    },

    signHeaders({ body, ...message }, nowMs) {
      const date = amzDate(nowMs)
      const bodyHash = sha256(body)
      const headers = { ...message.headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': date }
      const signed = { ...headers, host: message.address.host }
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
