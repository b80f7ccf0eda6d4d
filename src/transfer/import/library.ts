import { hash } from 'node:crypto'
import { fileIdIn, isKeyOfGroup } from '../../content/media-keys.ts'
import { releaseFile } from '../../media/library.ts'
import type { ContentWriter } from '../../store/content/changes.ts'
import {
  findFileByContent,
  findFileById,
  findFileByKey,
  type ImageDetails,
  insertFile,
  keysOfFile,
  type MediaFile,
  saveImageDetails,
} from '../../store/media/files.ts'
import { findMedia, findMediaByKeys, insertMedia, type MediaItem, updateMedia } from '../../store/media/items.ts'
import type { GroupStore } from '../../store/store.ts'
import { formatWithoutLibrary, type HeadLine, type LibraryItemLine } from '../export-format.ts'
import type { ProblemList } from './problem-list.ts'
import type { LibraryStep } from './step.ts'
import type { TallyCounts, Verdict } from './tally.ts'

export function createLibraryChecker({ groupId, format }: HeadLine) {
  const keys = new Set<string>()
  /** File id → digest of its record; there may be many. */
  const files = new Map<string, string>()
  const contents = new Set<string>()

  function problemOfFile({ id, sha256, ...facts }: LibraryItemLine['file']): string | undefined {
    const digest = hash('sha256', JSON.stringify([sha256, facts]))
    const before = files.get(id)
    if (before === undefined && contents.has(sha256)) return `the file ${id} has the same bytes as one before it`
    files.set(id, digest)
    contents.add(sha256)
    return before === undefined || before === digest
      ? undefined
      : `the file ${id} differs from an earlier one of this id`
  }

  return ({ key, file }: LibraryItemLine): string[] => {
    const foreign = [key, ...keysOfFile(file)].filter((each) => !isKeyOfGroup(groupId, each))
    const problems = foreign.map((each) => `the media key ${JSON.stringify(each)} does not belong to this group`)
    if (format === formatWithoutLibrary) problems.push(`an export of the format ${format} has no library`)
    if (keys.has(key)) problems.push(`the media key ${JSON.stringify(key)} appears more than once in the library`)
    keys.add(key)
    const problem = problemOfFile(file)
    return problem === undefined ? problems : [...problems, problem]
  }
}

/** Pairs each item with the existing one of its key. */
async function compareItems(group: GroupStore, items: LibraryStep['items']) {
  const keys = items.map(({ media }) => media.key)
  const found = new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
  return items.map(({ media: wanted, location }) => {
    const here = found.get(wanted.key)
    return { location, wanted, here, verdict: judgeItem(here, wanted) }
  })
}

export async function countSameItems(group: GroupStore, items: LibraryStep['items']): Promise<number> {
  return (await compareItems(group, items)).filter(({ verdict }) => verdict === 'equal').length
}

/** The bytes of a key never change, since its URLs are cached. */
async function problemOfFile(group: GroupStore, { id, key, sha256 }: MediaFile): Promise<string | undefined> {
  if (await findFileByContent(group, sha256)) return undefined
  const isChosenByHand = fileIdIn(key) === undefined
  const other = (await findFileById(group, id)) ?? (isChosenByHand ? await findFileByKey(group, key) : undefined)
  return other && `the file "${key}" has other bytes here; delete it from the library, or replace it there`
}

async function problemOfItem(
  group: GroupStore,
  here: MediaItem | undefined,
  wanted: MediaItem,
): Promise<string | undefined> {
  if (here && here.type !== wanted.type)
    return `the file "${wanted.key}" has the type ${here.type} here, which an import cannot change`
  const other = here ? undefined : await findMedia(group, wanted.id)
  if (other) return `the id ${wanted.id} is that of the file "${other.key}" here`
  return problemOfFile(group, wanted.file)
}

/** Plans the import into the library of an existing group, and collects what prevents it. */
export async function planItems(
  group: GroupStore,
  { items }: LibraryStep,
  counts: TallyCounts,
  problems: ProblemList,
): Promise<void> {
  for (const { location, wanted, here, verdict } of await compareItems(group, items)) {
    const problem = verdict === 'equal' ? undefined : await problemOfItem(group, here, wanted)
    if (problem !== undefined) problems.add(location, problem)
    counts[verdict] += 1
  }
}

type Items = LibraryStep['items']

/** Undefined if the picture has not been analysed. */
function detailsOf({ width, height, color, placeholder, derivatives }: MediaFile): ImageDetails | undefined {
  if (width === null || height === null || color === null) return undefined
  return { width, height, color, placeholder, derivatives }
}

/** The image details in the export, if they differ from the existing ones. */
export function changedDetails(here: MediaFile, wanted: MediaFile): ImageDetails | undefined {
  // The same bytes under another key have other derivatives.
  const described = here.key === wanted.key ? detailsOf(wanted) : undefined
  return JSON.stringify(described) === JSON.stringify(detailsOf(here)) ? undefined : described
}

/** Inserts a file unless the group has the same bytes, under any key. */
async function ensureFile(writer: ContentWriter, wanted: MediaFile): Promise<MediaFile> {
  const here = await findFileByContent(writer.group, wanted.sha256)
  if (!here) {
    await insertFile(writer, wanted)
    return wanted
  }
  const details = changedDetails(here, wanted)
  if (details) await saveImageDetails(writer, here, details)
  return here
}

async function findByKeys({ group }: ContentWriter, items: Items): Promise<Map<string, MediaItem>> {
  const keys = items.map(({ media }) => media.key)
  return new Map((await findMediaByKeys(group, keys)).map((media) => [media.key, media]))
}

async function addItem(writer: ContentWriter, media: MediaItem): Promise<void> {
  await insertMedia(writer, { ...media, file: await ensureFile(writer, media.file) })
  writer.bumpMediaRevision() // content may refer to an item that was deleted
}

/** Adds missing items, and changes none. */
export async function addItems(writer: ContentWriter, items: Items): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) if (!here.has(media.key)) await addItem(writer, media)
}

/** Changes existing items to those of the export, identified by their keys as in content. */
export async function mergeItems(writer: ContentWriter, items: Items, signedUrlLifetimeMs: number): Promise<void> {
  const here = await findByKeys(writer, items)
  for (const { media } of items) {
    const before = here.get(media.key)
    if (!before) {
      await addItem(writer, media)
      continue
    }
    const after = await updateMedia(writer, before, { name: media.name, file: await ensureFile(writer, media.file) })
    if (after.file.id !== before.file.id)
      await releaseFile(writer, before.file, signedUrlLifetimeMs, { mediaKey: before.key })
  }
}

export function judgeItem(here: MediaItem | undefined, wanted: MediaItem): Verdict {
  if (!here) return 'added'
  const isEqual =
    here.name === wanted.name &&
    here.type === wanted.type &&
    here.file.sha256 === wanted.file.sha256 &&
    changedDetails(here.file, wanted.file) === undefined
  return isEqual ? 'equal' : 'changed'
}
