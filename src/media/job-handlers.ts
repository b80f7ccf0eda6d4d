import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { newMediaKey } from '../content/media-keys.ts'
import { AppError } from '../core/errors.ts'
import { type JobContext, type JobHandler, PermanentFailure } from '../jobs/handler.ts'
import { retryDelaysSeconds } from '../jobs/retry-backoff.ts'
import type { Group } from '../store/control/groups.ts'
import { type Derivative, findFileById, findKeysInUse, type MediaFile, saveImageDetails } from '../store/media/files.ts'
import { type Derived, deriveImage, PictureProblem } from './files/derive.ts'
import type { Inbox } from './inbox.ts'
import { type DerivePayload, deriveKind, type RemovePayload, removeKind } from './job-kinds.ts'
import type { MediaStorage } from './storage.ts'

const deriveLimitSeconds = 120

export interface MediaWork {
  storage: MediaStorage
  inbox: Inbox
  maxPixels: number
  /** Whether sharp is available. */
  canDerive(): Promise<boolean>
}

export const sharpMissing = 'This server has no sharp, so only the original is delivered.'

/** Keys are built from the file's id, not from its key, which may have been chosen by hand. */
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
    const derived = await deriveImage(original, folder, { maxPixels, maxSeconds: deriveLimitSeconds, signal })
    const derivatives = await storeDerivatives(storage, owner, file, derived)
    let isStillThere = false
    try {
      await finish(async (writer) => {
        isStillThere = await saveImageDetails(writer, file, { ...derived, derivatives })
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error // it may have been committed, or the job belongs to another worker
    }
    // A concurrent delete of the file or group did not see these.
    if (!isStillThere) await storage.remove(bucketName, derivatives.map(({ key }) => key)) // biome-ignore format: short
  })
}

function deriveHandler(work: MediaWork): JobHandler {
  return {
    kind: deriveKind,
    retryDelaysSeconds: retryDelaysSeconds.deriveImages,
    maxSeconds: deriveLimitSeconds + 60,
    async giveUp({ payload }, problem, writer) {
      const file = await findFileById(writer.group, (payload as DerivePayload).fileId)
      if (file) await saveImageDetails(writer, file, { problem })
    },
    async run({ payload }, context) {
      const file = await findFileById(context.group, (payload as DerivePayload).fileId)
      if (!file) return // deleted meanwhile
      if (!(await work.canDerive())) {
        return context.finish(async (writer) => void (await saveImageDetails(writer, file, { problem: sharpMissing })))
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

/** Removes files that nothing refers to. An import may have restored one meanwhile. */
function removeHandler({ storage }: MediaWork): JobHandler {
  return {
    kind: removeKind,
    retryDelaysSeconds: retryDelaysSeconds.removeFiles,
    maxSeconds: 60,
    async run({ payload }, { group, owner }) {
      const { keys } = payload as RemovePayload
      const inUse = await findKeysInUse(group, keys)
      await storage.remove(
        owner.bucketName,
        keys.filter((key) => !inUse.has(key)),
      )
    },
  }
}

export const mediaHandlers = (work: MediaWork): JobHandler[] => [deriveHandler(work), removeHandler(work)]
