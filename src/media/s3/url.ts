import { isIP } from 'node:net'
import { bucketNamePattern, isForeignKey } from '../../content/media-keys.ts'
import { mediaKeyFromUrl } from '../signer.ts'
import type { StorageLocation } from '../storage-location.ts'

export type S3Location = Extract<StorageLocation, { kind: 's3' }>

/** A URL in the parts that a signature covers. The path is percent-encoded. */
export interface S3Url {
  origin: string
  host: string
  path: string
}

/** S3 requires more characters encoded than `encodeURIComponent` does. */
export const encodeForS3 = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** The bucket in the path, or in the host name. */
function bucketUrl({ endpoint }: S3Location, bucketName: string, inPath: boolean): S3Url {
  const host = inPath ? endpoint.host : `${bucketName}.${endpoint.host}`
  return { origin: `${endpoint.protocol}//${host}`, host, path: inPath ? `/${bucketName}` : '' }
}

/** Like the AWS SDK: a certificate for `*.host` covers no bucket with a dot, and an IP address has no subdomains. */
const isPathStyle = ({ endpoint, pathStyle }: S3Location, bucketName: string): boolean =>
  pathStyle || bucketName.includes('.') || isIP(endpoint.hostname.replace(/^\[|\]$/g, '')) !== 0

/** The URL of a file, or of the bucket when no key is given. */
export function s3Url(location: S3Location, bucketName: string, key?: string): S3Url {
  if (!bucketNamePattern.test(bucketName)) throw new Error(`${JSON.stringify(bucketName)} cannot name a bucket.`)
  if (key !== undefined && !isForeignKey(key)) throw new Error(`${JSON.stringify(key)} cannot be a media key.`)
  const bucket = bucketUrl(location, bucketName, isPathStyle(location, bucketName))
  if (key === undefined) return { ...bucket, path: bucket.path || '/' }
  return { ...bucket, path: `${bucket.path}/${key.split('/').map(encodeForS3).join('/')}` }
}

/** The key in a URL of either style. */
export function keyFromS3Url(location: S3Location, bucketName: string, url: URL): string | undefined {
  const bases = [true, false].map((inPath) => {
    const { origin, path } = bucketUrl(location, bucketName, inPath)
    return `${origin}${path}`
  })
  return bases.map((base) => mediaKeyFromUrl(base, url)).find((key) => key !== undefined)
}
