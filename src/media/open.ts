import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { invalid } from '../core/errors.ts'
import { deriveKey, loadMasterKey } from '../security/master-key.ts'
import { createCloudFrontSigner } from './cloudfront-signer.ts'
import { createLocalSigner, type LocalMediaSigner } from './local-signer.ts'
import { createLocalStorage, type LocalMediaStorage } from './local-storage.ts'
import type { S3Credentials } from './s3/sigv4.ts'
import { createS3Signer } from './s3/sigv4.ts'
import { createS3Storage } from './s3/storage.ts'
import type { S3Location } from './s3/url.ts'
import type { MediaSigner } from './signer.ts'
import type { MediaStorage } from './storage.ts'

/** Storage in a folder, from which the service delivers files itself. */
export interface LocalMedia {
  storage: LocalMediaStorage
  signer: LocalMediaSigner
}

export const localMediaFolder = ({ dataDir, mediaLocation }: Pick<Config, 'dataDir' | 'mediaLocation'>): string =>
  (mediaLocation.kind === 'folder' ? mediaLocation.path : undefined) ?? join(dataDir, 'media')

function s3CredentialsOf({ mediaAccessKeyId, mediaSecretAccessKey }: Config): S3Credentials {
  if (!mediaAccessKeyId || !mediaSecretAccessKey)
    throw invalid('MEDIA_URL names an S3 store: set MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY as well.')
  return { accessKeyId: mediaAccessKeyId, secretAccessKey: mediaSecretAccessKey }
}

export function openStorage(config: Config, onStoreSuccess?: () => void): MediaStorage {
  const { mediaLocation: location } = config
  if (location.kind === 'folder') return createLocalStorage(localMediaFolder(config))
  return createS3Storage({ location, ...s3CredentialsOf(config), onSuccess: onStoreSuccess })
}

function openS3Signer(config: Config, location: S3Location): MediaSigner {
  const { mediaCdnUrl: url, mediaCdnKeyId: keyId, mediaCdnPrivateKey: privateKey } = config
  if (!url && !keyId && !privateKey) return createS3Signer({ location, ...s3CredentialsOf(config) })
  if (!url || !keyId || !privateKey)
    throw invalid('MEDIA_CDN_URL, MEDIA_CDN_KEY_ID and MEDIA_CDN_PRIVATE_KEY belong together: set all three or none.')
  return createCloudFrontSigner({ url, keyId, privateKey })
}

function openLocalMedia(config: Config, baseUrl: () => string): LocalMedia {
  if (config.mediaCdnUrl || config.mediaCdnKeyId || config.mediaCdnPrivateKey)
    throw invalid(
      'MEDIA_CDN_URL, MEDIA_CDN_KEY_ID and MEDIA_CDN_PRIVATE_KEY are for a CDN in front of an S3 store: set MEDIA_URL to one, or leave them out.',
    )
  const [first, ...others] = config.mediaSigningKeys
  const secret = first ?? deriveKey(loadMasterKey(config.dataDir, config.masterKey), 'media signing')
  return {
    storage: createLocalStorage(localMediaFolder(config)),
    signer: createLocalSigner({ secrets: [secret, ...others], baseUrl }),
  }
}

/** Storage of files, and the signer of their URLs. The base URL is for files that the service delivers itself. */
export function openMedia(
  config: Config,
  baseUrl: () => string,
  onStoreSuccess?: () => void,
): { storage: MediaStorage; signer: MediaSigner; local: LocalMedia | undefined } {
  const { mediaLocation: location } = config
  if (location.kind === 's3')
    return { storage: openStorage(config, onStoreSuccess), signer: openS3Signer(config, location), local: undefined }
  const local = openLocalMedia(config, baseUrl)
  return { ...local, local }
}
