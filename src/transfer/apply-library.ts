import { letGo } from '../media/library.ts'
import type { ContentWriter } from '../store/changes.ts'
import { findMediaByKeys, insertMedia, type MediaItem, updateMedia } from '../store/media.ts'
import { type Appearance, describeFile, findFileByContent, insertFile, type MediaFile } from '../store/media-files.ts'
import type { LibraryStep } from './import-steps.ts'

type Items = LibraryStep['items']

/** Undefined where nobody has looked at the whole picture. */
function appearanceOf({ width, height, color, placeholder, derivatives }: MediaFile): Appearance | undefined {
  if (width === null || height === null || color === null) return undefined
  return { width, height, color, placeholder, derivatives }
}

/** What an export tells of a picture's looks, where it is another thing than what is known here. */
export function newsOf(here: MediaFile, wanted: MediaFile): Appearance | undefined {
  // The same bytes under another key have smaller pictures of their own.
  const told = here.key === wanted.key ? appearanceOf(wanted) : undefined
  return JSON.stringify(told) === JSON.stringify(appearanceOf(here)) ? undefined : told
}

/** The same bytes are there once, whatever they were called elsewhere. */
async function takeFile(writer: ContentWriter, wanted: MediaFile): Promise<MediaFile> {
  const here = await findFileByContent(writer.group, wanted.sha256)
  if (!here) {
    await insertFile(writer, wanted)
    return wanted
  }
  const news = newsOf(here, wanted)
  if (news) await describeFile(writer, here, news)
  return here
}

async function findByKeys({ group }: ContentWriter, items: Items): Promise<Map<string, MediaItem>> {
  const keys = items.map(({ media }) => media.key)
  return new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
}

async function addItem(writer: ContentWriter, media: MediaItem): Promise<void> {
  await insertMedia(writer, { ...media, file: await takeFile(writer, media.file) })
  writer.touchMedia() // content may have shown it before it was deleted
}

/** Brings in the items that are missing, and changes none. */
export async function addItems(writer: ContentWriter, items: Items): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) if (!here.has(media.key)) await addItem(writer, media)
}

/** Makes the items what the export says. They are told apart by their keys, which is what content does. */
export async function mergeItems(writer: ContentWriter, items: Items, addressLifeMs: number): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) {
    const before = here.get(media.key)
    if (!before) {
      await addItem(writer, media)
      continue
    }
    const after = await updateMedia(writer, before, { name: media.name, file: await takeFile(writer, media.file) })
    if (after.file.id !== before.file.id) await letGo(writer, before.file, addressLifeMs, { mediaKey: before.key })
  }
}
