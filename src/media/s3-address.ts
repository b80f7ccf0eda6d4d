import { isIP } from 'node:net'
import { bucketNamePattern, isForeignKey } from '../content/media-keys.ts'
import { keyAfter } from './key-in-address.ts'
import type { MediaPlace } from './place.ts'

export type S3Place = Extract<MediaPlace, { kind: 's3' }>

/** An address in the parts that a signature covers. The path is encoded already. */
export interface S3Address {
  origin: string
  host: string
  path: string
}

/** S3 wants more signs encoded than `encodeURIComponent` does. */
export function encodeForS3(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The bucket as a part of the path, or as one of the host's name. */
function bucketAddress({ endpoint }: S3Place, bucketName: string, inPath: boolean): S3Address {
  const host = inPath ? endpoint.host : `${bucketName}.${endpoint.host}`
  return { origin: `${endpoint.protocol}//${host}`, host, path: inPath ? `/${bucketName}` : '' }
}

/** As the AWS SDK does it: no certificate for `*.host` covers a name with a dot, and before an IP address there are none. */
function isInPath({ endpoint, pathStyle }: S3Place, bucketName: string): boolean {
  return pathStyle || bucketName.includes('.') || isIP(endpoint.hostname.replace(/^\[|\]$/g, '')) !== 0
}

/** Where a file is, or its bucket when no key is given. */
export function s3Address(place: S3Place, bucketName: string, key?: string): S3Address {
  if (!bucketNamePattern.test(bucketName)) throw new Error(`${JSON.stringify(bucketName)} cannot name a bucket.`)
  if (key !== undefined && !isForeignKey(key)) throw new Error(`${JSON.stringify(key)} cannot be a media key.`)
  const bucket = bucketAddress(place, bucketName, isInPath(place, bucketName))
  if (key === undefined) return { ...bucket, path: bucket.path || '/' }
  return { ...bucket, path: `${bucket.path}/${key.split('/').map(encodeForS3).join('/')}` }
}

/** The key in an address of ours, in whichever of the two styles it was made. */
export function keyInS3Address(place: S3Place, bucketName: string, address: URL): string | undefined {
  const bases = [true, false].map((inPath) => {
    const { origin, path } = bucketAddress(place, bucketName, inPath)
    return `${origin}${path}`
  })
  return bases.map((base) => keyAfter(base, address)).find((key) => key !== undefined)
}
