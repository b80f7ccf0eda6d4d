import { fileIdIn } from '../content/media-keys.ts'
import { dayMs } from '../core/clock.ts'
import { writeContent } from '../store/content/changes.ts'
import { findPendingJobs } from '../store/jobs/jobs.ts'
import { iterateMediaFiles, keysOfFile } from '../store/media/files.ts'
import { findMedia, findMediaUsages, iterateMediaItems, type MediaItem } from '../store/media/items.ts'
import { type RemovePayload, removeKind } from './job-kinds.ts'
import { type Library, removeMedia } from './library.ts'
import { findMediaReferences } from './references.ts'
import { type StoredFile, UnfinishedUploadsUnavailable } from './storage.ts'

/** A file is uploaded before the content that refers to it, so a recent one does not count as unused. */
const settledAfterMs = dayMs
const maxNamed = 100

/** The result of a sweep or its dry run. */
export interface SweepResult {
  dryRun: boolean
  /** Items of the library. */
  items: number
  /** Files that belonged to no item. */
  strays: number
  /** Abandoned multipart uploads; null where the store does not list them. */
  uploads: number | null
  bytes: number
  /** The first items and files. */
  removed: { key: string; name: string | null; bytes: number }[]
}

/** In a transaction: spares what content refers to by now. */
async function removeUnused(library: Library, media: MediaItem, settledMs: number): Promise<boolean> {
  return writeContent(library.group, library.authoring, async (writer) => {
    const current = await findMedia(writer.group, media.id)
    if (!current || current.updatedMs > settledMs) return false
    if ((await findMediaUsages(writer.group, media.key)).totalCount > 0) return false
    await removeMedia(writer, current)
    return true
  })
}

/** Identifies a file with its derivatives: by its id, or by a key chosen by hand. */
const originOf = (key: string): string => fileIdIn(key) ?? key

/** The origins of files to spare: those of items, and replaced ones whose URLs are still valid. */
async function originsOfFiles({ group }: Library): Promise<Set<string>> {
  const origins = new Set<string>()
  for await (const file of iterateMediaFiles(group)) for (const key of keysOfFile(file)) origins.add(originOf(key))
  for (const { payload } of await findPendingJobs(group, removeKind))
    for (const key of (payload as RemovePayload).keys) origins.add(originOf(key))
  return origins
}

/** No upload takes a day: its process crashed, or could not abort it. */
async function sweepUploads(
  { group, bucketName, storage }: Library,
  { dryRun, settledMs }: { dryRun: boolean; settledMs: number },
): Promise<number | null> {
  let count = 0
  try {
    for await (const upload of storage.listUnfinished(bucketName, group.groupId)) {
      if (!(upload.startedMs <= settledMs)) continue
      if (!dryRun) await storage.removeUnfinished(bucketName, upload)
      count += 1
    }
    return count
  } catch (error) {
    if (error instanceof UnfinishedUploadsUnavailable) return null
    throw error
  }
}

export async function sweepMedia(library: Library, { dryRun }: { dryRun: boolean }): Promise<SweepResult> {
  const { group, bucketName, storage, authoring } = library
  const settledMs = authoring.nowMs - settledAfterMs
  const { current, historic } = await findMediaReferences(group)
  const isReferenced = (key: string): boolean => current.has(key) || historic.has(key)
  const swept: SweepResult = { dryRun, items: 0, strays: 0, uploads: 0, bytes: 0, removed: [] }
  const count = (kind: 'items' | 'strays', key: string, name: string | null, bytes: number): void => {
    swept[kind] += 1
    swept.bytes += bytes
    if (swept.removed.length < maxNamed) swept.removed.push({ key, name, bytes })
  }

  for await (const media of iterateMediaItems(group)) {
    if (isReferenced(media.key) || media.updatedMs > settledMs) continue
    if (dryRun || (await removeUnused(library, media, settledMs)))
      count('items', media.key, media.name, media.file.bytes)
  }

  // Before listing the bucket: files added later are recent.
  const known = await originsOfFiles(library)
  const isStray = ({ key, modifiedMs }: StoredFile): boolean =>
    modifiedMs <= settledMs && !known.has(originOf(key)) && !isReferenced(key)
  for await (const file of storage.list(bucketName, group.groupId)) {
    if (!isStray(file)) continue
    if (!dryRun) await storage.remove(bucketName, [file.key])
    count('strays', file.key, null, file.bytes)
  }
  return { ...swept, uploads: await sweepUploads(library, { dryRun, settledMs }) }
}
