import { createLruMap } from '../cache/lru-map.ts'
import { yieldForHeavyWork } from '../concurrency/time-slicing.ts'
import type { CurrentFile, SignMedia } from '../content/delivery.ts'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { toIso } from '../content/moments.ts'
import type { Clock } from '../core/clock.ts'
import { Superseded } from '../store/content/revisions.ts'
import type { Derivative, MediaFile } from '../store/media/files.ts'
import { findMediaByKeys, readMediaRevision } from '../store/media/items.ts'
import type { GroupStore } from '../store/store.ts'
import { endOfWindowMs, type MediaSigner, type SigningWindow, signingWindow } from './signer.ts'

/** An entry has up to seven URLs and a tiny picture, about 2 KB. */
const defaultMaxCached = 10_000
/** RSA takes milliseconds for each URL, and a page may have thousands of new ones: yield in between. */
const sliceMs = 10

/** The delivered form of files that content refers to. */
export interface CurrentFiles {
  /**
   * Looks up all keys at once, so that signing is synchronous: as of now, or as of the time and media revision at which
   * the keys were read. Throws `Superseded` when that revision is no longer current.
   */
  prepare(group: GroupStore, bucketName: string, keys: readonly string[], at?: MediaMoment): Promise<Signing>
}

export interface MediaMoment {
  nowMs: number
  mediaRevision: number
}

export interface Signing {
  sign: SignMedia
  /** When the same files get new URLs. */
  untilMs: number
}

type SignKey = (key: string) => string

function srcsetOf(derivatives: readonly Derivative[], format: Derivative['format'], sign: SignKey): string {
  return derivatives
    .filter((derivative) => derivative.format === format)
    .map(({ key, width }) => `${sign(key)} ${width}w`)
    .join(', ')
}

/** A picture without derivatives, or not yet analysed, is delivered as it was uploaded. */
function describe(file: MediaFile, sign: SignKey): Partial<CurrentFile> {
  const { width, height, color, placeholder, derivatives } = file
  const srcset = srcsetOf(derivatives, 'webp', sign)
  const avifSrcset = srcsetOf(derivatives, 'avif', sign)
  return {
    ...(srcset && { srcset }),
    ...(avifSrcset && { avifSrcset }),
    ...(width !== null && { width }),
    ...(height !== null && { height }),
    ...(color !== null && { color }),
    ...(placeholder !== null && { placeholder }),
  }
}

function currentFileOf(key: string, file: MediaFile | undefined, sign: SignKey, window: SigningWindow): CurrentFile {
  return {
    source: sign(file?.key ?? key), // files put into the bucket by hand are delivered too
    expiresAt: toIso(window.expiresSeconds * 1000),
    ...(file && describe(file, sign)),
  }
}

/**
 * Caches entries with their version: the group's media revision and signing window. Outdated ones miss, so nothing needs
 * invalidation.
 */
export function createCurrentFiles(deps: {
  signer: MediaSigner
  ttlSeconds: number
  clock: Clock
  maxCached?: number
}): CurrentFiles {
  const { signer, ttlSeconds, clock, maxCached = defaultMaxCached } = deps
  const cache = createLruMap<string, { version: string; file: CurrentFile }>(maxCached)

  async function prepare(...request: Parameters<CurrentFiles['prepare']>): Promise<Signing> {
    const [group, bucketName, keys, at] = request
    if (keys.length === 0) return { sign: refuseUnprepared, untilMs: Number.POSITIVE_INFINITY }
    const window = signingWindow(at?.nowMs ?? clock(), ttlSeconds)
    const { groupId } = group
    const mediaRevision = at?.mediaRevision ?? (await readMediaRevision(group))
    const version = `${groupId} ${mediaRevision} ${window.expiresSeconds}`
    const files = new Map<string, CurrentFile | undefined>()
    const missing: string[] = []
    for (const key of keys) {
      const cached = cache.get(key)
      if (cached?.version === version) files.set(key, cached.file)
      else if (isKeyOfGroup(groupId, key)) missing.push(key)
      else files.set(key, undefined) // HTML may refer to any key
    }
    const found = missing.length > 0 ? await findMediaByKeys(group, missing) : []
    if (missing.length > 0 && (await readMediaRevision(group)) !== mediaRevision) {
      if (at) throw new Superseded()
      return prepare(...request)
    }
    const byKey = new Map(found.map((media) => [media.key, media.file]))
    let sliceEndsMs = performance.now() + sliceMs
    for (const key of missing) {
      if (performance.now() > sliceEndsMs) {
        await yieldForHeavyWork()
        sliceEndsMs = performance.now() + sliceMs
      }
      const file = currentFileOf(key, byKey.get(key), (wanted) => signer.sign(bucketName, wanted, window), window)
      cache.set(key, { version, file })
      files.set(key, file)
    }
    return {
      sign: (key) => (files.has(key) ? files.get(key) : refuseUnprepared(key)),
      untilMs: endOfWindowMs(window, ttlSeconds),
    }
  }

  return { prepare }
}

function refuseUnprepared(key: string): never {
  throw new Error(`The media key ${JSON.stringify(key)} was not prepared.`)
}
