import { isMediaKey } from '../../content/media-keys.ts'
import type { MediaSigner } from '../signer.ts'
import { createSigV4, type S3Credentials } from './sigv4.ts'
import { keyFromS3Url, type S3Location, s3Url } from './url.ts'

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
