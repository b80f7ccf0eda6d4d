import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { addMedia, type Library, replaceMedia } from '../../src/media/library.ts'
import { findGroupById, openContentOf } from '../../src/store/control/groups.ts'
import { findMediaByKeys, type MediaItem } from '../../src/store/media/items.ts'
import { authoring } from '../helpers/authoring.ts'
import type { Harness } from '../helpers/harness.ts'
import { readExport, writeExport } from './exports.ts'

export async function libraryOf({ service, clock }: Harness, groupId: string): Promise<Library> {
  const group = await findGroupById(service.store, groupId)
  return {
    group: await openContentOf(service.store, group),
    bucketName: group.bucketName,
    storage: service.media.storage,
    authoring: authoring(clock.now),
  }
}

const uploadOf = (name: string, content: Buffer | string) => ({ name, content: Readable.from([Buffer.from(content)]) })

/** Uploads a file like a user. */
export async function upload(
  harness: Harness,
  groupId: string,
  name: string,
  content: Buffer | string,
): Promise<MediaItem> {
  const library = await libraryOf(harness, groupId)
  return harness.service.media.inbox.receive(uploadOf(name, content), 1e9, (file) => addMedia(library, file, name))
}

export async function replace(
  harness: Harness,
  groupId: string,
  media: MediaItem,
  content: Buffer | string,
): Promise<MediaItem> {
  const library = await libraryOf(harness, groupId)
  const { inbox, signedUrlLifetimeMs } = harness.service.media
  const { id, name } = (await findItem(harness, groupId, media.key)) ?? media
  return inbox.receive(uploadOf(name, content), 1e9, (file) =>
    replaceMedia(library, file, { id, name, keepMs: signedUrlLifetimeMs }),
  )
}

export async function findItem(harness: Harness, groupId: string, key: string): Promise<MediaItem | undefined> {
  const { group } = await libraryOf(harness, groupId)
  return (await findMediaByKeys(group, [key]))[0]
}

/** The content delivered for a key; undefined if the file is missing. */
export async function contentOf(harness: Harness, groupId: string, key: string): Promise<string | undefined> {
  const { storage, bucketName } = await libraryOf(harness, groupId)
  const item = await findItem(harness, groupId, key)
  return text(storage.read(bucketName, item?.file.key ?? key)).catch(() => undefined)
}

export const keysIn = async (harness: Harness, groupId: string): Promise<string[]> => {
  const { storage, bucketName } = await libraryOf(harness, groupId)
  return (await Array.fromAsync(storage.list(bucketName, groupId))).map(({ key }) => key)
}

/** Converts an export to that of a version before 0.3. */
export function makeOld(folder: string): void {
  const [head, ...rest] = readExport(folder).filter(({ type }) => type !== 'libraryItem' && type !== 'end')
  const lines = [{ ...head, format: 1 }, ...rest]
  const end = readExport(folder).at(-1)
  const { libraryItems: _, ...counts } = { libraryItems: 0, ...end }
  const written = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const sha256 = createHash('sha256').update(written).digest('hex')
  writeExport(folder, [...lines, { ...counts, lines: lines.length + 1, sha256 }])
}
