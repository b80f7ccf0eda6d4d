import { isMediaKey } from '../content/media-keys.ts'
import { keyInS3Address, type S3Place, s3Address } from './s3-address.ts'
import type { MediaSigner } from './signer.ts'
import { createSigV4, type S3Credentials } from './sigv4.ts'

/** Signs addresses under which an S3 store serves its files itself. */
export function createS3Signer({ place, ...credentials }: { place: S3Place } & S3Credentials): MediaSigner {
  const { presign } = createSigV4({ ...credentials, region: place.region })
  return {
    sign(bucketName, key, window) {
      if (!isMediaKey(key)) throw new Error(`${JSON.stringify(key)} cannot be a media key.`)
      return presign(s3Address(place, bucketName, key), window)
    },
    keyOf: (bucketName, address) => keyInS3Address(place, bucketName, address),
  }
}
