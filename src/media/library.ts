import { createReadStream } from 'node:fs'
import { newMediaKey } from '../content/media-keys.ts'
import { AppError, conflict, invalid, notFound } from '../errors.ts'
import { makeId } from '../ids.ts'
import { type Authoring, type ContentWriter, writeContent } from '../store/changes.ts'
import type { GroupStore } from '../store/groups.ts'
import { insertJob } from '../store/jobs.ts'
import {
  deleteMedia,
  findMedia,
  findMediaWithFile,
  insertMedia,
  type MediaItem,
  renewMedia,
  updateMedia,
} from '../store/media.ts'
import { deleteFileIfUnused, findFileByContent, insertFile, keysOfFile, type MediaFile } from '../store/media-files.ts'
import { refuseOverMediaQuota } from '../store/usage.ts'
import { derivableTypes, deriveKind, type Removal, removeKind } from './kinds.ts'
import type { ReceivedFile } from './receive.ts'
import { isStored, type MediaStorage } from './storage.ts'

/** A group's files: where they lie, and where it is written what there is. */
export interface Library {
  group: GroupStore
  bucketName: string
  storage: MediaStorage
  authoring: Authoring
  /** How many bytes the group's files may take; an import brings whatever there is. */
  quotaBytes?: number | undefined
}

export async function takeItem(group: GroupStore, id: string): Promise<MediaItem> {
  const found = await findMedia(group, id)
  if (!found) throw notFound('There is no such file in this group.')
  return found
}

const maxNameLength = 200

/** What people call the file: without the folders before it, and without signs that do not show. */
export function displayName(name: string): string {
  const plain = (name.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  const short = plain.slice(0, maxNameLength).replace(/[\uD800-\uDBFF]$/, '') // no half of a character
  return short.trim() || 'file'
}

export const deriveJob = ({ id }: Pick<MediaFile, 'id'>) => ({ kind: deriveKind, payload: { fileId: id } })

/** Stores bytes unless the group has them, then writes down what is to be known of them, in one transaction. */
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
  // First the bytes, then the word of them: what is interrupted between leaves a file that nobody points to.
  const before = await findFileByContent(group, sha256)
  // Bytes that were lost from the bucket come back with the file.
  const isLost = before !== undefined && !(await isStored(storage, bucketName, before.key))
  if (!before || isLost) await storage.write(bucketName, (before ?? fresh).key, createReadStream(path))
  /** What is left over is taken by the next sweep: it must not make a failure of a success, nor hide one. */
  const removeFresh = async (): Promise<void> => {
    if (!before) await storage.remove(bucketName, [fresh.key]).catch(() => {})
  }
  let file = fresh
  let result: Result
  try {
    result = await writeContent(group, authoring, async (writer) => {
      const known = await findFileByContent(writer.group, sha256)
      if (!known && before) throw conflict('The same file was deleted at this very moment. Send it again.')
      if (!known) await insertFile(writer, fresh)
      file = known ?? fresh
      if ((!known || isLost) && derivableTypes.has(contentType)) await insertJob(writer, deriveJob(file))
      const done = await work(writer, file)
      if (!known && quotaBytes !== undefined) await refuseOverMediaQuota(writer.group, bytes, quotaBytes)
      return done
    })
  } catch (error) {
    // A refusal is certain. After any other failure the word of the bytes may have been written all the same.
    if (error instanceof AppError) await removeFresh()
    throw error
  }
  if (file !== fresh) await removeFresh() // another upload of the same bytes was faster
  return result
}

/** Adds a file. The same bytes under the same name are the item that is there already. */
export function addMedia(library: Library, received: ReceivedFile, givenName: string): Promise<MediaItem> {
  const name = displayName(givenName)
  return withStoredFile(library, received, name, async (writer, file) => {
    const known = await findMediaWithFile(writer.group, file.id, name)
    if (known) return renewMedia(writer, known)
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

/** Lets go of bytes that nothing is left of. Addresses of a replaced file are in pages that others keep: it stays as long. */
export async function letGo(
  writer: ContentWriter,
  file: MediaFile,
  keepMs: number,
  replaced?: Pick<Removal, 'mediaKey'>,
): Promise<void> {
  if (!(await deleteFileIfUnused(writer, file))) return
  const bytes = file.derivatives.reduce((sum, made) => sum + made.bytes, file.bytes)
  const payload: Removal = { keys: keysOfFile(file), bytes, ...replaced }
  await insertJob(writer, { kind: removeKind, payload, runAtMs: writer.nowMs + keepMs })
}

/** Puts other bytes behind an item. Content keeps pointing to it, and shows the new ones from now on. */
export function replaceMedia(
  library: Library,
  received: ReceivedFile,
  { id, name, keepMs }: { id: string; name: string; keepMs: number },
): Promise<MediaItem> {
  return withStoredFile(library, received, displayName(name), async (writer, file) => {
    const before = await takeItem(writer.group, id)
    if (received.type !== before.type)
      throw invalid(`The new file is of the type ${received.type}; what it replaces is of the type ${before.type}.`)
    const after = await updateMedia(writer, before, { file })
    if (after.file.id !== before.file.id) await letGo(writer, before.file, keepMs, { mediaKey: before.key })
    return after
  })
}

export async function removeMedia(writer: ContentWriter, media: MediaItem): Promise<void> {
  await deleteMedia(writer, media)
  await letGo(writer, media.file, 0)
}
