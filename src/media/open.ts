import { join } from 'node:path'
import type { Config } from '../config.ts'
import { invalid } from '../errors.ts'
import { deriveKey, loadMasterKey } from '../master-key.ts'
import { createCloudFrontSigner } from './cloudfront-signer.ts'
import { createLocalSigner, type LocalMediaSigner } from './local-signer.ts'
import { createLocalStorage, type LocalMediaStorage } from './local-storage.ts'
import type { S3Place } from './s3-address.ts'
import { createS3Signer } from './s3-signer.ts'
import { createS3Storage } from './s3-storage.ts'
import type { MediaSigner } from './signer.ts'
import type { S3Credentials } from './sigv4.ts'
import type { MediaStorage } from './storage.ts'

/** Files that we keep ourselves, and so deliver. */
export interface LocalMedia {
  storage: LocalMediaStorage
  signer: LocalMediaSigner
}

/** Where files lie that we keep ourselves. */
export function localMediaFolder({ dataDir, mediaPlace }: Pick<Config, 'dataDir' | 'mediaPlace'>): string {
  return (mediaPlace.kind === 'folder' ? mediaPlace.path : undefined) ?? join(dataDir, 'media')
}

function s3CredentialsOf({ mediaAccessKeyId, mediaSecretAccessKey }: Config): S3Credentials {
  if (!mediaAccessKeyId || !mediaSecretAccessKey)
    throw invalid('MEDIA_URL names an S3 store: set MEDIA_ACCESS_KEY_ID and MEDIA_SECRET_ACCESS_KEY as well.')
  return { accessKeyId: mediaAccessKeyId, secretAccessKey: mediaSecretAccessKey }
}

export function openStorage(config: Config, onStoreAnswer?: () => void): MediaStorage {
  const { mediaPlace: place } = config
  if (place.kind === 'folder') return createLocalStorage(localMediaFolder(config))
  return createS3Storage({ place, ...s3CredentialsOf(config), onAnswer: onStoreAnswer })
}

function openS3Signer(config: Config, place: S3Place): MediaSigner {
  const { mediaCdnUrl: url, mediaCdnKeyId: keyId, mediaCdnPrivateKey: privateKey } = config
  if (!url && !keyId && !privateKey) return createS3Signer({ place, ...s3CredentialsOf(config) })
  if (!url || !keyId || !privateKey)
    throw invalid('MEDIA_CDN_URL, MEDIA_CDN_KEY_ID and MEDIA_CDN_PRIVATE_KEY belong together: set all three or none.')
  return createCloudFrontSigner({ url, keyId, privateKey })
}

function openLocalMedia(config: Config, baseUrl: () => string): LocalMedia {
  if (config.mediaCdnUrl || config.mediaCdnKeyId || config.mediaCdnPrivateKey)
    throw invalid(
      'MEDIA_CDN_URL, MEDIA_CDN_KEY_ID and MEDIA_CDN_PRIVATE_KEY are for a CDN before an S3 store: set MEDIA_URL to one, or leave them out.',
    )
  const [first, ...others] = config.mediaSigningKeys
  const secret = first ?? deriveKey(loadMasterKey(config.dataDir, config.masterKey), 'media signing')
  return {
    storage: createLocalStorage(localMediaFolder(config)),
    signer: createLocalSigner({ secrets: [secret, ...others], baseUrl }),
  }
}

/** Where files are kept and how visitors reach them. The base URL is only for files that we deliver ourselves. */
export function openMedia(
  config: Config,
  baseUrl: () => string,
  onStoreAnswer?: () => void,
): { storage: MediaStorage; signer: MediaSigner; local: LocalMedia | undefined } {
  const { mediaPlace: place } = config
  if (place.kind === 's3')
    return { storage: openStorage(config, onStoreAnswer), signer: openS3Signer(config, place), local: undefined }
  const local = openLocalMedia(config, baseUrl)
  return { ...local, local }
}
