import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { newMediaKey } from '../content/media-keys.ts'
import { AppError } from '../errors.ts'
import { type JobContext, type JobHandler, PermanentFailure } from '../jobs/handler.ts'
import type { Group } from '../store/groups.ts'
import { type Derivative, describeFile, findFileById, findKeysInUse, type MediaFile } from '../store/media-files.ts'
import { type Derived, deriveImage, PictureProblem } from './files/derive.ts'
import { type Derivation, deriveKind, type Removal, removeKind } from './kinds.ts'
import type { Inbox } from './receive.ts'
import type { MediaStorage } from './storage.ts'

const deriveLimitSeconds = 120

export interface MediaWork {
  storage: MediaStorage
  inbox: Inbox
  maxPixels: number
  /** Whether smaller pictures can be made here. */
  canDerive(): Promise<boolean>
}

export const withoutSharp = 'This server has no sharp, so only the original is delivered.'

/** Their names come from the file's id, and not from its key, which may have been chosen by hand. */
async function storeDerivatives(storage: MediaStorage, owner: Group, file: MediaFile, derived: Derived) {
  const stored: Derivative[] = []
  for (const { path, width, format, bytes } of derived.derivatives) {
    const key = newMediaKey(owner.id, file.createdMs, file.id, `${width}w`, format)
    await storage.write(owner.bucketName, key, createReadStream(path))
    stored.push({ width, format, key, bytes })
  }
  return stored
}

async function derive({ storage, inbox, maxPixels }: MediaWork, file: MediaFile, context: JobContext): Promise<void> {
  const { owner, signal, finish } = context
  const { bucketName } = owner
  await inbox.withFolder(async (folder) => {
    const original = join(folder, 'original')
    await pipeline(storage.read(bucketName, file.key), createWriteStream(original, { mode: 0o600 }), { signal })
    const derived = await deriveImage(original, folder, { maxPixels, limitSeconds: deriveLimitSeconds, signal })
    const derivatives = await storeDerivatives(storage, owner, file, derived)
    let isStillThere = false
    try {
      await finish(async (writer) => {
        isStillThere = await describeFile(writer, file, { ...derived, derivatives })
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error // it may have been written, or is somebody else's now
    }
    // Who deleted the file, or the group, did not know of these.
    if (!isStillThere) await storage.remove(bucketName, derivatives.map(({ key }) => key)) // biome-ignore format: short
  })
}

/** Looks at a picture, and makes smaller ones of it. */
function deriveHandler(work: MediaWork): JobHandler {
  let isAble = false // a yes stays true; a no may have had a reason that passes
  return {
    kind: deriveKind,
    retryAfterSeconds: [30, 300],
    limitSeconds: deriveLimitSeconds + 60,
    async giveUp({ payload }, problem, writer) {
      const file = await findFileById(writer.group, (payload as Derivation).fileId)
      if (file) await describeFile(writer, file, { problem })
    },
    async run({ payload }, context) {
      const file = await findFileById(context.group, (payload as Derivation).fileId)
      if (!file) return // it was deleted meanwhile
      isAble ||= await work.canDerive()
      if (!isAble) {
        return context.finish(async (writer) => void (await describeFile(writer, file, { problem: withoutSharp })))
      }
      try {
        await derive(work, file, context)
      } catch (error) {
        if (!(error instanceof PictureProblem)) throw error
        throw new PermanentFailure(error.message)
      }
    },
  }
}

/** Removes files from their bucket that nothing speaks of any more. An import may have brought one back meanwhile. */
function removeHandler({ storage }: MediaWork): JobHandler {
  return {
    kind: removeKind,
    retryAfterSeconds: [60, 600, 3600, 24 * 3600],
    limitSeconds: 60,
    async run({ payload }, { group, owner }) {
      const { keys } = payload as Removal
      const inUse = await findKeysInUse(group, keys)
      await storage.remove(
        owner.bucketName,
        keys.filter((key) => !inUse.has(key)),
      )
    },
  }
}

export const mediaHandlers = (work: MediaWork): JobHandler[] => [deriveHandler(work), removeHandler(work)]
