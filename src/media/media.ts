import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import type { Tier } from '../core/tiers.ts'
import { type CurrentFiles, createCurrentFiles } from './current-files.ts'
import { createInbox, createIncomingBytes, type Inbox, type IncomingBytes } from './inbox.ts'
import { type LocalMedia, openMedia } from './open.ts'
import type { MediaSigner } from './signer.ts'
import type { MediaStorage } from './storage.ts'

/** Everything about files: storage, uploads and delivery. */
export interface Media {
  storage: MediaStorage
  signer: MediaSigner
  currentFiles: CurrentFiles
  inbox: Inbox
  /** Set when files are stored in a folder; the service then delivers them itself. */
  local: LocalMedia | undefined
  maxBytes: Readonly<Record<Tier, number>>
  /** Limits of the bytes of a group's files. */
  quotas: Readonly<Record<Tier, number>>
  incomingBytes: IncomingBytes
  /** How long a signed URL may still be requested. */
  signedUrlLifetimeMs: number
}

/** Removes what crashed processes left behind. */
export async function tidyMedia({ inbox, local }: Media, nowMs: number): Promise<void> {
  await inbox.tidy(nowMs)
  await local?.storage.tidy(nowMs)
}

/** `onStoreSuccess` is called for every successful request to an S3 store. */
export function createMedia(config: Config, baseUrl: () => string, clock: Clock, onStoreSuccess?: () => void): Media {
  const { storage, signer, local } = openMedia(config, () => config.mediaPublicUrl ?? baseUrl(), onStoreSuccess)
  return {
    storage,
    signer,
    local,
    currentFiles: createCurrentFiles({ signer, ttlSeconds: config.signedUrlTtlSeconds, clock }),
    inbox: createInbox(join(config.dataDir, 'inbox'), { maxPixels: config.mediaMaxPixels }),
    maxBytes: config.mediaMaxBytes,
    quotas: config.mediaQuotas,
    incomingBytes: createIncomingBytes(),
    signedUrlLifetimeMs: config.signedUrlTtlSeconds * 1000,
  }
}
