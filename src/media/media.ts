import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Tier } from '../tiers.ts'
import { type ArrivingBytes, createArrivingBytes } from './arriving.ts'
import { type CurrentFiles, createCurrentFiles } from './current-files.ts'
import { type LocalMedia, openMedia } from './open.ts'
import { createInbox, type Inbox } from './receive.ts'
import type { MediaSigner } from './signer.ts'
import type { MediaStorage } from './storage.ts'

/** Everything about files: where they are kept, how they come in, and how they are delivered. */
export interface Media {
  storage: MediaStorage
  signer: MediaSigner
  currentFiles: CurrentFiles
  inbox: Inbox
  /** Where we keep files ourselves, and so deliver them. */
  local: LocalMedia | undefined
  maxBytes: Readonly<Record<Tier, number>>
  /** How many bytes the files of a group may take. */
  quotas: Readonly<Record<Tier, number>>
  /** What is coming in of each group at this moment. */
  arriving: ArrivingBytes
  /** So long an address that was handed out may still be asked for. */
  addressLifeMs: number
}

/** Removes what processes that died have left behind. */
export async function tidyMedia({ inbox, local }: Media, nowMs: number): Promise<void> {
  await inbox.tidy(nowMs)
  await local?.storage.tidy(nowMs)
}

/** `onStoreAnswer` hears of every success of an S3 store. */
export function createMedia(config: Config, baseUrl: () => string, clock: Clock, onStoreAnswer?: () => void): Media {
  const { storage, signer, local } = openMedia(config, () => config.mediaPublicUrl ?? baseUrl(), onStoreAnswer)
  return {
    storage,
    signer,
    local,
    currentFiles: createCurrentFiles({ signer, ttlSeconds: config.signedUrlTtlSeconds, clock }),
    inbox: createInbox(join(config.dataDir, 'inbox'), { maxPixels: config.mediaMaxPixels }),
    maxBytes: config.mediaMaxBytes,
    quotas: config.mediaQuotas,
    arriving: createArrivingBytes(),
    addressLifeMs: config.signedUrlTtlSeconds * 1000,
  }
}
