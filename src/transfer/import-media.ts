import { createReadStream } from 'node:fs'
import type { MediaStorage } from '../media/storage.ts'
import type { GroupStore } from '../store/groups.ts'
import { findKeysInUse } from '../store/media-files.ts'
import type { CheckedExport } from './check-export.ts'
import { digestOf, pathOfMedia } from './check-media.ts'
import { readSteps } from './import-steps.ts'
import type { OnProgress } from './progress.ts'

/** Undefined where there is no such file. */
export async function digestOfStored(storage: MediaStorage, bucketName: string, key: string) {
  return digestOf(storage.read(bucketName, key)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/**
 * Copies the files of an export that are not there yet, each as a whole or not at all. What the library here has under a
 * key stays as it is: its addresses say that it never changes.
 */
export async function copyMedia(
  checked: CheckedExport,
  { storage, bucketName, content }: { storage: MediaStorage; bucketName: string; content: GroupStore },
  onProgress: OnProgress,
): Promise<void> {
  const { folder, head, counts } = checked
  if (counts.media === 0) return
  let done = 0
  for await (const step of readSteps(checked)) {
    if (step.kind !== 'media') continue
    const { key, sha256 } = step.media
    const stored = await digestOfStored(storage, bucketName, key)
    const isKept = stored !== undefined && (await findKeysInUse(content, [key])).has(key)
    if (stored !== sha256 && !isKept)
      await storage.write(bucketName, key, createReadStream(pathOfMedia(folder, head.groupId, key)))
    done += 1
    onProgress({ stage: 'Copying files', done, total: counts.media })
  }
}
