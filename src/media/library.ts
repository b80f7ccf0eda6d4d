import { createReadStream } from 'node:fs'
import { newMediaKey } from '../content/media-keys.ts'
import { AppError, conflict, invalid, notFound } from '../core/errors.ts'
import { makeId } from '../core/ids.ts'
import { type Authoring, type ContentWriter, writeContent } from '../store/content/changes.ts'
import { refuseOverMediaQuota } from '../store/content/usage.ts'
import { insertJob } from '../store/jobs/jobs.ts'
import { deleteFileIfUnused, findFileByContent, insertFile, keysOfFile, type MediaFile } from '../store/media/files.ts'
import {
  deleteMedia,
  findMedia,
  findMediaWithFile,
  insertMedia,
  type MediaItem,
  refreshMedia,
  updateMedia,
} from '../store/media/items.ts'
import type { GroupStore } from '../store/store.ts'
import type { ReceivedFile } from './inbox.ts'
import { derivableTypes, deriveJob, type RemovePayload, removeKind } from './job-kinds.ts'
import { isStored, type MediaStorage } from './storage.ts'

/** A group's files: their records and their storage. */
export interface Library {
  group: GroupStore
  bucketName: string
  storage: MediaStorage
  authoring: Authoring
  /** The group's limit for all files; an import has none. */
  quotaBytes?: number | undefined
}

export async function requireMedia(group: GroupStore, id: string): Promise<MediaItem> {
  const found = await findMedia(group, id)
  if (!found) throw notFound('There is no such file in this group.')
  return found
}

const maxNameLength = 200

/** The name without folders or invisible characters. */
export function displayName(name: string): string {
  const plain = (name.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  const short = plain.slice(0, maxNameLength).replace(/[\uD800-\uDBFF]$/, '') // no half of a surrogate pair
  return short.trim() || 'file'
}

/** Stores bytes unless the group has them, then writes all records in one transaction. */
async function withStoredFile<Result>(
  { group, bucketName, storage, authoring, quotaBytes }: Library,
  received: ReceivedFile,
  name: string,
  work: (writer: ContentWriter, file: MediaFile) => Promise<Result>,
): Promise<Result> {
  const { sha256, bytes, contentType, width, height, extension, path } = received
  const id = makeId()
  const { nowMs } = authoring
  const fresh: MediaFile = {
    id,
    key: newMediaKey(group.groupId, nowMs, id, name, extension),
    sha256,
    bytes,
    contentType,
    width,
    height,
    color: null,
    placeholder: null,
    derivatives: [],
    problem: null,
    createdMs: nowMs,
  }
  // Bytes before records: an interruption in between leaves a file without references.
  const before = await findFileByContent(group, sha256)
  // Bytes that are missing from the bucket are restored.
  const isLost = before !== undefined && !(await isStored(storage, bucketName, before.key))
  if (!before || isLost) await storage.write(bucketName, (before ?? fresh).key, createReadStream(path))
  /** Errors are ignored: the next sweep removes what remains. */
  const removeFresh = async (): Promise<void> => {
    if (!before) await storage.remove(bucketName, [fresh.key]).catch(() => {})
  }
  let file = fresh
  let result: Result
  try {
    result = await writeContent(group, authoring, async (writer) => {
      const known = await findFileByContent(writer.group, sha256)
      if (!known && before) throw conflict('The same file has just been deleted. Send it again.')
      if (!known) await insertFile(writer, fresh)
      file = known ?? fresh
      if ((!known || isLost) && derivableTypes.has(contentType)) await insertJob(writer, deriveJob(file))
      const done = await work(writer, file)
      if (!known && quotaBytes !== undefined) await refuseOverMediaQuota(writer.group, bytes, quotaBytes)
      return done
    })
  } catch (error) {
    // A refusal is certain. After any other failure the records may have been committed.
    if (error instanceof AppError) await removeFresh()
    throw error
  }
  if (file !== fresh) await removeFresh() // another upload of the same bytes was faster
  return result
}

/** Adds a file. For the same bytes under the same name, returns the existing item. */
export function addMedia(library: Library, received: ReceivedFile, givenName: string): Promise<MediaItem> {
  const name = displayName(givenName)
  return withStoredFile(library, received, name, async (writer, file) => {
    const known = await findMediaWithFile(writer.group, file.id, name)
    if (known) return refreshMedia(writer, known)
    const id = makeId()
    const media: MediaItem = {
      id,
      key: newMediaKey(library.group.groupId, writer.nowMs, id, name, received.extension),
      name,
      type: received.type,
      version: 1,
      createdMs: writer.nowMs,
      updatedMs: writer.nowMs,
      file,
    }
    await insertMedia(writer, media)
    return media
  })
}

/** Removes a file that no item uses. URLs of a replaced file are in cached pages, so its bytes stay for `keepMs`. */
export async function releaseFile(
  writer: ContentWriter,
  file: MediaFile,
  keepMs: number,
  replaced?: Pick<RemovePayload, 'mediaKey'>,
): Promise<void> {
  if (!(await deleteFileIfUnused(writer, file))) return
  const bytes = file.derivatives.reduce((sum, made) => sum + made.bytes, file.bytes)
  const payload: RemovePayload = { keys: keysOfFile(file), bytes, ...replaced }
  await insertJob(writer, { kind: removeKind, payload, runAtMs: writer.nowMs + keepMs })
}

/** Replaces the bytes of an item. Content that refers to it shows the new ones from now on. */
export function replaceMedia(
  library: Library,
  received: ReceivedFile,
  { id, name, keepMs }: { id: string; name: string; keepMs: number },
): Promise<MediaItem> {
  return withStoredFile(library, received, displayName(name), async (writer, file) => {
    const before = await requireMedia(writer.group, id)
    if (received.type !== before.type)
      throw invalid(
        `The new file has the type ${received.type}; the file that it replaces has the type ${before.type}.`,
      )
    const after = await updateMedia(writer, before, { file })
    if (after.file.id !== before.file.id) await releaseFile(writer, before.file, keepMs, { mediaKey: before.key })
    return after
  })
}

export async function removeMedia(writer: ContentWriter, media: MediaItem): Promise<void> {
  await deleteMedia(writer, media)
  await releaseFile(writer, media.file, 0)
}
