import { createBoundedMap } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'
import type { CurrentFile, SignMedia } from '../content/delivery.ts'
import { isKeyOfGroup } from '../content/media-keys.ts'
import { toIso } from '../content/moments.ts'
import { takePiece } from '../heavy-work.ts'
import type { GroupStore } from '../store/groups.ts'
import { findMediaByKeys, readMediaRevision } from '../store/media.ts'
import type { Derivative, MediaFile } from '../store/media-files.ts'
import { Superseded } from '../store/revisions.ts'
import { endOfWindowMs, type MediaSigner, type SigningWindow, signingWindow } from './signer.ts'

/** Each holds up to seven addresses and a tiny picture, about 2 KB. */
const mostKept = 10_000
/** RSA takes milliseconds for each address, and a page may have thousands that are new: others come in between. */
const turnMs = 10

/** What is delivered of the files that content points to. */
export interface CurrentFiles {
  /**
   * Looks these up, all at once; what it answers then gives each of them without waiting. As of now; or as of the moment
   * and the revision of media that the keys were read at: when that is not the current one any more, `Superseded` is thrown.
   */
  prepare(group: GroupStore, bucketName: string, keys: readonly string[], at?: MediaMoment): Promise<Signing>
}

export interface MediaMoment {
  nowMs: number
  mediaRevision: number
}

export interface Signing {
  sign: SignMedia
  /** From this moment on the same files have other addresses. */
  untilMs: number
}

type SignKey = (key: string) => string

function srcsetOf(derivatives: readonly Derivative[], format: Derivative['format'], sign: SignKey): string {
  return derivatives
    .filter((derivative) => derivative.format === format)
    .map(({ key, width }) => `${sign(key)} ${width}w`)
    .join(', ')
}

/** A picture that has not been looked at yet, or cannot be, is delivered as it came. */
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
    source: sign(file?.key ?? key), // what was put into the bucket by hand is delivered too
    expiresAt: toIso(window.expiresSeconds * 1000),
    ...(file && describe(file, sign)),
  }
}

/**
 * Signatures are the same for a whole window, and files the same until the group's media changes: what was made once is
 * kept with the moment that it is for, so that nothing ever has to be taken back.
 */
export function createCurrentFiles(deps: {
  signer: MediaSigner
  ttlSeconds: number
  clock: Clock
  maxKept?: number
}): CurrentFiles {
  const { signer, ttlSeconds, clock, maxKept = mostKept } = deps
  const kept = createBoundedMap<string, { moment: string; file: CurrentFile }>(maxKept)

  async function prepare(...asked: Parameters<CurrentFiles['prepare']>): Promise<Signing> {
    const [group, bucketName, keys, at] = asked
    if (keys.length === 0) return { sign: refuseUnprepared, untilMs: Number.POSITIVE_INFINITY }
    const window = signingWindow(at?.nowMs ?? clock(), ttlSeconds)
    const { groupId } = group
    const mediaRevision = at?.mediaRevision ?? (await readMediaRevision(group))
    const moment = `${groupId} ${mediaRevision} ${window.expiresSeconds}`
    const files = new Map<string, CurrentFile | undefined>()
    const missing: string[] = []
    for (const key of keys) {
      const known = kept.get(key)
      if (known?.moment === moment) files.set(key, known.file)
      else if (isKeyOfGroup(groupId, key)) missing.push(key)
      else files.set(key, undefined) // a text may speak of any
    }
    const found = missing.length > 0 ? await findMediaByKeys(group, missing) : []
    if (missing.length > 0 && (await readMediaRevision(group)) !== mediaRevision) {
      if (at) throw new Superseded()
      return prepare(...asked)
    }
    const byKey = new Map(found.map((media) => [media.key, media.file]))
    let turnEndsMs = performance.now() + turnMs
    for (const key of missing) {
      if (performance.now() > turnEndsMs) {
        await takePiece()
        turnEndsMs = performance.now() + turnMs
      }
      const file = currentFileOf(key, byKey.get(key), (wanted) => signer.sign(bucketName, wanted, window), window)
      kept.set(key, { moment, file })
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
  throw new Error(`The media key ${JSON.stringify(key)} was not made ready.`)
}
