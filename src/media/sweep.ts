import { fileIdIn } from '../content/media-keys.ts'
import { writeContent } from '../store/changes.ts'
import { findPendingJobs } from '../store/jobs.ts'
import { eachItem, findMedia, type MediaItem } from '../store/media.ts'
import { eachFile, keysOfFile } from '../store/media-files.ts'
import { findUsers } from '../store/media-users.ts'
import { type Removal, removeKind } from './kinds.ts'
import { type Library, removeMedia } from './library.ts'
import { findMediaReferences } from './references.ts'
import { type StoredFile, UnfinishedUnknown } from './storage.ts'

/** A file is uploaded before what will show it is written: a young one is not called unused. */
const settledAfterMs = 24 * 3600 * 1000
const mostNamed = 100

/** What a sweep has removed, or would remove. */
export interface Swept {
  dryRun: boolean
  /** Items of the library. */
  items: number
  /** Files that belonged to no item. */
  strays: number
  /** Uploads in parts that nobody will complete; null where the store does not say which there are. */
  uploads: number | null
  bytes: number
  /** The first items and files. */
  removed: { key: string; name: string | null; bytes: number }[]
}

/** In turn with all writers: what somebody has begun to show since is left. */
async function removeUnused(library: Library, media: MediaItem, settledMs: number): Promise<boolean> {
  return writeContent(library.group, library.authoring, async (writer) => {
    const current = await findMedia(writer.group, media.id)
    if (!current || current.updatedMs > settledMs) return false
    if ((await findUsers(writer.group, media.key)).totalCount > 0) return false
    await removeMedia(writer, current)
    return true
  })
}

/** A file and all that is made of it, by one name: its id, or the key itself where somebody chose it by hand. */
const originOf = (key: string): string => fileIdIn(key) ?? key

/** The origins of files that are to stay: those of items, and those whose addresses may still be asked for. */
async function originsOfFiles({ group }: Library): Promise<Set<string>> {
  const origins = new Set<string>()
  for await (const file of eachFile(group)) for (const key of keysOfFile(file)) origins.add(originOf(key))
  for (const { payload } of await findPendingJobs(group, removeKind))
    for (const key of (payload as Removal).keys) origins.add(originOf(key))
  return origins
}

/** No upload lasts a day: its process has died, or could not abort it. */
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
    if (error instanceof UnfinishedUnknown) return null
    throw error
  }
}

export async function sweepMedia(library: Library, { dryRun }: { dryRun: boolean }): Promise<Swept> {
  const { group, bucketName, storage, authoring } = library
  const settledMs = authoring.nowMs - settledAfterMs
  const { shown, kept } = await findMediaReferences(group)
  const isSpokenOf = (key: string): boolean => shown.has(key) || kept.has(key)
  const swept: Swept = { dryRun, items: 0, strays: 0, uploads: 0, bytes: 0, removed: [] }
  const count = (kind: 'items' | 'strays', key: string, name: string | null, bytes: number): void => {
    swept[kind] += 1
    swept.bytes += bytes
    if (swept.removed.length < mostNamed) swept.removed.push({ key, name, bytes })
  }

  for await (const media of eachItem(group)) {
    if (isSpokenOf(media.key) || media.updatedMs > settledMs) continue
    if (dryRun || (await removeUnused(library, media, settledMs)))
      count('items', media.key, media.name, media.file.bytes)
  }

  // Before the bucket is looked at: what comes in later is young.
  const known = await originsOfFiles(library)
  const isStray = ({ key, modifiedMs }: StoredFile): boolean =>
    modifiedMs <= settledMs && !known.has(originOf(key)) && !isSpokenOf(key)
  for await (const file of storage.list(bucketName, group.groupId)) {
    if (!isStray(file)) continue
    if (!dryRun) await storage.remove(bucketName, [file.key])
    count('strays', file.key, null, file.bytes)
  }
  return { ...swept, uploads: await sweepUploads(library, { dryRun, settledMs }) }
}
